package feature

import (
	"math"
	"math/cmplx"
)

const (
	fftSide  = 192 // = 4·4·4·3
	fftLanes = 4   // transforms that run side by side
)

// An fft computes Σ x[j]·e^{+2πi·jk/n}, n = fftSide, for fftLanes sequences at once, with
// element j of lane l at index j·fftLanes + l. So each twiddle factor is loaded once for
// all lanes, and the columns of a matrix need no transposition.
//
// It uses decimation in time in Stockham's form: each pass goes from one buffer to the
// other, and nothing is permuted. (C. Van Loan, "Computational Frameworks for the Fast
// Fourier Transform", 1992, section 1.7.)
type fft struct {
	passes [4]fftPass
	x, y   []complex128 // fftSide·fftLanes each
}

type fftPass struct {
	radix, done, stride int          // earlier radices multiply to done; inputs are a stride apart
	twiddles            []complex128 // radix−1 for each of done
}

func newFFT() *fft {
	f := &fft{x: make([]complex128, fftSide*fftLanes), y: make([]complex128, fftSide*fftLanes)}
	done := 1
	for i, radix := range [4]int{4, 4, 4, 3} {
		p := fftPass{radix: radix, done: done, stride: fftSide / (done * radix) * fftLanes}
		for k := range done {
			for q := 1; q < radix; q++ {
				p.twiddles = append(p.twiddles, cmplx.Rect(1, 2*math.Pi*float64(k*q)/float64(done*radix)))
			}
		}
		f.passes[i] = p
		done *= radix
	}
	return f
}

// run transforms the contents of f.x and returns the result's buffer.
func (f *fft) run() []complex128 {
	for i := range f.passes {
		if p := &f.passes[i]; p.radix == 4 {
			p.pass4(f.x, f.y)
		} else {
			p.pass3(f.x, f.y)
		}
		f.x, f.y = f.y, f.x
	}
	return f.x
}

// turn multiplies by i.
func turn(c complex128) complex128 { return complex(-imag(c), real(c)) }

func scaled(c complex128, f float64) complex128 { return complex(real(c)*f, imag(c)*f) }

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
	for k := range p.done {
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

// rows transforms the first `filled` rows of a square matrix in place, fftLanes rows at a time.
func (f *fft) rows(matrix []complex128, filled int) {
	const n = fftSide
	for ; filled > 0; filled -= fftLanes {
		r0, r1, r2, r3 := matrix[:n], matrix[n:][:n], matrix[2*n:][:n], matrix[3*n:][:n]
		for x := range r0 {
			lanes := f.x[fftLanes*x:][:fftLanes]
			lanes[0], lanes[1], lanes[2], lanes[3] = r0[x], r1[x], r2[x], r3[x]
		}
		out := f.run()
		for x := range r0 {
			lanes := out[fftLanes*x:][:fftLanes]
			r0[x], r1[x], r2[x], r3[x] = lanes[0], lanes[1], lanes[2], lanes[3]
		}
		matrix = matrix[fftLanes*n:]
	}
}

// columns transforms all columns of a square matrix in place.
func (f *fft) columns(matrix []complex128) {
	const n = fftSide
	for u := 0; u < n; u += fftLanes {
		for v := range n {
			copy(f.x[fftLanes*v:][:fftLanes], matrix[v*n+u:][:fftLanes])
		}
		out := f.run()
		for v := range n {
			copy(matrix[v*n+u:][:fftLanes], out[fftLanes*v:][:fftLanes])
		}
	}
}
