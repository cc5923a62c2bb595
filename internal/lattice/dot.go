package lattice

import (
	"math/bits"

	"github.com/tuneinsight/lattigo/v6/ring"
)

// Dot returns Σ a[i]·b[i] mod Q, ignoring b beyond len(a). All elements must be below Q. It
// is the owner's, and the reference of what the cloud computes.
//
// Sums are kept in 128 bits and reduced once they are full.
func (r *Ring) Dot(a, b []uint64) uint64 {
	t := r.tables()
	b = b[:len(a)]
	var sum uint64
	for len(a) > lazy {
		sum = r.Add(sum, t.reduce(dot(a[:lazy], b[:lazy])))
		a, b = a[lazy:], b[lazy:]
	}
	return r.Add(sum, t.reduce(dot(a, b)))
}

// reduce returns hi·2⁶⁴ + lo modulo Q (Montgomery, and a factor that undoes its 2⁻⁶⁴).
func (t *plan) reduce(hi, lo uint64) uint64 {
	q := t.Modulus
	h, _ := bits.Mul64(lo*t.MRedConstant, q)
	x := ring.CRed(ring.BRedAdd(hi, q, t.BRedConstant)+q-h, q)
	return ring.MRed(x, t.square, q, t.MRedConstant)
}

// dot returns Σ a[i]·b[i] for at most lazy elements. Multiplications are the bottleneck:
// unrolled four times they take about 1.7 cycles each, and a second pair of sums would
// only cost registers.
func dot(a, b []uint64) (hi, lo uint64) {
	b = b[:len(a)]
	var h, l, c uint64
	for len(a) >= 4 {
		x, y := (*[4]uint64)(a), (*[4]uint64)(b)
		h, l = bits.Mul64(x[0], y[0])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(x[1], y[1])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(x[2], y[2])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(x[3], y[3])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		h, l = bits.Mul64(x, b[i])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
	}
	return hi, lo
}

// DotColumns writes the Dot of each pair of columns of a and b into sum. Both matrices
// have at most lazy rows and len(sum) columns, a multiple of four.
func (r *Ring) DotColumns(sum, a, b []uint64) {
	t := r.tables()
	b = b[:len(a)]
	for k := 0; k < len(sum); k += 4 {
		var h, l, c, h0, h1, h2, h3, l0, l1, l2, l3 uint64
		for at := k; at < len(a); at += len(sum) {
			x, y := (*[4]uint64)(a[at:]), (*[4]uint64)(b[at:])
			h, l = bits.Mul64(x[0], y[0])
			l0, c = bits.Add64(l0, l, 0)
			h0, _ = bits.Add64(h0, h, c)
			h, l = bits.Mul64(x[1], y[1])
			l1, c = bits.Add64(l1, l, 0)
			h1, _ = bits.Add64(h1, h, c)
			h, l = bits.Mul64(x[2], y[2])
			l2, c = bits.Add64(l2, l, 0)
			h2, _ = bits.Add64(h2, h, c)
			h, l = bits.Mul64(x[3], y[3])
			l3, c = bits.Add64(l3, l, 0)
			h3, _ = bits.Add64(h3, h, c)
		}
		sum[k], sum[k+1] = t.reduce(h0, l0), t.reduce(h1, l1)
		sum[k+2], sum[k+3] = t.reduce(h2, l2), t.reduce(h3, l3)
	}
}
