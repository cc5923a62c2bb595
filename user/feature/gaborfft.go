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
	f := newFFT(n, newWave(n))
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
	n          int
	wave       []complex128
	full, half *fft         // of n and of n/2 elements
	image      []complex128 // n×n: the spectrum of the padded image
	rows       []complex128 // 128×n: filtered, back from the y direction
}

func newSpectral(n int) *spectral {
	wave := newWave(n)
	return &spectral{
		n: n, wave: wave,
		full: newFFT(n, wave), half: newFFT(n/2, wave),
		image: make([]complex128, n*n), rows: make([]complex128, gaborSide*n),
	}
}

// forward transforms a real stride×stride image, zeros beyond it. Of a real
// image e^{+iω} gives the conjugate of what e^{−iω} gives, so one direction of
// transform is enough.
func (s *spectral) forward(img []float64, stride int) {
	n := s.n
	for y := 0; y < stride; y += fftLanes {
		s.forwardRows(img[y*stride:], stride, min(fftLanes, stride-y), s.image[y*n:])
	}
	for u := 0; u <= n/2; u += fftLanes {
		s.full.runColumns(s.image, u, stride)
	}
	// The other half: S(−u, −v) = conj S(u, v). It holds for the lower halves of
	// columns 0 and n/2 as well, whose entries at v = 0 and n/2 are real.
	for _, u := range [2]int{0, n / 2} {
		for v := range n/2 + 1 {
			c := s.image[v*n+u]
			if v%(n/2) == 0 {
				s.image[v*n+u] = complex(real(c), 0)
				continue
			}
			s.image[(n-v)*n+u] = complex(real(c), -imag(c))
		}
	}
	for v := range n {
		row, mirror := s.image[v*n:][:n], s.image[(n-v)%n*n:][:n]
		for u := n/2 + 1; u < n; u++ {
			row[u] = mirror[n-u]
		}
	}
	// The conjugation.
	for v := range n {
		row := s.image[v*n:][:n/2+1]
		for u, c := range row {
			row[u] = complex(real(c), -imag(c))
		}
	}
}

// forwardRows transforms up to fftLanes real rows, Σ x[j]·e^{+iω·j}, to n/2+1
// elements each. A row travels as n/2 complex numbers, even elements and
// negated odd ones; what belongs to the even ones and what to the odd ones is
// told apart afterwards by their symmetry, for k and n/2−k together.
func (s *spectral) forwardRows(rows []float64, stride, count int, out []complex128) {
	n, m := s.n, s.n/2
	x := s.half.x
	clear(x)
	for lane := range count {
		row := rows[lane*stride:][:stride]
		for j := range stride / 2 {
			x[fftLanes*j+lane] = complex(row[2*j], -row[2*j+1])
		}
		if stride%2 == 1 {
			x[fftLanes*(stride/2)+lane] = complex(row[stride-1], 0)
		}
	}
	z := s.half.run()
	for lane := range count {
		dst := out[lane*n:][:m+1]
		c := z[lane]
		dst[0], dst[m] = complex(real(c)-imag(c), 0), complex(real(c)+imag(c), 0)
		for k := 1; 2*k < m; k++ {
			c, d := z[fftLanes*k+lane], z[fftLanes*(m-k)+lane]
			d = complex(real(d), -imag(d))
			even, odd := scaled(c+d, 0.5), scaled(turn(c-d), 0.5)*s.wave[k]
			dst[k] = even + odd
			even -= odd
			dst[m-k] = complex(real(even), -imag(even))
		}
		if m%2 == 0 {
			c := z[fftLanes*(m/2)+lane]
			dst[m/2] = complex(real(c), -imag(c))
		}
	}
}

// inverseRow transforms n/2+1 elements, of which the first and the last count
// as real, to n reals, Σ x[k]·e^{+iω·k} with x[n−k] = conj x[k].
func (s *spectral) inverseRow(in []complex128, out []float64) {
	m := s.n / 2
	x := s.half.x
	clear(x)
	a, b := real(in[0]), real(in[m])
	x[0] = complex(a+b, a-b)
	for k := 1; 2*k < m; k++ {
		c, d := in[k], in[m-k]
		d = complex(real(d), -imag(d))
		even, odd := c+d, turn((c-d)*s.wave[k])
		x[fftLanes*k] = even + odd
		even -= odd
		x[fftLanes*(m-k)] = complex(real(even), -imag(even))
	}
	if m%2 == 0 {
		c := in[m/2]
		x[fftLanes*(m/2)] = complex(2*real(c), -2*imag(c))
	}
	z := s.half.run()
	for j := range m {
		c := z[fftLanes*j]
		out[2*j], out[2*j+1] = real(c), imag(c)
	}
}

// filter multiplies by a real spectrum and returns to the 128×128 pixels that
// begin at (margin, margin); the rest of the transform is wrapped around.
func (s *spectral) filter(spectrum []float64, margin int, re, im []float64) {
	n := s.n
	for u := 0; u < n; u += fftLanes {
		x := s.full.x
		for v := range n {
			c, h := s.image[v*n+u:][:fftLanes], spectrum[v*n+u:][:fftLanes]
			lanes := x[fftLanes*v:][:fftLanes]
			lanes[0] = scaled(c[0], h[0])
			lanes[1] = scaled(c[1], h[1])
			lanes[2] = scaled(c[2], h[2])
			lanes[3] = scaled(c[3], h[3])
		}
		out := s.full.run()[fftLanes*margin:]
		for y := range gaborSide {
			copy(s.rows[y*n+u:][:fftLanes], out[fftLanes*y:][:fftLanes])
		}
	}
	for y := 0; y < gaborSide; y += fftLanes {
		rows := s.rows[y*n:][:fftLanes*n]
		x := s.full.x
		for u := range n {
			lanes := x[fftLanes*u:][:fftLanes]
			lanes[0], lanes[1], lanes[2], lanes[3] = rows[u], rows[n+u], rows[2*n+u], rows[3*n+u]
		}
		out := s.full.run()[fftLanes*margin:]
		for k := range fftLanes {
			outRe, outIm := re[(y+k)*gaborSide:][:gaborSide], im[(y+k)*gaborSide:][:gaborSide]
			for i := range outRe {
				c := out[fftLanes*i+k]
				outRe[i], outIm[i] = real(c), imag(c)
			}
		}
	}
}
