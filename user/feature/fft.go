package feature

import "math"

// fftLanes transforms run side by side, so that a twiddle factor is loaded once
// for all of them and columns of a row-major matrix need no transposing.
const fftLanes = 4

// An fft computes Σ x[j]·e^{+2πi·jk/n} for fftLanes sequences at once, element
// j of lane l at index j·fftLanes + l. It decimates in time, in Stockham's
// autosort form: each pass goes from one buffer to the other and nothing is
// ever permuted. (C. Van Loan, "Computational Frameworks for the Fast Fourier
// Transform", 1992, section 1.7.)
//
// The order of the radices and the rounding errors of the twiddle factors are
// those of OpenCV's transform, see gaborcut.go for why. Wherever else the
// result is used, the errors, of 1e-14, mean nothing.
type fft struct {
	n      int
	passes []fftPass
	x, y   []complex128 // n·fftLanes each
}

type fftPass struct {
	radix, done, stride int          // radices done multiply to done; stride is between inputs
	twiddles            []complex128 // radix−1 for each of done
}

// newFFT plans a transform of n = 2^a·3^b·5^c elements with the powers of
// e^{2πi/len(wave)}, a multiple of n.
func newFFT(n int, wave []complex128) *fft {
	f := &fft{n: n, x: make([]complex128, n*fftLanes), y: make([]complex128, n*fftLanes)}
	for done := 1; done < n; {
		radix := 0
		for _, r := range [4]int{4, 2, 5, 3} {
			if n/done%r == 0 {
				radix = r
				break
			}
		}
		if radix == 0 {
			panic("feature: no plan for a transform of this length")
		}
		p := fftPass{radix: radix, done: done, stride: n / (done * radix) * fftLanes}
		step := len(wave) / (done * radix)
		for k := range done {
			for q := 1; q < radix; q++ {
				p.twiddles = append(p.twiddles, wave[k*q*step])
			}
		}
		f.passes = append(f.passes, p)
		done *= radix
	}
	return f
}

// newWave returns e^{2πi·k/n} for k < n, wrong by what repeated multiplication
// in float64 leaves, up to 1e-14, in the way OpenCV's table is wrong. The
// conversions keep the compiler from fusing a product into a sum, which some
// architectures would, with other errors.
func newWave(n int) []complex128 {
	wave := make([]complex128, n)
	wave[0] = 1
	sin := math.Sin(2 * math.Pi / float64(n))
	switch n { // every architecture must have the same last bit of these
	case 144:
		sin = 0.043619387365336
	case 160:
		sin = 0.03925981575906861
	case 180:
		sin = 0.03489949670250097
	}
	cos := math.Sqrt(1 - float64(sin*sin))
	re, im := cos, sin
	for k := 1; 2*k < n; k++ {
		wave[k], wave[n-k] = complex(re, im), complex(re, -im)
		re, im = float64(re*cos)-float64(im*sin), float64(re*sin)+float64(im*cos)
	}
	if n%2 == 0 {
		wave[n/2] = -1
	}
	return wave
}

// run transforms what is in f.x and returns where the result is.
func (f *fft) run() []complex128 {
	for i := range f.passes {
		p := &f.passes[i]
		switch p.radix {
		case 2:
			p.pass2(f.x, f.y)
		case 3:
			p.pass3(f.x, f.y)
		case 4:
			p.pass4(f.x, f.y)
		case 5:
			p.pass5(f.x, f.y)
		}
		f.x, f.y = f.y, f.x
	}
	return f.x
}

// turn multiplies by i.
func turn(c complex128) complex128 { return complex(-imag(c), real(c)) }

func scaled(c complex128, f float64) complex128 { return complex(real(c)*f, imag(c)*f) }

func (p *fftPass) pass2(x, y []complex128) {
	s := p.stride
	for k := range p.done {
		w1 := p.twiddles[k]
		a, b := x[2*s*k:][:s], x[2*s*k+s:][:s]
		ya, yb := y[s*k:][:s], y[s*(k+p.done):][:s]
		for q := range a {
			a0, b0 := a[q], b[q]*w1
			ya[q] = a0 + b0
			yb[q] = a0 - b0
		}
	}
}

func (p *fftPass) pass3(x, y []complex128) {
	s := p.stride
	const sin60 = 0.86602540378443864676
	for k := range p.done {
		w1, w2 := p.twiddles[2*k], p.twiddles[2*k+1]
		a, b, c := x[3*s*k:][:s], x[3*s*k+s:][:s], x[3*s*k+2*s:][:s]
		ya, yb, yc := y[s*k:][:s], y[s*(k+p.done):][:s], y[s*(k+2*p.done):][:s]
		for q := range a {
			a0, b0, c0 := a[q], b[q]*w1, c[q]*w2
			sum := b0 + c0
			mid := a0 - scaled(sum, 0.5)
			side := scaled(turn(b0-c0), sin60)
			ya[q] = a0 + sum
			yb[q] = mid + side
			yc[q] = mid - side
		}
	}
}

func (p *fftPass) pass4(x, y []complex128) {
	s := p.stride
	p.pass4Untwiddled(x, y)
	for k := 1; k < p.done; k++ {
		w1, w2, w3 := p.twiddles[3*k], p.twiddles[3*k+1], p.twiddles[3*k+2]
		a, b := x[4*s*k:][:s], x[4*s*k+s:][:s]
		c, d := x[4*s*k+2*s:][:s], x[4*s*k+3*s:][:s]
		ya, yb := y[s*k:][:s], y[s*(k+p.done):][:s]
		yc, yd := y[s*(k+2*p.done):][:s], y[s*(k+3*p.done):][:s]
		for q := range a {
			a0, b0, c0, d0 := a[q], b[q]*w1, c[q]*w2, d[q]*w3
			even, odd := a0+c0, b0+d0
			diff, side := a0-c0, turn(b0-d0)
			ya[q] = even + odd
			yb[q] = diff + side
			yc[q] = even - odd
			yd[q] = diff - side
		}
	}
}

// pass4Untwiddled is pass4 for k = 0, whose factors are all 1: the whole of a
// first pass, a quarter of the second.
func (p *fftPass) pass4Untwiddled(x, y []complex128) {
	s := p.stride
	a, b, c, d := x[:s], x[s:][:s], x[2*s:][:s], x[3*s:][:s]
	ya, yb := y[:s], y[s*p.done:][:s]
	yc, yd := y[2*s*p.done:][:s], y[3*s*p.done:][:s]
	for q := range a {
		a0, b0, c0, d0 := a[q], b[q], c[q], d[q]
		even, odd := a0+c0, b0+d0
		diff, side := a0-c0, turn(b0-d0)
		ya[q] = even + odd
		yb[q] = diff + side
		yc[q] = even - odd
		yd[q] = diff - side
	}
}

func (p *fftPass) pass5(x, y []complex128) {
	s := p.stride
	const (
		sin72  = 0.95105651629515357212
		larger = 1.53884176858762670129 // sin 72° + sin 144°
		less   = 0.36327126400268044295 // sin 72° − sin 144°
		root   = 0.55901699437494742410 // √5/4
	)
	for k := range p.done {
		w := p.twiddles[4*k:][:4]
		in := x[5*s*k:][:5*s]
		ya, yb := y[s*k:][:s], y[s*(k+p.done):][:s]
		yc, yd, ye := y[s*(k+2*p.done):][:s], y[s*(k+3*p.done):][:s], y[s*(k+4*p.done):][:s]
		for q := range ya {
			a0, b0, c0, d0, e0 := in[q], in[s+q]*w[0], in[2*s+q]*w[1], in[3*s+q]*w[2], in[4*s+q]*w[3]
			be, cd := b0+e0, c0+d0
			sbe, scd := turn(b0-e0), turn(c0-d0)
			sum := be + cd
			mid, across := a0-scaled(sum, 0.25), scaled(be-cd, root)
			m1, m2 := mid+across, mid-across
			side := scaled(sbe-scd, sin72)
			n1 := side + scaled(scd, larger)
			n2 := side - scaled(sbe, less)
			ya[q] = a0 + sum
			yb[q] = m1 + n1
			yc[q] = m2 + n2
			yd[q] = m2 - n2
			ye[q] = m1 - n1
		}
	}
}
