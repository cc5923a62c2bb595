package rank

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func guessing(samples []Sample, collection [][]string) []Sample {
	words := map[string]int{}
	for w := range Count(collection) {
		words[w] = 0
	}
	names := make([]string, 0, len(words))
	for w := range words {
		names = append(names, w)
	}
	slices.Sort(names)
	delete(words, names[0])
	for i, w := range names[1:] {
		words[w] = i
	}
	rng := rand.New(rand.NewPCG(7, 7))
	out := slices.Clone(samples)
	for i := range out {
		g := &Guess{Words: words, Share: make([]float32, len(words))}
		for w, at := range words {
			if slices.Contains(out[i].Truth, w) {
				g.Share[at] = 0.5
			}
		}
		for at := range g.Share {
			g.Share[at] += float32(0.2 * rng.NormFloat64())
		}
		out[i].Guess = g
	}
	return out
}

func TestGuessesImproveMerit(t *testing.T) {
	samples, collection := synthetic(600, 3)
	for i := range samples[:200] {
		samples[i].Fold = 1
	}
	_, without := calibrated(t, samples, collection)
	samples = guessing(samples, collection)
	c, with := calibrated(t, samples, collection)
	if c.guessShare <= 0 || with.Merit() < without.Merit()+0.02 {
		t.Errorf("a share of %g: %+v, without guesses %+v", c.guessShare, with, without)
	}
	if got := quality(c, samples, 5); math.Abs(got.P-with.P) > 1e-9 || math.Abs(got.R-with.R) > 1e-9 || got.Nplus != with.Nplus {
		t.Errorf("by Keywords %+v, measured %+v", got, with)
	}
	b, _ := c.MarshalBinary()
	var back Calibrated
	if err := back.UnmarshalBinary(b); err != nil || back.guessShare != c.guessShare {
		t.Errorf("read as %g, want %g: %v", back.guessShare, c.guessShare, err)
	}
}

func TestGuessIsBlended(t *testing.T) {
	c := &Calibrated{neighbours: 4, guessShare: 0.25, photos: 4, words: map[string]wordStats{}}
	near := []Neighbour{{Dis: 1, Keywords: []string{"sea", "sky"}}, {Dis: 2, Keywords: []string{"sea", "sun"}}, {Dis: 3, Keywords: []string{"car"}}, {Dis: 4, Keywords: []string{"car"}}}
	guess := &Guess{Words: map[string]int{"sea": 0, "car": 1, "sun": 2, "lost": 3}, Share: []float32{0.9, -3, float32(math.NaN())}}
	want := map[string]float64{"sea": 0.75*0.5 + 0.25*0.9, "car": 0.75 * 0.5, "sky": 0.25, "sun": 0.25}
	for _, k := range c.Rank(near, guess, 9, true) {
		if math.Abs(k.Weight-want[k.Word]) > 1e-6 {
			t.Errorf("%s weighs %g, want %g", k.Word, k.Weight, want[k.Word])
		}
	}
	for _, k := range c.Rank(near, nil, 9, true) {
		if w := map[string]float64{"sea": 0.5, "car": 0.5, "sky": 0.25, "sun": 0.25}[k.Word]; math.Abs(k.Weight-w) > 1e-9 {
			t.Errorf("without a guess %s weighs %g, want %g", k.Word, k.Weight, w)
		}
	}
	if _, ok := guess.estimate("lost"); ok {
		t.Error("a guess beyond the end")
	}
}

// A word that no neighbour has is a candidate if the guess is strong.
func TestGuessAddsCandidates(t *testing.T) {
	c := &Calibrated{neighbours: 1, guessShare: 0.5, photos: 4, words: map[string]wordStats{}}
	guess := &Guess{Words: map[string]int{"fox": 0, "sea": 1, "owl": 2}, Share: []float32{0.8, 0.6, 0}}
	got := c.Rank([]Neighbour{{Keywords: []string{"sea"}}}, guess, 9, true)
	if len(got) != 2 || got[0].Word != "sea" || got[1].Word != "fox" || math.Abs(got[1].Weight-0.4) > 1e-6 {
		t.Errorf("%+v", got)
	}
	best := guess.best(guess.names())
	if len(best) != 2 || best[0].Word != "fox" || (*Guess)(nil).best(nil) != nil {
		t.Errorf("the best words are %+v", best)
	}
}
