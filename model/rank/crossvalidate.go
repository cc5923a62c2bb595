package rank

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"cpar"
	"cpar/internal/humanfmt"
	"cpar/internal/parallel"
)

// A Validation is a ranker's result on photos of the collection itself: each
// photo was annotated from the others. All learning, including a calibrated
// ranker's parameters, excluded the fold under test. One optimistic bias
// remains: the options of a learnt projection are the best of a few dozen on
// the same test photos.
//
// Figures are means over folds. A mean over words depends on the number of test
// photos, so compare figures only within the same collection and test.
type Validation struct {
	Photos   int     `json:"photos"`   // test photos
	Keywords int     `json:"keywords"` // keywords given to each photo
	P        float64 `json:"P"`        // mean precision over words, in per cent
	R        float64 `json:"R"`        // mean recall over words, in per cent
	Nplus    float64 `json:"Nplus"`    // words found at least once, per fold
	Words    float64 `json:"words"`    // words per fold
	// folds holds unrounded results, with P and R from 0 to 1.
	folds []Quality
}

// CrossValidate annotates every sample with `keep` keywords. A calibrated
// ranker is calibrated for each fold on the samples of the other folds.
// `collection` holds the keywords of all photos, spelt as in the samples.
// Errors wrap cpar.ErrInput.
func CrossValidate(ctx context.Context, samples []Sample, collection [][]string, kind Kind, keep int) (*Validation, error) {
	folds := foldsOf(samples)
	if len(folds) < 2 {
		return nil, fmt.Errorf("validating: %w: %d photos, too few to divide into folds", cpar.ErrInput, len(samples))
	}
	var all *Calibrated
	var n *indexedSamples
	if kind == KindCalibrated {
		var err error
		if all, n, err = indexSamples(slices.Concat(folds...), collection, keep, 0); err != nil {
			return nil, fmt.Errorf("validating: %w", err)
		}
	}
	quality, err := parallel.Map("fold", len(folds), func(i int) (Quality, error) {
		var ranker Ranker = PaperRanker{}
		if kind == KindCalibrated {
			c := *all
			c.words = maps.Clone(all.words)
			if _, err := c.fit(ctx, n.without(i), keep, 0); err != nil {
				return Quality{}, err
			}
			ranker = &c
		}
		return measureFold(folds[i], ranker, keep), nil
	})
	if err != nil {
		return nil, fmt.Errorf("validating: %w", err)
	}
	return NewValidation(len(samples), keep, quality), nil
}

// NewValidation summarises the folds of a test. `photos` is the number of test
// photos, each with `keep` keywords.
func NewValidation(photos, keep int, folds []Quality) *Validation {
	v := &Validation{Photos: photos, Keywords: keep, folds: folds}
	m := v.mean()
	v.P, v.R = humanfmt.Round(100*m.P, 2), humanfmt.Round(100*m.R, 2)
	v.Nplus, v.Words = humanfmt.Round(m.Nplus, 1), humanfmt.Round(m.Words, 1)
	return v
}

func measureFold(fold []Sample, ranker Ranker, keep int) Quality {
	given, truth := make([][]string, len(fold)), make([][]string, len(fold))
	for i, s := range fold {
		for _, k := range ranker.Rank(s.Near[:min(ranker.Neighbours(), len(s.Near))], s.Guess, keep, false) {
			given[i] = append(given[i], k.Word)
		}
		truth[i] = s.Truth
	}
	return Measure(given, truth)
}

func Folds(samples []Sample) int { return len(foldsOf(samples)) }

// foldsOf groups the samples by fold. It leaves out empty folds and renumbers
// the others from 0.
func foldsOf(samples []Sample) (folds [][]Sample) {
	byFold := map[int][]Sample{}
	for _, s := range samples {
		byFold[s.Fold] = append(byFold[s.Fold], s)
	}
	for i, fold := range slices.Sorted(maps.Keys(byFold)) {
		list := byFold[fold]
		for k := range list {
			list[k].Fold = i
		}
		folds = append(folds, list)
	}
	return folds
}

// Merit is the harmonic mean of P and R, 0 to 1, for comparing profiles.
func (v *Validation) Merit() float64 { return v.mean().Merit() }

func (v *Validation) mean() (m Quality) {
	for _, q := range v.folds {
		n := float64(len(v.folds))
		m.P, m.R, m.Nplus, m.Words = m.P+q.P/n, m.R+q.R/n, m.Nplus+q.Nplus/n, m.Words+q.Words/n
	}
	return m
}

// WithinNoise reports whether the merits of a and b differ by at most twice
// StandardError.
func WithinNoise(a, b *Validation, same bool) bool {
	return math.Abs(a.Merit()-b.Merit()) <= 2*StandardError(a, b, same)
}

// StandardError estimates the standard error of the difference of two merits
// from the variation between folds. `same` means that both used the same photos
// in the same folds, so only the differences per fold count.
func StandardError(a, b *Validation, same bool) float64 {
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
