package fourier

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
