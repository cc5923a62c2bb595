package feature

// gaborSpectrum is the transfer function of a kernel without the mean of its
// real part, for a transform of n×n, divided by n² so that no pass over the
// result has to. Entry v·n + u is for u turns along x and v along y.
//
// The kernel k is conjugate-symmetric about its centre, k(−d) = conj k(d), so
// the transfer function of the correlation, Σ k(d)·e^{iω·d}, is real.
func gaborSpectrum(wavelength float64, orientation, half, n int) []float64 {
	kernel := make([]complex128, n*n)
	mean := 0.0
	for dy := -half; dy <= half; dy++ {
		for dx := -half; dx <= half; dx++ {
			re, _ := gaborKernel(wavelength, orientation, dx, dy)
			mean += re
		}
	}
	taps := 2*half + 1
	mean /= float64(taps * taps)
	for dy := -half; dy <= half; dy++ {
		for dx := -half; dx <= half; dx++ {
			re, im := gaborKernel(wavelength, orientation, dx, dy)
			kernel[(dy+n)%n*n+(dx+n)%n] = complex(re-mean, im)
		}
	}
	f := newFFT(n)
	for y := 0; y < n; y += fftLanes {
		f.runRows(kernel[y*n:])
	}
	for u := 0; u < n; u += fftLanes {
		f.runColumns(kernel, u, n)
	}
	spectrum := make([]float64, n*n)
	for i, c := range kernel {
		spectrum[i] = real(c) / float64(n*n)
	}
	return spectrum
}

// runRows transforms the first fftLanes rows of n elements in place.
func (f *fft) runRows(rows []complex128) {
	n := f.n
	r0, r1, r2, r3 := rows[:n], rows[n:][:n], rows[2*n:][:n], rows[3*n:][:n]
	for x := range r0 {
		lanes := f.x[fftLanes*x:][:fftLanes]
		lanes[0], lanes[1], lanes[2], lanes[3] = r0[x], r1[x], r2[x], r3[x]
	}
	out := f.run()
	for x := range r0 {
		lanes := out[fftLanes*x:][:fftLanes]
		r0[x], r1[x], r2[x], r3[x] = lanes[0], lanes[1], lanes[2], lanes[3]
	}
}

// runColumns transforms columns u … u+fftLanes−1 of a matrix of n columns in
// place; rows from `filled` on are zero on entry.
func (f *fft) runColumns(matrix []complex128, u, filled int) {
	n := f.n
	for v := range filled {
		copy(f.x[fftLanes*v:][:fftLanes], matrix[v*n+u:][:fftLanes])
	}
	clear(f.x[fftLanes*filled:])
	out := f.run()
	for v := range n {
		copy(matrix[v*n+u:][:fftLanes], out[fftLanes*v:][:fftLanes])
	}
}

// spectral is the workspace for filtering in the frequency domain.
type spectral struct {
	n     int
	fft   *fft
	image []complex128 // n×n: the spectrum of the padded image
	rows  []complex128 // 128×n: filtered, back from the y direction
}

func newSpectral(n int) *spectral {
	return &spectral{n: n, fft: newFFT(n), image: make([]complex128, n*n), rows: make([]complex128, gaborSide*n)}
}

// forward transforms a real stride×stride image, zeros beyond it. Of a real
// image e^{+iω} gives the conjugate of what e^{−iω} gives, so one direction of
// transform is enough.
func (s *spectral) forward(img []float64, stride int) {
	n := s.n
	const reals = 2 * fftLanes // two real rows travel as one complex row
	for y := 0; y < stride; y += reals {
		clear(s.fft.x)
		for k := range reals / 2 {
			if y+2*k+1 >= stride { // stride is even
				break
			}
			a, b := img[(y+2*k)*stride:][:stride], img[(y+2*k+1)*stride:][:stride]
			for x := range a {
				s.fft.x[fftLanes*x+k] = complex(a[x], b[x])
			}
		}
		out := s.fft.run()
		for k := range reals / 2 {
			if y+2*k+1 >= stride {
				break
			}
			a, b := s.image[(y+2*k)*n:][:n], s.image[(y+2*k+1)*n:][:n]
			for u := range s.half() {
				p, q := out[fftLanes*u+k], out[fftLanes*((n-u)%n)+k]
				pr, pi, qr, qi := real(p), imag(p), real(q), -imag(q)
				a[u] = complex((pr+qr)/2, (pi+qi)/2)
				b[u] = complex((pi-qi)/2, (qr-pr)/2)
			}
		}
	}
	for u := 0; u < s.half(); u += fftLanes {
		s.fft.runColumns(s.image, u, stride)
	}
	// The conjugation, and the other half: S(−u, −v) = conj S(u, v).
	for v := range n {
		row, mirror := s.image[v*n:][:n], s.image[(n-v)%n*n:][:n]
		for u := n/2 + 1; u < n; u++ {
			row[u] = mirror[n-u]
		}
	}
	for v := range n {
		row := s.image[v*n:][:n/2+1]
		for u, c := range row {
			row[u] = complex(real(c), -imag(c))
		}
	}
}

// half is the columns that are transformed: 0 … n/2, in whole batches.
func (s *spectral) half() int { return (s.n/2 + fftLanes) / fftLanes * fftLanes }

// filter multiplies by a real spectrum and returns to the 128×128 pixels that
// begin at (margin, margin); the rest of the transform is wrapped around.
func (s *spectral) filter(spectrum []float64, margin int, re, im []float64) {
	n := s.n
	for u := 0; u < n; u += fftLanes {
		x := s.fft.x
		for v := range n {
			c, h := s.image[v*n+u:][:fftLanes], spectrum[v*n+u:][:fftLanes]
			lanes := x[fftLanes*v:][:fftLanes]
			lanes[0] = scaled(c[0], h[0])
			lanes[1] = scaled(c[1], h[1])
			lanes[2] = scaled(c[2], h[2])
			lanes[3] = scaled(c[3], h[3])
		}
		out := s.fft.run()[fftLanes*margin:]
		for y := range gaborSide {
			copy(s.rows[y*n+u:][:fftLanes], out[fftLanes*y:][:fftLanes])
		}
	}
	for y := 0; y < gaborSide; y += fftLanes {
		rows := s.rows[y*n:][:fftLanes*n]
		x := s.fft.x
		for u := range n {
			lanes := x[fftLanes*u:][:fftLanes]
			lanes[0], lanes[1], lanes[2], lanes[3] = rows[u], rows[n+u], rows[2*n+u], rows[3*n+u]
		}
		out := s.fft.run()[fftLanes*margin:]
		for k := range fftLanes {
			outRe, outIm := re[(y+k)*gaborSide:][:gaborSide], im[(y+k)*gaborSide:][:gaborSide]
			for i := range outRe {
				c := out[fftLanes*i+k]
				outRe[i], outIm[i] = real(c), imag(c)
			}
		}
	}
}
