package feature

import "math"

// The sign of nothing.
//
// On the outermost columns at 0° and the outermost rows at 90° the reflected
// image is its own mirror image about the pixel. The imaginary response, odd, is
// exactly zero there, the real one mostly negative, and the phase +π as much as
// −π. The choice is arbitrary, yet it shows: a border block has sixteen such
// pixels of 256 on each scale, enough to move its mean phase by half a level.
//
// The golden vectors, and every feature made with OpenCV, hold what the rounding
// of OpenCV's transform makes of it. That is not noise: its twiddle factors are
// powers by repeated multiplication, so their errors are the same for every
// image and the sign is a linear function of the image. To be interchangeable
// with those features, the choice here is made in the same way: with twiddle
// factors of the same errors (newWave), radices in the same order (newFFT) and
// real rows by half-length transforms (forwardRows), what should be zero is
// computed for these pixels alone and its sign is taken. Of the signs about 98
// in 100 are OpenCV's; the others are so small that they hang on the rounding of
// the sums.
//
// filter2D multiplies the spectrum of the padded image by the conjugate of that
// of the kernel, which lies at the origin, and goes back. What the way back does
// to reach the first and the last pixel of a row, or of a column, is linear as
// well, so that it comes to two vectors of weights.

// A gaborCut holds what one scale needs for this; it never changes once made.
type gaborCut struct {
	kernels    [2][]complex128 // conjugate spectra, n × (n/2+1), at 0° and 90°
	fromRow    [2][]complex128 // Re Σ of n/2+1 elements of a row's spectrum is pixel 0, 127
	fromColumn [2][]complex128 // Σ of n elements of a column's spectrum is pixel 0, 127
}

var gaborEnds = [2]int{0, gaborSide - 1}

func newGaborCut(wavelength float64, n int) *gaborCut {
	c := new(gaborCut)
	s := newSpectral(n)
	m := n/2 + 1
	side := 2*gaborHalf(wavelength) + 1
	for i := range c.kernels {
		s.forward(cutKernel(wavelength, i == 1), side)
		c.kernels[i] = make([]complex128, n*m)
		for v := range n {
			for u, z := range s.image[v*n:][:m] {
				c.kernels[i][v*m+u] = complex(real(z), -imag(z))
			}
		}
	}

	// The weights are the answers to units.
	for e := range gaborEnds {
		c.fromRow[e], c.fromColumn[e] = make([]complex128, m), make([]complex128, n)
	}
	unit, a, b := make([]complex128, m), make([]float64, n), make([]float64, n)
	for u := range m {
		unit[u] = 1
		s.inverseRow(unit, a)
		unit[u] = 1i
		s.inverseRow(unit, b)
		unit[u] = 0
		for e, x := range gaborEnds {
			c.fromRow[e][u] = complex(a[x], -b[x])
		}
	}
	for v := range n {
		clear(s.full.x)
		s.full.x[fftLanes*v] = 1
		out := s.full.run()
		for e, y := range gaborEnds {
			c.fromColumn[e][v] = out[fftLanes*y]
		}
	}
	return c
}

// cutKernel is the imaginary part of a kernel as OpenCV computes it, a cosine
// that starts a quarter turn late: its zeros are not quite, nor are its halves
// quite opposite.
func cutKernel(wavelength float64, upright bool) []float64 {
	half := gaborHalf(wavelength)
	sin, cos := 0.0, 1.0
	if upright {
		sin, cos = 1, 6.123233995736766e-17
	}
	sigma := wavelength / 2
	across, along := sigma, sigma/gaborAspect
	var kernel []float64
	for dy := half; dy >= -half; dy-- {
		for dx := half; dx >= -half; dx-- {
			x := float64(float64(dx)*cos) + float64(float64(dy)*sin)
			y := float64(-float64(dx)*sin) + float64(float64(dy)*cos)
			envelope := math.Exp(float64(-0.5/(across*across)*x*x) + float64(-0.5/(along*along)*y*y))
			kernel = append(kernel, envelope*math.Cos(float64(2*math.Pi/wavelength*x)+math.Pi/2))
		}
	}
	return kernel
}

// columns writes what should be zero for columns 0 and 127 at 0°, but for a
// positive factor.
func (c *gaborCut) columns(s *spectral, out *[2][gaborSide]float64) {
	n, m := s.n, s.n/2+1
	x := s.full.x
	clear(x)
	first, last := c.fromRow[0][:m], c.fromRow[1][:m]
	for v := range n {
		image, kernel := s.image[v*n:][:m], c.kernels[0][v*m:][:m]
		var p, q complex128
		for u := range image {
			z := image[u] * kernel[u]
			p += z * first[u]
			q += z * last[u]
		}
		x[fftLanes*v], x[fftLanes*v+1] = p, q
	}
	z := s.full.run()
	for y := range gaborSide {
		out[0][y], out[1][y] = real(z[fftLanes*y]), real(z[fftLanes*y+1])
	}
}

// rows does the same for rows 0 and 127 at 90°.
func (c *gaborCut) rows(s *spectral, out *[2][gaborSide]float64) {
	n, m := s.n, s.n/2+1
	first, last := s.rows[:m], s.rows[m:][:m] // free between two filters
	clear(first)
	clear(last)
	for v := range n {
		image, kernel := s.image[v*n:][:m], c.kernels[1][v*m:][:m]
		p, q := c.fromColumn[0][v], c.fromColumn[1][v]
		for u := range image {
			z := image[u] * kernel[u]
			first[u] += z * p
			last[u] += z * q
		}
	}
	row := make([]float64, n)
	for e, spectrum := range [2][]complex128{first, last} {
		s.inverseRow(spectrum, row)
		copy(out[e][:], row)
	}
}

// settle moves the responses on the cut that belong to an orientation's
// outermost lines just off it, to the side that OpenCV's rounding takes.
func (s *gaborSpace) settle(c *gaborCut, f *spectral, orientation int) {
	next, between := gaborSide, gaborSide-1 // down the columns
	switch orientation {
	case 0:
		c.columns(f, &s.cut)
	case 2:
		c.rows(f, &s.cut)
		next, between = 1, (gaborSide-1)*gaborSide
	default:
		return
	}
	for e := range s.cut {
		for i, side := range s.cut[e] {
			at := e*between + i*next
			if s.re[at] <= -gaborNoise && math.Abs(s.im[at]) < gaborNoise {
				s.im[at] = math.Copysign(2*gaborNoise, side)
			}
		}
	}
}
