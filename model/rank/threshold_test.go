package rank

import (
	"math"
	"slices"
	"testing"
)

// On new photos, about the requested share of the words is right.
func TestThreshold(t *testing.T) {
	samples, collection := synthetic(3000, 1)
	c, _ := calibrated(t, samples[:1500], collection)
	last := 0.0
	for _, want := range []float64{0.5, 2.0 / 3, 0.8} {
		least, words, right := c.Threshold(want), 0.0, 0.0
		if least < last {
			t.Errorf("the threshold falls from %g to %g", last, least)
		}
		last = least
		for _, s := range samples[1500:] {
			for _, k := range c.Rank(s.Near, s.Guess, 1000, true) {
				if k.Probability >= least {
					words++
					if slices.Contains(s.Truth, k.Word) {
						right++
					}
				}
			}
		}
		if words < 500 || math.Abs(right/words-want) > 0.07 {
			t.Errorf("asked for %g, %g of %g words are right", want, right/words, words)
		}
	}
}

func TestThresholdByHand(t *testing.T) {
	var c Calibrated
	c.evidence.photos = 50
	for k := range c.evidence.levels { // 49 … 1 words, of which at most 20 are right
		words := uint32(levels - 1 - k)
		c.evidence.levels[k] = level{words, min(words, 20)}
	}
	// 0.9 lies between 20 of 22 words (0.56) and 20 of 23 (0.54).
	for _, x := range []struct{ right, least float64 }{{1, 0.6}, {0.9, 0.5554}, {0.5, 0.2}, {0, 0.02}} {
		if got, want := c.Threshold(x.right), (x.least+0.5)/2; math.Abs(got-want) > 1e-9 {
			t.Errorf("for %g: %g, want %g", x.right, got, want)
		}
	}
	c.evidence.photos = 0
	if got := c.Threshold(0.1); got != 0.5 {
		t.Errorf("without photos: %g", got)
	}
	c.evidence = evidence{photos: 50}
	if got := c.Threshold(0.1); math.Abs(got-0.65) > 1e-9 {
		t.Errorf("without words: %g", got)
	}
	if got := (&Calibrated{onlyNeighbours: true}).Threshold(0.9); got != 0.5 {
		t.Errorf("of version 3: %g", got)
	}
}
