package user

import (
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/rank"
)

// A Ranking says which keywords of neighbours are wanted.
type Ranking struct {
	// Most is the greatest number of keywords.
	MaxKeywords int
	// Ranker is the index's own where it is rank.KindDefault.
	Ranker rank.Kind
	// Rare has a calibrated ranker give rare words their due, which precision and
	// recall as means over words reward. Otherwise the words that are most likely
	// right come first, and a person finds more of them right.
	Rare bool
	// MinProbability leaves out keywords that are less probable; a calibrated
	// ranker only.
	MinProbability float64
	// Guess is what the photo's own features say (Owner.Vector); nil where nothing is
	// known. A calibrated ranker of a learnt profile was calibrated with it.
	Guess *rank.Guess
}

// Ranker is what the index ranks by where nothing else is asked for.
func (o *Owner) Ranker() rank.Ranker { return *o.ranks.Load() }

// ranker is the one that a ranking asks for.
func (o *Owner) ranker(r Ranking) rank.Ranker {
	if r.Ranker == rank.KindPaper {
		return rank.PaperRanker{}
	}
	return o.Ranker()
}

// Check refuses a ranking that no index gives.
func (r Ranking) Check() error {
	switch {
	case r.MaxKeywords < 1:
		return fmt.Errorf("ranking keywords: %w: %d keywords wanted; 1 is the least", cpar.ErrInput, r.MaxKeywords)
	case !(r.MinProbability >= 0 && r.MinProbability <= 1):
		return hint.Add(fmt.Errorf("ranking keywords: %w: a probability of %g; it is from 0 to 1", cpar.ErrInput, r.MinProbability), "50 percent is 0.5")
	case !r.Ranker.Valid():
		return fmt.Errorf("ranking keywords: %w: %v", cpar.ErrInput, r.Ranker)
	}
	return nil
}

// CheckRanking refuses a ranking that the index does not give.
func (o *Owner) CheckRanking(r Ranking) error {
	if err := r.Check(); err != nil {
		return err
	}
	probable := o.ranker(r).Kind() == rank.KindCalibrated
	switch {
	case r.Ranker == rank.KindCalibrated && !probable:
		return hint.Add(fmt.Errorf("ranking keywords: %w: the index has no calibrated ranker", cpar.ErrInput), "build it with --ranker calibrated")
	case r.Rare && !probable:
		return hint.Add(fmt.Errorf("ranking keywords: %w: weights W_t know no rare words", cpar.ErrInput), "build the index with --ranker calibrated, or leave --rare out")
	case r.MinProbability > 0 && !probable:
		return hint.Add(fmt.Errorf("ranking keywords: %w: weights W_t are no probabilities", cpar.ErrInput), "build the index with --ranker calibrated, or leave --min-probability out")
	}
	return nil
}

// Rank ranks the keywords of neighbours, best first. A ranking that CheckRanking
// refuses gives the error.
func (o *Owner) Rank(near []rank.Neighbour, r Ranking) ([]rank.Keyword, error) {
	if err := o.CheckRanking(r); err != nil {
		return nil, err
	}
	out := o.ranker(r).Rank(near, r.Guess, r.MaxKeywords, r.Rare)
	return slices.DeleteFunc(out, func(k rank.Keyword) bool { return k.Probability < r.MinProbability }), nil
}
