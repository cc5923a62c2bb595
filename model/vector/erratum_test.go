package vector

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"testing"

	"cpar/eval/distance"
	"cpar/model/feature"
)

// Erratum: the colour features are called 3-D histograms of 16 bins per channel,
// which have 4,096 values, while features except Haar's have at most 256. From
// m_L1 = 864 we infer 16 bins for each channel. The paper does not print m_KL.
func TestErratumSixteenBinsAChannel(t *testing.T) {
	// 864 − 2·256 − 2·128 = 96 are left for rgb and hsv, 48 each, if texture
	// features have 256.
	if Dimension(128) != 864 || DimensionKL != 48 {
		t.Errorf("m_L1 = %d and m_KL = %d, want 864 and 48", Dimension(128), DimensionKL)
	}
	halves := func(left, right color.NRGBA) *feature.Vectors {
		img := image.NewNRGBA(image.Rect(0, 0, 64, 64))
		for y := range 64 {
			for x := range 64 {
				c := left
				if x >= 32 {
					c = right
				}
				img.SetNRGBA(x, y, c)
			}
		}
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		v, err := feature.NewExtractor().Photo(b.Bytes(), feature.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	grey := halves(color.NRGBA{0, 0, 0, 255}, color.NRGBA{255, 255, 255, 255})
	colour := halves(color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 255, 255, 255})
	if !slices.Equal(grey.RGB, colour.RGB) {
		t.Error("black and white, and red and cyan, differ in a channel's histogram")
	}
	if slices.Equal(grey.HSV, colour.HSV) {
		t.Error("black and white, and red and cyan, agree in hue and saturation")
	}
	for name, f := range map[string][]float32{"rgb": colour.RGB, "hsv": colour.HSV, "lab": colour.Lab} {
		if len(f) != 3*16 {
			t.Fatalf("%s has %d values", name, len(f))
		}
		for c := range 3 {
			sum := float32(0)
			for _, x := range f[16*c : 16*(c+1)] {
				sum += x
			}
			if sum < 0.333 || sum > 0.334 {
				t.Errorf("%s: channel %d sums to %g, want a third", name, c, sum)
			}
		}
	}
}

// Erratum: if bins that are empty in either histogram count 0 (Sec. IV-C),
// histograms without a common bin are at distance 0. Smoothing makes it large.
func TestErratumPhotosWithoutACommonColourAreFarApart(t *testing.T) {
	one, other := features(1, 128), features(2, 128)
	one.Lab, other.Lab = make([]float64, 48), make([]float64, 48)
	for c := range 3 { // each channel has one colour
		one.Lab[16*c], other.Lab[16*c+9] = 1./3, 1./3
	}
	printed := 0.0
	for i, a := range one.Lab {
		if c := other.Lab[i]; a > 0 && c > 0 {
			printed += a * math.Log(a/c)
		}
	}
	if printed != 0 {
		t.Errorf("the printed rule gives %g: no erratum", printed)
	}
	if got := distance.KL(one.Lab, other.Lab); got < 5 {
		t.Errorf("not smoothed: %g", got)
	}
	a, errA := New(one)
	b, errB := New(other)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if got := distance.KL(a.KL, b.KL); got < 5 || got > 7 {
		t.Errorf("smoothed: %g, want 5 to 7", got)
	}
}
