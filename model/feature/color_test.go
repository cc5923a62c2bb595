package feature

import (
	"math"
	"testing"
)

// Rounding must not move means of equal bytes across the edge of a bin.
func TestMeansCountLikeBytes(t *testing.T) {
	var want, got colorCounts
	p := synthetic(97, 61)
	for i, v := range []byte{0, 255, 128} { // and greys
		p.RGB[3*i], p.RGB[3*i+1], p.RGB[3*i+2] = v, v, v
	}
	means := make([]float64, len(p.RGB))
	for i, v := range p.RGB {
		means[i] = float64(v) * (1 + 1e-13*(float64(v%3)-1))
	}
	want.addBytes(p.RGB)
	got.addMeans(means)
	if got != want {
		t.Error("other counts")
	}
}

func TestColourSpaces(t *testing.T) {
	for _, c := range []struct {
		rgb      [3]byte
		hsv, lab [3]float64 // from published tables: turns, shares, L*, a*, b*
	}{
		{[3]byte{255, 255, 255}, [3]float64{0, 0, 1}, [3]float64{100, 0, 0}},
		{[3]byte{0, 0, 0}, [3]float64{0, 0, 0}, [3]float64{0, 0, 0}},
		{[3]byte{255, 0, 0}, [3]float64{0, 1, 1}, [3]float64{53.24, 80.09, 67.20}},
		{[3]byte{0, 255, 0}, [3]float64{1. / 3, 1, 1}, [3]float64{87.74, -86.18, 83.18}},
		{[3]byte{0, 0, 255}, [3]float64{2. / 3, 1, 1}, [3]float64{32.30, 79.19, -107.86}},
		{[3]byte{255, 0, 128}, [3]float64{0.916, 1, 1}, [3]float64{54.88, 84.51, 4.06}},
	} {
		r, g, b := byteLights[c.rgb[0]], byteLights[c.rgb[1]], byteLights[c.rgb[2]]
		h, s, v := hsv(r.stored, g.stored, b.stored)
		l, a, bb := lab(r.linear, g.linear, b.linear)
		for i, got := range [6]float64{h, s, v, l * 100, a*256 - 128, bb*256 - 128} {
			if want := append(c.hsv[:], c.lab[:]...)[i]; math.Abs(got-want) > 0.05*float64(1+i/3) && i >= 3 || math.Abs(got-want) > 1e-3 && i < 3 {
				t.Errorf("%v: %v, want %v", c.rgb, got, want)
			}
		}
	}
}
