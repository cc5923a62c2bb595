package rank

import (
	"math"
	"testing"
)

// Without the prior, a word with a thousandth of the votes is called 0.81
// probable after 40 of these photos (seed 5), and 0.82 after 80 (seed 6).
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

func TestPriorFadesAway(t *testing.T) {
	samples, collection := synthetic(500, 3)
	c, _ := calibrated(t, samples, collection)
	n := c.number(samples)
	var seen predictions
	for i, list := range n.vote(c.neighbours, c.decay, c.guessShare) {
		for _, v := range list {
			right := 0.0
			for _, w := range n.truth[i] {
				if w == v.word {
					right = 1
				}
			}
			seen.add(v.vote, n.share[v.word], right, 1)
		}
	}
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
	if none.addPrior(); len(none.x) != 0 {
		t.Error("a prior of nothing")
	}
}
