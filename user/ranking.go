package user

import (
	"fmt"
	"math"
	"slices"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/rank"
)

// A Ranking selects and orders the keywords of neighbours.
type Ranking struct {
	MaxKeywords int
	// Ranker overrides the index's own ranker unless it is rank.KindDefault.
	Ranker rank.Kind
	// Rare makes a calibrated ranker favour rare keywords. This raises
	// precision and recall averaged over keywords.
	Rare bool
	// MinProbability drops less probable keywords. It requires a calibrated ranker.
	MinProbability float64
	// Guess holds the predictions from the photo's own vector (Owner.Vector), or nil.
	// Rankers of learned profiles were calibrated with such predictions.
	Guess *rank.Guess
}

func (o *Owner) Ranker() rank.Ranker { return *o.ranks.Load() }

func (o *Owner) ranker(r Ranking) rank.Ranker {
	if r.Ranker == rank.KindPaper {
		return rank.PaperRanker{}
	}
	return o.Ranker()
}

// Check rejects a ranking that no index supports.
func (r Ranking) Check() error {
	switch {
	case r.MaxKeywords < 1:
		return fmt.Errorf("ranking keywords: %w: %d keywords wanted; 1 is the minimum", cpar.ErrInput, r.MaxKeywords)
	case !(r.MinProbability >= 0 && r.MinProbability <= 1):
		return hint.Add(fmt.Errorf("ranking keywords: %w: a probability of %g; it is from 0 to 1", cpar.ErrInput, r.MinProbability), "50 percent is 0.5")
	case !r.Ranker.Valid():
		return fmt.Errorf("ranking keywords: %w: %v", cpar.ErrInput, r.Ranker)
	}
	return nil
}

// CheckRanking rejects a ranking that this index does not support.
func (o *Owner) CheckRanking(r Ranking) error {
	if err := r.Check(); err != nil {
		return err
	}
	probable := o.ranker(r).Kind() == rank.KindCalibrated
	switch {
	case r.Ranker == rank.KindCalibrated && !probable:
		return hint.Add(fmt.Errorf("ranking keywords: %w: the index has no calibrated ranker", cpar.ErrInput), "build it with --ranker calibrated")
	case r.Rare && !probable:
		return hint.Add(fmt.Errorf("ranking keywords: %w: weights W_t cannot favour rare words", cpar.ErrInput), "build the index with --ranker calibrated, or leave --rare out")
	case r.MinProbability > 0 && !probable:
		return hint.Add(fmt.Errorf("ranking keywords: %w: weights W_t are not probabilities", cpar.ErrInput), "build the index with --ranker calibrated, or leave --min-probability out")
	}
	return nil
}

// Rank ranks the keywords of neighbours, best first, and applies the owner's
// vocabulary. It fails if CheckRanking rejects the ranking.
func (o *Owner) Rank(near []rank.Neighbour, r Ranking) ([]rank.Keyword, error) {
	if err := o.CheckRanking(r); err != nil {
		return nil, err
	}
	out := o.Vocabulary().Apply(o.ranker(r).Rank(near, r.Guess, math.MaxInt, r.Rare))
	out = slices.DeleteFunc(out, func(k rank.Keyword) bool { return k.Probability < r.MinProbability })
	return out[:min(len(out), r.MaxKeywords)], nil
}

// Threshold returns the probability above which the fraction `right` of
// keywords is correct, or 0 if the index's ranker has no probabilities.
func (o *Owner) Threshold(right float64) float64 {
	if c, ok := o.Ranker().(*rank.Calibrated); ok {
		return c.Threshold(right)
	}
	return 0
}
