package user

import (
	"fmt"
	"math"
	"slices"

	"cpar"
	"cpar/internal/parallel"
	"cpar/user/rank"
)

// A Validation is what a profile and its ranker gave on photos of the collection
// itself: each photo was given keywords by others, and what it really has was
// compared. Where something was learnt from keywords it was learnt from other
// photos than those that were asked, and so were the parameters of a calibrated
// ranker, fold by fold. What remains of optimism: the options of a projection are
// the best of a few dozen on the photos asked.
//
// The figures are those of the usual protocol of image annotation (eval.Measure), each
// the mean over folds. A mean over words depends on how many photos are asked, so
// they compare with other figures of the same collection, not with those of
// another test.
type Validation struct {
	Photos   int     `json:"photos"`   // that were asked
	Keywords int     `json:"keywords"` // that each was given
	P        float64 `json:"P"`        // per cent, mean over words of precision
	R        float64 `json:"R"`        // per cent, mean over words of recall
	Nplus    float64 `json:"Nplus"`    // words recalled at least once
	Words    float64 `json:"words"`    // words of the photos of a fold
	// folds are unrounded and from 0 to 1.
	folds []rank.Quality
}

// merit is what profiles are compared by: the harmonic mean of P and R, 0 to 1.
func (v *Validation) merit() float64 { return v.mean().Merit() }

func (v *Validation) mean() (m rank.Quality) {
	for _, q := range v.folds {
		n := float64(len(v.folds))
		m.P, m.R, m.Nplus, m.Words = m.P+q.P/n, m.R+q.R/n, m.Nplus+q.Nplus/n, m.Words+q.Words/n
	}
	return m
}

// validate annotates every sample with keep keywords by a ranker. A calibrated one
// is calibrated for each fold on the samples of the others. collection is the
// keywords of all photos, in the words of the samples.
func validate(samples []rank.Sample, collection [][]string, ranker RankerKind, keep int) (*Validation, error) {
	folds := foldsOf(samples)
	if len(folds) < 2 {
		return nil, fmt.Errorf("validating: %w: %d photos asked, which cannot be divided", cpar.ErrInput, len(samples))
	}
	v := &Validation{Photos: len(samples), Keywords: keep, folds: make([]rank.Quality, len(folds))}
	errs := make([]error, len(folds))
	parallel.For(len(folds), func(i int) {
		say := func(near []rank.Neighbour) []string {
			return wordsOf(rank.Keywords(near[:min(kept, len(near))], keep))
		}
		if ranker == RankerCalibrated {
			var c *rank.Calibrated
			if c, _, errs[i] = rank.Calibrate(without(folds, i), collection, keep, 0); errs[i] != nil {
				return
			}
			say = func(near []rank.Neighbour) (words []string) {
				for _, k := range c.Keywords(near, keep) {
					words = append(words, k.Word)
				}
				return words
			}
		}
		said, truth := make([][]string, len(folds[i])), make([][]string, len(folds[i]))
		for j, s := range folds[i] {
			said[j], truth[j] = say(s.Near), s.Truth
		}
		v.folds[i] = rank.Measure(said, truth)
	})
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("validating: %w", err)
		}
	}
	m := v.mean()
	v.P, v.R, v.Nplus, v.Words = rounded(100*m.P, 2), rounded(100*m.R, 2), rounded(m.Nplus, 1), rounded(m.Words, 1)
	return v, nil
}

// foldsOf are the samples by fold, without folds that have none.
func foldsOf(samples []rank.Sample) (folds [][]rank.Sample) {
	byFold := map[int][]rank.Sample{}
	var numbers []int
	for _, s := range samples {
		if byFold[s.Fold] == nil {
			numbers = append(numbers, s.Fold)
		}
		byFold[s.Fold] = append(byFold[s.Fold], s)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		folds = append(folds, byFold[n])
	}
	return folds
}

// without are the samples of all folds but one, the folds numbered anew.
func without(folds [][]rank.Sample, out int) (rest []rank.Sample) {
	fold := 0
	for i, list := range folds {
		if i == out {
			continue
		}
		for _, s := range list {
			s.Fold = fold
			rest = append(rest, s)
		}
		fold++
	}
	return rest
}

func wordsOf(keywords []rank.Keyword) (words []string) {
	for _, k := range keywords {
		words = append(words, k.Word)
	}
	return words
}

// withinNoise is whether two merits differ by no more than twice the standard
// error of their difference, which is estimated from how the merits of folds vary.
// same says that both are of the same photos in the same folds: then the
// differences of folds are what varies.
func withinNoise(a, b *Validation, same bool) bool {
	return math.Abs(a.merit()-b.merit()) <= 2*standardError(a, b, same)
}

func standardError(a, b *Validation, same bool) float64 {
	x, y := merits(a), merits(b)
	if same {
		for i := range x {
			x[i] -= y[i]
		}
		return math.Sqrt(variance(x) / float64(len(x)))
	}
	return math.Sqrt(variance(x)/float64(len(x)) + variance(y)/float64(len(y)))
}

func merits(v *Validation) []float64 {
	out := make([]float64, len(v.folds))
	for i, q := range v.folds {
		out[i] = q.Merit()
	}
	return out
}

// variance is that of the whole of which x, two at least, was drawn.
func variance(x []float64) (sum float64) {
	mean := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(x)-1)
}

// rounded keeps figures readable.
func rounded(x float64, digits int) float64 {
	s := math.Pow10(digits)
	return math.Round(x*s) / s
}
