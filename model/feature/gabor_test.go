package feature

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// directGabor is filter2D by definition, with reflected borders.
func directGabor(grey []float64, wavelength float64, orientation int, y, x int) complex128 {
	half := gaborHalf(wavelength)
	var sum, mean, box complex128
	for dy := -half; dy <= half; dy++ {
		for dx := -half; dx <= half; dx++ {
			re, im := gaborKernel(wavelength, orientation, dx, dy)
			v := complex(grey[reflect101(y+dy)*gaborSide+reflect101(x+dx)], 0)
			sum += complex(re, im) * v
			mean += complex(re, 0)
			box += v
		}
	}
	taps := float64(2*half + 1)
	return sum - mean*box/complex(taps*taps, 0)
}

func noiseImage(seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	grey := make([]float64, gaborSide*gaborSide)
	for i := range grey {
		x, y := float64(i%gaborSide), float64(i/gaborSide)
		grey[i] = 0.5 + 0.2*math.Sin(x/5+y/9) + 0.1*rng.Float64()
	}
	return grey
}

func TestGaborAgainstDirectSum(t *testing.T) {
	grey := noiseImage(3)
	s := newGaborScratch()
	s.transform(grey)
	for i, scale := range gaborSpectra() {
		for o, spectrum := range scale {
			s.filter(spectrum)
			for _, at := range [][2]int{{0, 0}, {0, 127}, {127, 0}, {127, 127}, {64, 1}, {3, 90}, {77, 41}} {
				got := s.rows[at[0]*fftSide+gaborReach+at[1]]
				want := directGabor(grey, gaborWavelengths[i], o, at[0], at[1])
				if cmplx.Abs(got-want) > 1e-11 {
					t.Errorf("scale %d, orientation %d, %v: %v, want %v", i, o, at, got, want)
				}
			}
		}
	}
}

func TestBlockRowAgainstAtan2(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		var responses [gaborBlock]complex128
		magnitude, angle := 0.0, 0.0
		for k := range responses {
			scale := math.Pow(10, -6*rng.Float64())
			re, im := scale*rng.NormFloat64(), scale*rng.NormFloat64()
			switch rng.IntN(8) {
			case 0:
				re, im = -math.Abs(re), im*1e-3 // angles near ±π
			case 1:
				re, im = math.Abs(re), 0
			case 2:
				re, im = -math.Abs(re), im*1e-13 // an angle of noise
			}
			responses[k] = complex(re, im)
			magnitude += math.Hypot(re, im)
			if re < gaborNoise && math.Abs(im) < gaborNoise {
				continue
			}
			angle += math.Atan2(im, re)
		}
		m, a := blockRow(&responses)
		if math.Abs(m-magnitude) > 1e-9 || math.Abs(a-angle) > 1e-9 {
			t.Fatalf("%v: %g %g, want %g %g", responses, m, a, magnitude, angle)
		}
	}
}

// Flat, striped and black images must have phase 0, level 4, despite the noise.
func TestGaborFlat(t *testing.T) {
	s := newGaborScratch()
	magnitude, level := make([]float32, GaborDim), make([]float32, GaborDim)
	for _, value := range []float64{0, 0.3, 1} {
		grey := make([]float64, gaborSide*gaborSide)
		for i := range grey {
			grey[i] = value
		}
		s.respond(grey, magnitude, level)
		for i := range level {
			if magnitude[i] > 1e-6 || level[i] != 4 {
				t.Fatalf("grey %g, element %d: magnitude %g, level %g", value, i, magnitude[i], level[i])
			}
		}
	}
}

func TestHaarAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	grey := make([]float64, haarSide*haarSide)
	energy := 0.0
	for i := range grey {
		grey[i] = rng.Float64()
		energy += grey[i] * grey[i]
	}
	out := make([]float64, len(grey))
	haarTransform(grey, out)
	sum := 0.0
	for _, c := range out {
		sum += c * c
	}
	if math.Abs(sum-energy) > 1e-9*energy {
		t.Errorf("energy %g, want %g: the transform is orthonormal", sum, energy)
	}
	a, b := grey[20*64+40], grey[20*64+41]
	c, d := grey[21*64+40], grey[21*64+41]
	for _, x := range []struct{ at, want float64 }{
		{out[10*64+32+20], (a - b + c - d) / 2},
		{out[(32+10)*64+20], (a + b - c - d) / 2},
		{out[(32+10)*64+32+20], (a - b - c + d) / 2},
	} {
		if math.Abs(x.at-x.want) > 1e-12 {
			t.Errorf("detail %g, want %g", x.at, x.want)
		}
	}
}
