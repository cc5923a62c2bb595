// Package fourier transforms several short sequences at once.
//
//	n values of each of 4 lanes, complex128 ─▶ FFT.Run ─▶ Σ x[j]·e^{+2πi·jk/n}, 4 lanes of n
//
// It uses decimation in time in Stockham's form: each pass reads one buffer and
// writes the other, without a permutation (C. Van Loan, "Computational
// Frameworks for the Fast Fourier Transform", 1992, section 1.7). The four
// lanes are adjacent. They share each twiddle factor, the columns of a matrix
// need no transposition, and an AVX2 register holds two lanes.
//
// pass3Plain and pass4Plain define the passes. Kernels for AVX2, which package
// gen writes, and for NEON use fused multiply-add and equal the plain passes up
// to rounding. Build tag purego leaves the assembly out.
package fourier

import (
	"fmt"
	"math"
	"math/cmplx"
)

// Lanes is the number of sequences transformed at once.
const Lanes = 4

// An FFT holds a transform of fixed length and its buffers. It must not be used
// concurrently.
type FFT struct {
	passes []pass
	x, y   []complex128
}

// A pass combines the results of earlier passes.
type pass struct {
	radix    int
	done     int          // product of the earlier radices
	stride   int          // distance between inputs
	twiddles []complex128 // radix−1 factors for each index below `done`
}

// New returns the transform whose length is the product of radices (3 or 4).
func New(radices ...int) *FFT {
	n := 1
	for _, radix := range radices {
		if radix != 3 && radix != 4 {
			panic(fmt.Sprintf("fourier: a radix of %d", radix))
		}
		n *= radix
	}
	f := &FFT{x: make([]complex128, n*Lanes), y: make([]complex128, n*Lanes)}
	done := 1
	for _, radix := range radices {
		p := pass{radix: radix, done: done, stride: n / (done * radix) * Lanes}
		for k := range done {
			for q := 1; q < radix; q++ {
				p.twiddles = append(p.twiddles, cmplx.Rect(1, 2*math.Pi*float64(k*q)/float64(done*radix)))
			}
		}
		f.passes = append(f.passes, p)
		done *= radix
	}
	return f
}

// Input returns the buffer for Run. Element j of lane l is at j·Lanes + l.
func (f *FFT) Input() []complex128 { return f.x }

// Run transforms Input and returns the result in the same layout. The result is
// valid until Input is filled again.
func (f *FFT) Run() []complex128 {
	for i := range f.passes {
		if p := &f.passes[i]; p.radix == 4 {
			pass4(p, f.x, f.y)
		} else {
			pass3(p, f.x, f.y)
		}
		f.x, f.y = f.y, f.x
	}
	return f.x
}

// ScaleLanes multiplies the first Lanes values of each row of src by factors
// and writes them to dst. Rows of src and of the factors are ld values apart.
func ScaleLanes(dst, src []complex128, by []float64, ld int) {
	rows := len(dst) / Lanes
	if rows == 0 {
		return
	}
	last := (rows-1)*ld + Lanes
	scaleLanes(dst[:rows*Lanes], src[:last], by[:last], ld)
}

// vectors selects the kernels in assembly.
var vectors = supported() != ""

// AtEachLevel activates each set of kernels that the processor supports, and
// calls f with its name. Nothing else may use the package meanwhile.
func AtEachLevel(f func(kernels string)) {
	defer func(v bool) { vectors = v }(vectors)
	vectors = false
	f("plain Go")
	if name := supported(); name != "" {
		vectors = true
		f(name)
	}
}

func turn(c complex128) complex128 { return complex(-imag(c), real(c)) }

func scaled(c complex128, f float64) complex128 { return complex(real(c)*f, imag(c)*f) }

func pass3Plain(p *pass, x, y []complex128) {
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

func pass4Plain(p *pass, x, y []complex128) {
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

func scaleLanesPlain(dst, src []complex128, by []float64, ld int) {
	for i := 0; i < len(dst); i += Lanes {
		row := i / Lanes * ld
		to, from, f := dst[i:][:Lanes], src[row:][:Lanes], by[row:][:Lanes]
		to[0], to[1] = scaled(from[0], f[0]), scaled(from[1], f[1])
		to[2], to[3] = scaled(from[2], f[2]), scaled(from[3], f[3])
	}
}
