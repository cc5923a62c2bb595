package rank

import (
	"math"
	"slices"
	"testing"
)

// Without the prior, a word with a thousandth of the votes gets probability
// 0.81 after 40 of these photos (seed 5), and 0.82 after 80 (seed 6).
func TestPriorLimitsSmallVotes(t *testing.T) {
	for _, photos := range []int{40, 80} {
		for seed := range uint64(8) {
			samples, collection := synthetic(photos, seed)
			for i := range samples {
				samples[i].Near = samples[i].Near[:10]
				samples[i].Fold = i % 5
			}
			c, _ := calibrated(t, samples, collection)
			for w := range c.words {
				share := c.share(w)
				before := 0.0
				for _, v := range []float64{0.001, 0.003, 0.01, 0.1, 0.3, 0.6, 0.9} {
					p := applyIsotonic(sigmoid(dot(c.curve, terms(v, share))), c.isotonic)
					if v <= 0.01 && p > max(0.2, 2*share) {
						t.Errorf("%d photos, seed %d: a word with %g of the votes and in %.3f of the photos is %.2f probable", photos, seed, v, share, p)
					}
					if p < before-0.1 {
						t.Errorf("%d photos, seed %d: more votes for a word in %.3f of the photos make it %.2f probable, which was %.2f", photos, seed, share, p, before)
					}
					before = max(before, p)
				}
			}
		}
	}
}

func TestTrustIsEstimated(t *testing.T) {
	for _, want := range []float64{0.2, 0.6, 0.9} {
		var seen predictions
		for i := range 4000 {
			v, share := float64(i%97)/97, float64(i%13+1)/40
			p := priorProbability(v, share, want)
			seen.add(v, share, math.Floor(p+float64(i*61%100)/100), 1)
		}
		if got := seen.trust(); math.Abs(got-want) > 0.051 {
			t.Errorf("trust %g, want %g", got, want)
		}
	}
}

// For a new photo, a word's share counts all photos, and for a sample all
// others. Without the sample, a word that only it has is unknown.
func TestSamplesDoNotCountThemselves(t *testing.T) {
	c := &Calibrated{photos: 5, words: map[string]wordStats{"sea": {count: 3}, "owl": {count: 1}}}
	for _, x := range []struct{ share, own, want float64 }{{0.6, 1, 0.5}, {0.6, 0, 0.75}, {0.2, 0, 0.25}, {0.2, 1, 0.25}} {
		if got := c.shareOfOthers(x.share, x.own); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("share %g of 5, own %g: %g, want %g", x.share, x.own, got, x.want)
		}
	}
	guess := &Guess{Words: map[string]int{"sea": 0, "owl": 1}, Share: []float32{0.5, 0.4}}
	n := c.index([]Sample{{Truth: []string{"sea", "owl"}, Guess: guess}, {Truth: []string{"sea"}, Guess: guess}})
	for i, want := range [][]string{{"sea"}, {"sea", "owl"}} {
		var got []string
		for _, v := range n.candidates[i] {
			got = append(got, n.names[v.word])
		}
		if !slices.Equal(got, want) {
			t.Errorf("sample %d: candidates %q, want %q", i, got, want)
		}
	}
}

// Words more common than usual lose log-odds, up to what chance explains, and a
// word of one photo loses none.
func TestCurveDiscountsCommonKeywords(t *testing.T) {
	// With 51 photos and one word, the share of the other photos is (count−1)/50.
	discount := func(count int, share float64) float64 {
		c := &Calibrated{photos: 51, words: map[string]wordStats{"sea": {count: count}}}
		c.discountCommon()
		return -dot(c.curve, terms(1, share))
	}
	slope := commonSlope * commonPhotos / (51.0 + commonPhotos)
	most := slope * commonByChance / math.Sqrt(51)
	for count, want := range map[int]float64{1: 0, 2: -most, 4: slope * math.Log(0.06/usualShare), 5: slope * math.Log(0.08/usualShare), 40: most} {
		for _, photos := range []float64{1, 4, 40} {
			if got := discount(count, photos/51); math.Abs(got-want*math.Log(photos)) > 1e-9 {
				t.Errorf("a word of %d photos discounts words of %g photos by %g, want %g", count, photos, got, want*math.Log(photos))
			}
		}
	}
}

func TestPriorFadesAway(t *testing.T) {
	samples, collection := synthetic(500, 3)
	c, _ := calibrated(t, samples, collection)
	n := c.index(samples)
	seen := c.predictions(n, n.vote(c.neighbours, c.decay, c.guessShare))
	without, err := logistic(t.Context(), &seen)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, x := range seen.x {
		sum += math.Abs(sigmoid(dot(c.curve, x)) - sigmoid(dot(without, x)))
	}
	if mean := sum / float64(len(seen.x)); mean > 0.005 {
		t.Errorf("it moves probabilities by %g on average", mean)
	}
	var none predictions
	if none.addPrior(false, 1); len(none.x) != 0 {
		t.Error("a prior of nothing")
	}
}
