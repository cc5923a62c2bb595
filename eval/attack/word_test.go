package attack

import "testing"

// TestSealedHidesWords checks that requests for words look like those for
// photos, and that the guess recognises requests that differ.
func TestSealedHidesWords(t *testing.T) {
	all := rowsOf(t, synthetic(5, 120, 80), func(r *run) error { return r.words(t.Context()) })
	if r := all["word-or-photo"]; r.Trials != 80 || r.Baseline != 0.5 || r.Success > r.Baseline+3*(r.High-r.Success) {
		t.Errorf("%+v", r)
	}
	views := make([][][]float64, 20)
	for i := range views {
		views[i] = [][]float64{{1. / 3, float64(1000 + i%3)}, {1. / 3, float64(1010 + i%3)}}
	}
	if r := guessWords(views); r.Success != 1 {
		t.Errorf("requests of other lengths: %+v", r)
	}
}
