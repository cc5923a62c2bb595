package lattice

import (
	"math/bits"

	"github.com/tuneinsight/lattigo/v6/ring"
)

// lazy is the number of products of two numbers below Q that fit in 128 bits: Q² < 2¹²⁰.
const lazy = 256

// Dot returns 2⁻⁶⁴·Σ a[i]·b[i] mod Q, ignoring b beyond len(a). All elements must be
// below Q. InterpolateFolded removes the factor 2⁻⁶⁴.
//
// Sums are kept in 128 bits and reduced once per 256 products.
func Dot(a, b []uint64) uint64 {
	t := tables()
	b = b[:len(a)]
	var sum uint64
	for len(a) > lazy {
		sum = Add(sum, t.reduce(dot(a[:lazy], b[:lazy])))
		a, b = a[lazy:], b[lazy:]
	}
	return Add(sum, t.reduce(dot(a, b)))
}

// reduce returns 2⁻⁶⁴·(hi·2⁶⁴ + lo) mod Q (Montgomery).
func (t *plan) reduce(hi, lo uint64) uint64 {
	h, _ := bits.Mul64(lo*t.MRedConstant, Q)
	return ring.CRed(ring.BRedAdd(hi, Q, t.BRedConstant)+Q-h, Q)
}

// dot returns Σ a[i]·b[i] for at most lazy elements. Multiplications are the bottleneck:
// unrolled eight times they take about 1.7 cycles each, and a second pair of sums would
// only cost registers.
func dot(a, b []uint64) (hi, lo uint64) {
	b = b[:len(a)]
	var h, l, c uint64
	for len(a) >= 8 {
		x, y := (*[8]uint64)(a), (*[8]uint64)(b)
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
		h, l = bits.Mul64(x[4], y[4])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(x[5], y[5])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(x[6], y[6])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(x[7], y[7])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		a, b = a[8:], b[8:]
	}
	for i, x := range a {
		h, l = bits.Mul64(x, b[i])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
	}
	return hi, lo
}

// DotFour is Dot for four vectors and one b. It reads from four places in memory at once,
// which hides most of the latency at the start of each page: from memory it is nearly
// twice as fast as four calls of Dot.
func DotFour(a *[4][]uint64, b []uint64) (sum [4]uint64) {
	t := tables()
	for at := 0; at < len(b); at += lazy {
		end := min(at+lazy, len(b))
		hi, lo := dotFour(a[0][at:end], a[1][at:end], a[2][at:end], a[3][at:end], b[at:end])
		for i := range sum {
			sum[i] = Add(sum[i], t.reduce(hi[i], lo[i]))
		}
	}
	return sum
}

// dotFour is dot for four vectors and one b, for at most lazy elements and a multiple of four.
func dotFour(a0, a1, a2, a3, b []uint64) (hi, lo [4]uint64) {
	n := len(b)
	a0, a1, a2, a3 = a0[:n], a1[:n], a2[:n], a3[:n]
	var h, l, c, h0, h1, h2, h3, l0, l1, l2, l3 uint64
	for i := 0; i <= n-4; i += 4 {
		y := (*[4]uint64)(b[i:])
		x0, x1, x2, x3 := (*[4]uint64)(a0[i:]), (*[4]uint64)(a1[i:]), (*[4]uint64)(a2[i:]), (*[4]uint64)(a3[i:])
		h, l = bits.Mul64(x0[0], y[0])
		l0, c = bits.Add64(l0, l, 0)
		h0, _ = bits.Add64(h0, h, c)
		h, l = bits.Mul64(x1[0], y[0])
		l1, c = bits.Add64(l1, l, 0)
		h1, _ = bits.Add64(h1, h, c)
		h, l = bits.Mul64(x2[0], y[0])
		l2, c = bits.Add64(l2, l, 0)
		h2, _ = bits.Add64(h2, h, c)
		h, l = bits.Mul64(x3[0], y[0])
		l3, c = bits.Add64(l3, l, 0)
		h3, _ = bits.Add64(h3, h, c)
		h, l = bits.Mul64(x0[1], y[1])
		l0, c = bits.Add64(l0, l, 0)
		h0, _ = bits.Add64(h0, h, c)
		h, l = bits.Mul64(x1[1], y[1])
		l1, c = bits.Add64(l1, l, 0)
		h1, _ = bits.Add64(h1, h, c)
		h, l = bits.Mul64(x2[1], y[1])
		l2, c = bits.Add64(l2, l, 0)
		h2, _ = bits.Add64(h2, h, c)
		h, l = bits.Mul64(x3[1], y[1])
		l3, c = bits.Add64(l3, l, 0)
		h3, _ = bits.Add64(h3, h, c)
		h, l = bits.Mul64(x0[2], y[2])
		l0, c = bits.Add64(l0, l, 0)
		h0, _ = bits.Add64(h0, h, c)
		h, l = bits.Mul64(x1[2], y[2])
		l1, c = bits.Add64(l1, l, 0)
		h1, _ = bits.Add64(h1, h, c)
		h, l = bits.Mul64(x2[2], y[2])
		l2, c = bits.Add64(l2, l, 0)
		h2, _ = bits.Add64(h2, h, c)
		h, l = bits.Mul64(x3[2], y[2])
		l3, c = bits.Add64(l3, l, 0)
		h3, _ = bits.Add64(h3, h, c)
		h, l = bits.Mul64(x0[3], y[3])
		l0, c = bits.Add64(l0, l, 0)
		h0, _ = bits.Add64(h0, h, c)
		h, l = bits.Mul64(x1[3], y[3])
		l1, c = bits.Add64(l1, l, 0)
		h1, _ = bits.Add64(h1, h, c)
		h, l = bits.Mul64(x2[3], y[3])
		l2, c = bits.Add64(l2, l, 0)
		h2, _ = bits.Add64(h2, h, c)
		h, l = bits.Mul64(x3[3], y[3])
		l3, c = bits.Add64(l3, l, 0)
		h3, _ = bits.Add64(h3, h, c)
	}
	return [4]uint64{h0, h1, h2, h3}, [4]uint64{l0, l1, l2, l3}
}

// DotColumns writes the Dot of each pair of columns of a and b into sum. Both matrices
// have at most lazy rows and len(sum) columns, a multiple of four.
func DotColumns(sum, a, b []uint64) {
	t := tables()
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
