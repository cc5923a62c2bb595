package lattice

import (
	"math/bits"

	"github.com/tuneinsight/lattigo/v6/ring"
)

// Dot returns Σ a[i]·b[i] mod Q for i < len(a). All elements must be below Q.
// The owner uses it, and tests compare the cloud's kernels with it.
//
// Sums of 128 bits are reduced once they are full.
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

// reduce returns hi·2⁶⁴ + lo modulo Q, by Montgomery reduction and a factor
// that cancels 2⁻⁶⁴.
func (t *plan) reduce(hi, lo uint64) uint64 {
	q := t.Modulus
	h, _ := bits.Mul64(lo*t.MRedConstant, q)
	x := ring.CRed(ring.BRedAdd(hi, q, t.BRedConstant)+q-h, q)
	return ring.MRed(x, t.square, q, t.MRedConstant)
}

// dot returns Σ a[i]·b[i] for at most lazy elements. Multiplication is the
// bottleneck: unrolled four times, each takes about 1.7 cycles.
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

// DotRows writes the Dot of each pair of rows of a and b into sum with the
// mod48 kernels.
func (r *Ring) DotRows(sum, a, b []uint64) { r.tables().kernels.Products(sum, a, b) }
