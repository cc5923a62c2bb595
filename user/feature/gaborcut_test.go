package feature

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// What cv2.dft (OpenCV 4.6) answers to a one at element 1 and zeros elsewhere:
// up to its last radix, the factors themselves, conjugate. To the last bit, and
// the last factors carry the errors of all before them.
func TestWaveAgainstOpenCV(t *testing.T) {
	measured := map[int][2]complex128{
		144: {complex(-0.4617486132350348, 0.8870108331782236), complex(-0.4226182617407002, 0.9063077870366518)},
		160: {complex(0.34611705707749385, 0.9381913359224864), complex(0.3826834323650907, 0.9238795325112888)},
		180: {complex(-0.46947156278589175, 0.8829475928589292), complex(-0.4383711467890783, 0.8987940462991693)},
	}
	for n, want := range measured {
		last := n/3 - 1
		if n == 160 {
			last = n/5 - 1
		}
		wave := newWave(n)
		for i, w := range want {
			if wave[last-i] != w {
				t.Errorf("n %d: factor %d is %v, want %v", n, last-i, wave[last-i], w)
			}
		}
	}
}

func TestRealRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{12, 30, 144, 160, 180} { // n/2 even and odd
		s := newSpectral(n)
		for _, stride := range []int{n, n/2 | 1} {
			const count = fftLanes - 1
			rows := make([]float64, count*stride)
			for i := range rows {
				rows[i] = rng.NormFloat64()
			}
			out, back := make([]complex128, fftLanes*n), make([]float64, n)
			s.forwardRows(rows, stride, count, out)
			for r := range count {
				row, spectrum := rows[r*stride:][:stride], out[r*n:][:n/2+1]
				for k, got := range spectrum {
					var want complex128
					for j, x := range row {
						want += complex(x, 0) * cmplx.Rect(1, 2*math.Pi*float64(j*k%n)/float64(n))
					}
					if cmplx.Abs(got-want) > 1e-11 {
						t.Fatalf("n %d, stride %d, element %d: %v, want %v", n, stride, k, got, want)
					}
					spectrum[k] = cmplx.Conj(got)
				}
				s.inverseRow(spectrum, back)
				for j := range back {
					want := 0.0
					if j < stride {
						want = row[j] * float64(n)
					}
					if math.Abs(back[j]-want) > 1e-10 {
						t.Fatalf("n %d, stride %d: element %d comes back as %g, want %g", n, stride, j, back[j], want)
					}
				}
			}
		}
	}
}

// Of a padded image that is no reflection, what "should be zero" is the plain
// response and not small: both ways to it against the sum over the window.
func TestCutAgainstDirectSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for i, g := range gaborScales() {
		stride := gaborSide + 2*g.half
		padded := make([]float64, stride*stride)
		for j := range padded {
			padded[j] = rng.Float64()
		}
		s := newSpectral(g.side)
		s.forward(padded, stride)
		direct := func(orientation, y, x int) (sum float64) {
			for dy := -g.half; dy <= g.half; dy++ {
				for dx := -g.half; dx <= g.half; dx++ {
					_, im := gaborKernel(gaborWavelengths[i], orientation, dx, dy)
					sum += im * padded[(y+dy+g.half)*stride+x+dx+g.half]
				}
			}
			return sum
		}
		var columns, rows [2][gaborSide]float64
		g.cut.columns(s, &columns)
		g.cut.rows(s, &rows)
		scale := float64(g.side * g.side)
		for e, line := range gaborEnds {
			for _, at := range []int{0, 1, 50, 126, 127} {
				if got, want := columns[e][at]/scale, direct(0, at, line); math.Abs(got-want) > 1e-10 {
					t.Errorf("scale %d, column %d, pixel %d: %g, want %g", i, line, at, got, want)
				}
				if got, want := rows[e][at]/scale, direct(2, line, at); math.Abs(got-want) > 1e-10 {
					t.Errorf("scale %d, row %d, pixel %d: %g, want %g", i, line, at, got, want)
				}
			}
		}
	}
}

// Only what is on the cut moves, and only on the outermost lines of the two
// orientations.
func TestSettle(t *testing.T) {
	grey := noiseImage(4)
	s := newGaborSpace()
	for i, g := range gaborScales() {
		s.fft[i].forward(s.padded, s.reflect(grey, g.half))
		for o, spectrum := range g.spectra {
			s.fft[i].filter(spectrum, g.half, s.re, s.im)
			before := append([]float64(nil), s.im...)
			s.settle(g.cut, s.fft[i], o)
			moved := 0
			for at, im := range s.im {
				y, x := at/gaborSide, at%gaborSide
				onLine := o == 0 && (x == 0 || x == gaborSide-1) || o == 2 && (y == 0 || y == gaborSide-1)
				switch {
				case onLine && s.re[at] < -1e-6:
					moved++
					if math.Abs(before[at]) > 1e-12 || math.Abs(im) != 2*gaborNoise {
						t.Fatalf("scale %d, orientation %d, (%d, %d): %g has become %g", i, o, x, y, before[at], im)
					}
				case !onLine && im != before[at], math.Abs(im-before[at]) > 3*gaborNoise:
					t.Fatalf("scale %d, orientation %d, (%d, %d): %g has become %g", i, o, x, y, before[at], im)
				}
			}
			if (o == 0 || o == 2) != (moved > 0) {
				t.Errorf("scale %d, orientation %d: %d responses settled", i, o, moved)
			}
		}
	}
}
