package feature

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

func TestFFTAgainstSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 4, 5, 6, 12, 30, 72, 144, 160, 180} {
		f := newFFT(n, newWave(n))
		in := make([]complex128, n*fftLanes)
		for i := range in {
			in[i] = complex(rng.NormFloat64(), rng.NormFloat64())
		}
		copy(f.x, in)
		out := f.run()
		for lane := range fftLanes {
			for k := range n {
				var sum complex128
				for j := range n {
					sum += in[j*fftLanes+lane] * cmplx.Rect(1, 2*math.Pi*float64(j*k%n)/float64(n))
				}
				if cmplx.Abs(sum-out[k*fftLanes+lane]) > 1e-11 {
					t.Fatalf("n %d, lane %d, element %d: %v, want %v", n, lane, k, out[k*fftLanes+lane], sum)
				}
			}
		}
	}
}

// directGabor is filter2D as it is written down: a sum over the window, borders
// reflected, phases one by one with an arctangent each.
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
	s := newGaborSpace()
	for i, g := range gaborScales() {
		s.fft[i].forward(s.padded, s.reflect(grey, g.half))
		for o, spectrum := range g.spectra {
			s.fft[i].filter(spectrum, g.half, s.re, s.im)
			for _, at := range [][2]int{{0, 0}, {0, 127}, {127, 0}, {127, 127}, {64, 1}, {3, 90}, {77, 41}} {
				got := complex(s.re[at[0]*gaborSide+at[1]], s.im[at[0]*gaborSide+at[1]])
				want := directGabor(grey, gaborWavelengths[i], o, at[0], at[1])
				if cmplx.Abs(got-want) > 1e-11 {
					t.Errorf("scale %d, orientation %d, %v: %v, want %v", i, o, at, got, want)
				}
			}
		}
	}
}

// The sum of sixteen angles from two arctangents against sixteen.
func TestBlockRowAgainstAtan2(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		var re, im [gaborBlock]float64
		magnitude, angle := 0.0, 0.0
		for k := range re {
			scale := math.Pow(10, -6*rng.Float64())
			re[k], im[k] = scale*rng.NormFloat64(), scale*rng.NormFloat64()
			switch rng.IntN(8) {
			case 0:
				re[k] = -math.Abs(re[k]) // much of it near the cut
				im[k] *= 1e-3
			case 1:
				im[k] = 0
				re[k] = math.Abs(re[k])
			}
			magnitude += math.Hypot(re[k], im[k])
			if re[k] < gaborNoise && math.Abs(im[k]) < gaborNoise {
				continue
			}
			angle += math.Atan2(im[k], re[k])
		}
		m, a := blockRow(&re, &im)
		if math.Abs(m-magnitude) > 1e-9 || math.Abs(a-angle) > 1e-9 {
			t.Fatalf("%v %v: %g %g, want %g %g", re, im, m, a, magnitude, angle)
		}
	}
}

// Flat, striped and black images leave noise only, and the noise must not show:
// the phase is that of no angle at all, level 4.
func TestGaborFlat(t *testing.T) {
	e := NewExtractor()
	magnitude, level := make([]float32, GaborDim), make([]float32, GaborDim)
	for _, value := range []float64{0, 0.3, 1} {
		grey := make([]float64, gaborSide*gaborSide)
		for i := range grey {
			grey[i] = value
		}
		e.gabor.respond(grey, magnitude, level)
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
	// The finest details of the block at (10, 20) by their definition.
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
