package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// Two protocols measure annotations. For a keyword w, real(w) is the number of
// requests that have w, said(w) the number of outputs that contain w, and
// hit(w) the number of requests for which both hold.
//
//	standard   five keywords per request; P = mean hit/said, R = mean hit/real,
//	           both over the keywords of the test set (real > 0)
//	paper      all keywords of the ten neighbours; only requests with at least
//	           MinRelated related images; R = mean hit/real over the keywords
//	           that were output and can be judged (said > 0 and real > 0)
//
// An image is related to a request if they share a keyword. This is our
// reading, because the paper leaves the term undefined. Results of the two
// protocols are not comparable. The paper's protocol outputs all keywords of
// ten neighbours and does not count wrong ones. Its mean omits keywords that
// are never output, so missing them costs little.
const MinRelated = 2

// Marks identifies the predicted keywords of one request, and the correct ones
// among them, by their indices in Judge.keywords.
type Marks struct{ predicted, hit []int32 }

type Judge struct {
	keywords     []string
	KeywordIndex map[string]int32
	truth        [][]int32
	// Admitted marks the requests that the paper's protocol counts.
	Admitted []bool
}

func NewJudge(truth, indexed [][]string) *Judge {
	j := &Judge{KeywordIndex: map[string]int32{}, Admitted: make([]bool, len(truth))}
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
		j.Admitted[i] = len(related) >= MinRelated
	}
	return j
}

func (j *Judge) id(word string) int32 {
	n, ok := j.KeywordIndex[word]
	if !ok {
		n = int32(len(j.keywords))
		j.KeywordIndex[word] = n
		j.keywords = append(j.keywords, word)
	}
	return n
}

func (j *Judge) Mark(i int, words []string) Marks {
	var m Marks
	for _, w := range words {
		id := j.id(w)
		m.predicted = append(m.predicted, id)
		if slices.Contains(j.truth[i], id) {
			m.hit = append(m.hit, id)
		}
	}
	return m
}

// A tally holds weighted sums of marks for each keyword.
type tally struct{ Hit, Predicted, Relevant []float64 }

func (j *Judge) Tally(all []Marks, weights []float64, paper bool) tally {
	n := len(j.keywords)
	t := tally{make([]float64, n), make([]float64, n), make([]float64, n)}
	for i, m := range all {
		if paper && !j.Admitted[i] {
			continue
		}
		for _, w := range m.hit {
			t.Hit[w] += weights[i]
		}
		for _, w := range m.predicted {
			t.Predicted[w] += weights[i]
		}
		for _, w := range j.truth[i] {
			t.Relevant[w] += weights[i]
		}
	}
	return t
}

// Recall returns mean hit/real in percent. The mean is over the keywords of the
// requests. If `output` is set, it omits keywords that were never output.
func (t tally) Recall(output bool) float64 {
	sum, n := 0.0, 0
	for w, real := range t.Relevant {
		if real == 0 || output && t.Predicted[w] == 0 {
			continue
		}
		sum += t.Hit[w] / real
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

func (x Interval) Cells(digits int) []string {
	return []string{FormatDecimal(x.Value, digits), FormatDecimal(x.Low, digits), FormatDecimal(x.High, digits)}
}

// Resamples is the number of reweightings per interval.
const Resamples = 1000

// Bootstrap reweights the requests by flat Dirichlet draws (the Bayesian
// bootstrap, Rubin 1981). In the first resample all weights are 1. The usual
// bootstrap draws requests with replacement. It would drop keywords that only
// one or two requests have, which would raise the mean by more than the width
// of the interval.
//
// All measurements of a run use the same weights, so the values in a ratio are
// paired.
func Bootstrap(requests int, seed uint64) [][]float64 {
	out := make([][]float64, Resamples+1)
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

// NewInterval returns `values[0]` with the 2.5th and 97.5th percentiles of the
// other values as bounds.
func NewInterval(values []float64) Interval {
	x := Interval{Value: values[0], Low: values[0], High: values[0]}
	rest := slices.DeleteFunc(slices.Clone(values[1:]), math.IsNaN)
	sort.Float64s(rest)
	if n := len(rest); n > 0 {
		x.Low, x.High = rest[n*25/1000], rest[min(n-1, n*975/1000)]
	}
	return x
}

// Ratios returns 100·a/b for each pair of values.
func Ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		if b[i] != 0 { // if b is 0, the ratio is 0
			out[i] = 100 * a[i] / b[i]
		}
	}
	return out
}

const AllKeywords = math.MaxInt32

// Median returns the upper median of x, or 0 if x is empty.
func Median[T int64 | float64](x []T) T {
	y := slices.Clone(x)
	slices.Sort(y)
	if len(y) == 0 {
		return 0
	}
	return y[len(y)/2]
}

func Mean[T int64 | uint32 | uint64 | float64](x []T) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(max(len(x), 1))
}

// WeightedMedian returns the value at which the cumulative weight exceeds half
// of the total.
func WeightedMedian(x []int64, weights []float64) int64 {
	total, below := 0.0, 0.0
	for _, w := range weights {
		total += w
	}
	order := ascending(x)
	for _, i := range order {
		if below += weights[i]; 2*below > total {
			return x[i]
		}
	}
	return x[order[len(order)-1]]
}

func Milliseconds(ns []int64) float64 { return float64(Median(ns)) / 1e6 }

func RoundTo(x float64, digits int) float64 {
	s := math.Pow10(digits)
	return math.Round(x*s) / s
}
