package user

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"testing"

	"cpar"
	"cpar/model/profile"
	"cpar/model/rank"
)

// curious needs an unusual number of neighbours.
type curious struct{ rank.PaperRanker }

func (curious) Neighbours() int { return 17 }

func TestRankingsAreCheckedAgainstTheIndex(t *testing.T) {
	near := []rank.Neighbour{{Dis: 0.1, Keywords: []string{"kind 1", "word 1"}}, {Dis: 0.3, Keywords: []string{"kind 1"}}, {Dis: 0.5, Keywords: []string{"word 2"}}}
	plain := setUp(t, testKey(), madeImages(80, 1), small(cpar.SchemeSealed))
	// The profile must not depend on the key: with few photos, a secret
	// projection would change the result.
	key := testKey()
	calibrated, folder := build(t, key, madeImages(80, 1), Options{Profile: profile.Learned, Ranker: rank.KindCalibrated})
	weighted := setUp(t, testKey(), madeImages(80, 1), Options{Profile: profile.Learned, Ranker: rank.KindPaper})
	if plain.Ranker().Kind() != rank.KindPaper || calibrated.Ranker().Kind() != rank.KindCalibrated || weighted.Ranker().Kind() != rank.KindPaper || plain.Ranker().Neighbours() != 10 {
		t.Fatal("an index has another ranker than was asked for")
	}
	weighted.ledger.ranker = curious{}
	if p := weighted.DefaultParams(); p.L != 17 {
		t.Errorf("%d neighbours are asked for, the ranker wants 17", p.L)
	}
	got, err := plain.Rank(near, Ranking{MaxKeywords: 2})
	want := rank.Keywords(near, 2)
	if err != nil || len(got) != 2 || got[0] != want[0] || got[0].Probability != 0 {
		t.Errorf("W_t: %v, %v; want %v", got, err, want)
	}
	o := look(t, key, folder)
	all, err := o.Rank(near, Ranking{MaxKeywords: 9})
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	least, most := all[0].Probability, all[0].Probability
	for _, k := range all {
		least, most = min(least, k.Probability), max(most, k.Probability)
	}
	if !(least > 0 && most < 1 && least < most) {
		t.Errorf("probabilities from %g to %g", least, most)
	}
	if some, err := o.Rank(near, Ranking{MaxKeywords: 9, MinProbability: most}); err != nil || len(some) != 1 || some[0].Probability != most {
		t.Errorf("above %g: %v, %v", most, some, err)
	}
	if x, y, none := o.Threshold(0.5), o.Threshold(0.8), plain.Threshold(0.5); !(x > 0 && x <= y && y < 1) || none != 0 {
		t.Errorf("thresholds %g, %g and of weights %g", x, y, none)
	}
	if none, err := o.Rank(near, Ranking{MaxKeywords: 9, MinProbability: 1}); err != nil || len(none) != 0 {
		t.Errorf("above 1: %v, %v", none, err)
	}
	byWeight := func(a, b rank.Keyword) int { return cmp.Compare(b.Weight, a.Weight) }
	rare, err := o.Rank(near, Ranking{MaxKeywords: 9, Rare: true})
	if err != nil || len(rare) != 3 || !slices.IsSortedFunc(rare, byWeight) {
		t.Errorf("rare words first: %v, %v", rare, err)
	}
	if own, err := o.Rank(near, Ranking{MaxKeywords: 2, Ranker: rank.KindPaper}); err != nil || own[0].Weight != want[0].Weight {
		t.Errorf("the paper's, asked for: %v, %v", own, err)
	}
	for name, err := range map[string]error{
		"none":            o.CheckRanking(Ranking{}),
		"a probability":   o.CheckRanking(Ranking{MaxKeywords: 1, MinProbability: 1.5}),
		"not a number":    o.CheckRanking(Ranking{MaxKeywords: 1, MinProbability: math.NaN()}),
		"no such ranker":  o.CheckRanking(Ranking{MaxKeywords: 1, Ranker: 9}),
		"no calibration":  plain.CheckRanking(Ranking{MaxKeywords: 1, Ranker: rank.KindCalibrated}),
		"no rare words":   plain.CheckRanking(Ranking{MaxKeywords: 1, Rare: true}),
		"no probability":  plain.CheckRanking(Ranking{MaxKeywords: 1, MinProbability: 0.5}),
		"none of weights": o.CheckRanking(Ranking{MaxKeywords: 1, MinProbability: 0.5, Ranker: rank.KindPaper}),
	} {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := o.Rank(near, Ranking{}); !errors.Is(err, cpar.ErrInput) || got != nil {
		t.Errorf("ranked by a refused ranking: %v, %v", got, err)
	}
}
