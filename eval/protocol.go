package eval

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// Two protocols measure annotations. For a word w, both count hit(w), the requests that
// have it and were given it; real(w), those that have it; and said(w), those that were
// given it.
//
//	standard   five keywords a request; P = mean hit/said, R = mean hit/real, both
//	           over the words of the test set (real > 0)
//	paper      all keywords of the ten neighbours; requests with at least
//	           minRelated related images only; R = mean hit/real over the words
//	           that were output and can be judged (said > 0 and real > 0)
//
// An image is related to a request if they share a keyword; the paper does not define
// this. Its figures cannot be compared with the standard ones: it gives an image as many
// words as ten neighbours have, and leaves out of the mean the words that it never finds,
// so that saying too much costs nothing and not knowing a word costs little.
const minRelated = 2

// marks are the words of one request, as numbers: the given ones and the correct ones.
type marks struct{ predicted, hit []int32 }

// A judge knows the truth and marks annotations.
type judge struct {
	keywords []string
	index map[string]int32
	truth [][]int32
	// admitted says which requests the paper's protocol counts.
	admitted []bool
}

func newJudge(truth, indexed [][]string) *judge {
	j := &judge{index: map[string]int32{}, admitted: make([]bool, len(truth))}
	carriers := map[string][]int{}
	for i, words := range indexed {
		for _, w := range words {
			carriers[w] = append(carriers[w], i)
		}
	}
	for i, words := range truth {
		ids := make([]int32, len(words))
		related := map[int]bool{}
		for k, w := range words {
			ids[k] = j.id(w)
			for _, r := range carriers[w] {
				related[r] = true
			}
		}
		j.truth = append(j.truth, ids)
		j.admitted[i] = len(related) >= minRelated
	}
	return j
}

func (j *judge) id(word string) int32 {
	n, ok := j.index[word]
	if !ok {
		n = int32(len(j.keywords))
		j.index[word] = n
		j.keywords = append(j.keywords, word)
	}
	return n
}

// mark marks the annotation of request i.
func (j *judge) mark(i int, words []string) marks {
	var m marks
	for _, w := range words {
		id := j.id(w)
		m.predicted = append(m.predicted, id)
		if slices.Contains(j.truth[i], id) {
			m.hit = append(m.hit, id)
		}
	}
	return m
}

// tally sums the marks of requests, each with a weight.
type tally struct{ hit, predicted, relevant []float64 }

func (j *judge) tally(all []marks, weights []float64, paper bool) tally {
	n := len(j.keywords)
	t := tally{make([]float64, n), make([]float64, n), make([]float64, n)}
	for i, m := range all {
		if paper && !j.admitted[i] {
			continue
		}
		for _, w := range m.hit {
			t.hit[w] += weights[i]
		}
		for _, w := range m.predicted {
			t.predicted[w] += weights[i]
		}
		for _, w := range j.truth[i] {
			t.relevant[w] += weights[i]
		}
	}
	return t
}

// recall is mean hit/real in percent, over the words of the requests, or only over those
// that were output.
func (t tally) recall(output bool) float64 {
	sum, n := 0.0, 0
	for w, real := range t.relevant {
		if real == 0 || output && t.predicted[w] == 0 {
			continue
		}
		sum += t.hit[w] / real
		n++
	}
	return 100 * sum / float64(max(n, 1))
}

// An Interval is a value with its 95 % confidence interval.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

func (x Interval) String() string {
	return FormatDecimal(x.Value, 1) + " (" + FormatDecimal(x.Low, 1) + "–" + FormatDecimal(x.High, 1) + ")"
}

// resamples is the number of reweightings for an interval.
const resamples = 1000

// bootstrap reweights the requests for each resample by a flat Dirichlet draw (the
// Bayesian bootstrap; Rubin 1981). The first resample has the original requests, all with
// weight 1. It uses weights, not draws with replacement, because every word of every
// request must stay: many words belong to one or two requests, and a draw without these
// removes the word from the mean, which is then too high by more than the width of the
// interval.
//
// All measurements of a run use the same weights, so ratios are paired.
func bootstrap(requests int, seed uint64) [][]float64 {
	out := make([][]float64, resamples+1)
	rng := rand.New(rand.NewPCG(seed, 0x626f6f74)) // "boot"
	for b := range out {
		out[b] = make([]float64, requests)
		sum := 0.0
		for i := range requests {
			out[b][i] = 1
			if b > 0 {
				out[b][i] = rng.ExpFloat64()
			}
			sum += out[b][i]
		}
		for i := range requests {
			out[b][i] *= float64(requests) / sum
		}
	}
	return out
}

// interval uses values[0] as the value and the 2.5 and 97.5 percentiles of the others as bounds.
func interval(values []float64) Interval {
	x := Interval{Value: values[0], Low: values[0], High: values[0]}
	rest := slices.DeleteFunc(slices.Clone(values[1:]), math.IsNaN)
	sort.Float64s(rest)
	if n := len(rest); n > 0 {
		x.Low, x.High = rest[n*25/1000], rest[min(n-1, n*975/1000)]
	}
	return x
}

// ratios returns 100·a/b for each pair of values.
func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		if b[i] != 0 { // if nothing is right at all, the ratio is 0
			out[i] = 100 * a[i] / b[i]
		}
	}
	return out
}

// everyWord requests all keywords of the neighbours.
const allKeywords = math.MaxInt32
