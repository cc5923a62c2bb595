package rank

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
)

func TestStandardErrorFromFolds(t *testing.T) {
	of := func(merits ...float64) *Validation {
		var folds []Quality
		for _, m := range merits {
			folds = append(folds, Quality{P: m, R: m})
		}
		return NewValidation(90, 3, folds)
	}
	a, b := of(0.2, 0.3, 0.4), of(0.22, 0.32, 0.42)
	if math.Abs(a.Merit()-0.3) > 1e-12 || a.P != 30 || a.R != 30 {
		t.Errorf("merit %g, P %g, R %g", a.Merit(), a.P, a.R)
	}
	if got := StandardError(a, b, false); math.Abs(got-math.Sqrt(2*0.01/3)) > 1e-12 {
		t.Errorf("standard error %g", got)
	}
	if got := StandardError(a, b, true); got > 1e-12 {
		t.Errorf("standard error of equal differences %g", got)
	}
	if !WithinNoise(a, b, false) || WithinNoise(a, b, true) {
		t.Error("a difference of 0.02 in every fold is certain of the same photos, and only of them")
	}
	if near, far := of(0.35, 0.45, 0.55), of(0.38, 0.48, 0.58); !WithinNoise(a, near, false) || WithinNoise(a, far, false) || WithinNoise(far, a, false) {
		t.Error("0.15 is within noise, 0.18 is not")
	}
}

func TestValidateMeasuresOtherFolds(t *testing.T) {
	t.Run("folds alike", func(t *testing.T) { testOtherFolds(t, false) })
	// The nearest photos of one fold are wrong, so a ranker that knew that fold
	// would differ.
	t.Run("one fold unlike", func(t *testing.T) { testOtherFolds(t, true) })
}

func testOtherFolds(t *testing.T, unlike bool) {
	rng := rand.New(rand.NewPCG(3, 3))
	var samples []Sample
	var collection [][]string
	word := func(k int) []string { return []string{fmt.Sprint("w", k), fmt.Sprint("v", k/2)} }
	for i := range 90 {
		k := rng.IntN(9)
		s := Sample{Truth: word(k), Fold: i % 3}
		for j := range 30 {
			of := rng.IntN(9)
			if rng.Float64() < 0.3 {
				of = k
			}
			if unlike && s.Fold == 0 && j < 12 {
				of = (k + 1 + rng.IntN(8)) % 9
			}
			s.Near = append(s.Near, Neighbour{Dis: float64(j + 1), Keywords: word(of)})
		}
		samples, collection = append(samples, s), append(collection, s.Truth)
	}
	if n := Folds(samples); n != 3 {
		t.Errorf("%d folds", n)
	}
	got, err := CrossValidate(t.Context(), samples, collection, KindCalibrated, 3)
	if err != nil || len(got.folds) != 3 || got.Photos != 90 || got.Keywords != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	in := func(fold int) func(Sample) bool { return func(s Sample) bool { return s.Fold == fold } }
	for fold := range 3 {
		others := slices.DeleteFunc(slices.Clone(samples), in(fold))
		for i := range others { // 0 and 1
			others[i].Fold = (others[i].Fold - fold + 2) % 3
		}
		c, quality, err := Calibrate(t.Context(), others, collection, 3, 0)
		if err != nil {
			t.Fatal(err)
		}
		say := func(of []Sample, rare bool) Quality {
			var said, truth [][]string
			for _, s := range of {
				var words []string
				for _, k := range c.Rank(s.Near, s.Guess, 3, rare) {
					words = append(words, k.Word)
				}
				said, truth = append(said, words), append(truth, s.Truth)
			}
			return Measure(said, truth)
		}
		own := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return !in(fold)(s) })
		if want := say(own, false); math.Abs(got.folds[fold].P-want.P) > 1e-12 || math.Abs(got.folds[fold].R-want.R) > 1e-12 {
			t.Errorf("fold %d: %+v, want %+v", fold, got.folds[fold], want)
		}
		if unlike {
			continue
		}
		var p, r, nplus float64
		for other := range 2 {
			q := say(slices.DeleteFunc(slices.Clone(others), func(s Sample) bool { return s.Fold != other }), true)
			p, r, nplus = p+q.P/2, r+q.R/2, nplus+q.Nplus/2
		}
		if math.Abs(p-quality.P) > 1e-9 || math.Abs(r-quality.R) > 1e-9 || nplus != quality.Nplus {
			t.Errorf("fold %d: P %g, R %g, N+ %g, Calibrate has %+v", fold, p, r, nplus, quality)
		}
	}
	if _, err := CrossValidate(t.Context(), samples[:1], collection, KindPaper, 3); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("one sample: %v", err)
	}
}

func TestMeasureByHand(t *testing.T) {
	given := [][]string{{"sky", "sea"}, {"sky", "fox"}, nil}
	truth := [][]string{{"sky", "sky", "tree"}, {"sea"}, {"sky"}}
	// sky: given twice, right once, present twice. sea: given once, wrong,
	// present once. tree: never given, present once. fox is not a word of the
	// photos.
	if got, want := Measure(given, truth), (Quality{P: 0.5 / 3, R: 0.5 / 3, Nplus: 1, Words: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Measure(nil, nil); got != (Quality{}) {
		t.Errorf("of nothing: %+v", got)
	}
}
