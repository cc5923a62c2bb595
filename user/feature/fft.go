package feature

import (
	"math"
	"math/cmplx"
)

// fftLanes transforms run side by side, so that a twiddle factor is loaded once
// for all of them and columns of a row-major matrix need no transposing.
const fftLanes = 4

// An fft computes Σ x[j]·e^{+2πi·jk/n} for fftLanes sequences at once, element
// j of lane l at index j·fftLanes + l. Stockham's autosort form: each pass goes
// from one buffer to the other and nothing is ever permuted. (C. Van Loan,
// "Computational Frameworks for the Fast Fourier Transform", 1992, section 1.7.)
type fft struct {
	n      int
	passes []fftPass
	x, y   []complex128 // n·fftLanes each
}

type fftPass struct {
	radix, m, stride int          // radix·m elements are left, stride apart
	twiddles         []complex128 // radix−1 for each of m
}

// newFFT plans a transform of n = 2^a·3^b·5^c elements.
func newFFT(n int) *fft {
	f := &fft{n: n, x: make([]complex128, n*fftLanes), y: make([]complex128, n*fftLanes)}
	for left, stride := n, fftLanes; left > 1; {
		radix := 0
		for _, r := range [4]int{4, 2, 3, 5} {
			if left%r == 0 {
				radix = r
				break
			}
		}
		if radix == 0 {
			panic("feature: no plan for a transform of this length")
		}
		p := fftPass{radix: radix, m: left / radix, stride: stride}
		for j := range p.m {
			for k := 1; k < radix; k++ {
				p.twiddles = append(p.twiddles, cmplx.Rect(1, 2*math.Pi*float64(j*k)/float64(left)))
			}
		}
		f.passes = append(f.passes, p)
		left, stride = p.m, stride*radix
	}
	return f
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
	for j := range p.m {
		w1 := p.twiddles[j]
		a, b := x[s*j:][:s], x[s*(j+p.m):][:s]
		ya, yb := y[2*s*j:][:s], y[2*s*j+s:][:s]
		for q := range a {
			a0, b0 := a[q], b[q]
			ya[q] = a0 + b0
			yb[q] = (a0 - b0) * w1
		}
	}
}

func (p *fftPass) pass3(x, y []complex128) {
	s := p.stride
	const sin60 = 0.86602540378443864676
	for j := range p.m {
		w1, w2 := p.twiddles[2*j], p.twiddles[2*j+1]
		a, b, c := x[s*j:][:s], x[s*(j+p.m):][:s], x[s*(j+2*p.m):][:s]
		ya, yb, yc := y[3*s*j:][:s], y[3*s*j+s:][:s], y[3*s*j+2*s:][:s]
		for q := range a {
			a0, b0, c0 := a[q], b[q], c[q]
			sum := b0 + c0
			mid := a0 - scaled(sum, 0.5)
			side := scaled(turn(b0-c0), sin60)
			ya[q] = a0 + sum
			yb[q] = (mid + side) * w1
			yc[q] = (mid - side) * w2
		}
	}
}

func (p *fftPass) pass4(x, y []complex128) {
	s := p.stride
	for j := range p.m {
		w1, w2, w3 := p.twiddles[3*j], p.twiddles[3*j+1], p.twiddles[3*j+2]
		a, b := x[s*j:][:s], x[s*(j+p.m):][:s]
		c, d := x[s*(j+2*p.m):][:s], x[s*(j+3*p.m):][:s]
		ya, yb := y[4*s*j:][:s], y[4*s*j+s:][:s]
		yc, yd := y[4*s*j+2*s:][:s], y[4*s*j+3*s:][:s]
		for q := range a {
			a0, b0, c0, d0 := a[q], b[q], c[q], d[q]
			even, odd := a0+c0, b0+d0
			diff, side := a0-c0, turn(b0-d0)
			ya[q] = even + odd
			yb[q] = (diff + side) * w1
			yc[q] = (even - odd) * w2
			yd[q] = (diff - side) * w3
		}
	}
}

func (p *fftPass) pass5(x, y []complex128) {
	s := p.stride
	const (
		cos72, sin72   = 0.30901699437494742410, 0.95105651629515357212
		cos144, sin144 = -0.80901699437494742410, 0.58778525229247312917
	)
	for j := range p.m {
		w := p.twiddles[4*j:][:4]
		a, b, c := x[s*j:][:s], x[s*(j+p.m):][:s], x[s*(j+2*p.m):][:s]
		d, e := x[s*(j+3*p.m):][:s], x[s*(j+4*p.m):][:s]
		out := y[5*s*j:][:5*s]
		for q := range a {
			a0 := a[q]
			be, cd := b[q]+e[q], c[q]+d[q]
			sbe, scd := turn(b[q]-e[q]), turn(c[q]-d[q])
			m1 := a0 + scaled(be, cos72) + scaled(cd, cos144)
			m2 := a0 + scaled(be, cos144) + scaled(cd, cos72)
			n1 := scaled(sbe, sin72) + scaled(scd, sin144)
			n2 := scaled(sbe, sin144) - scaled(scd, sin72)
			out[q] = a0 + be + cd
			out[s+q] = (m1 + n1) * w[0]
			out[2*s+q] = (m2 + n2) * w[1]
			out[3*s+q] = (m2 - n2) * w[2]
			out[4*s+q] = (m1 - n1) * w[3]
		}
	}
}
