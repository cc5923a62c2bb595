package modp

import "math/bits"

// The arithmetic in plain Go: it defines every kernel, and runs where no vector instructions are
// known.

// lazy is the number of products of two numbers below Q that fit in 128 bits: Q² < 2¹²⁰.
const lazy = 256

// dotPlain is Dot for any number of words. Sums are kept in 128 bits and reduced once per 256
// products.
func dotPlain(a, b []uint64) (sum uint64) {
	for len(a) > lazy {
		sum = Add(sum, reduce(dotLazy(a[:lazy], b[:lazy])))
		a, b = a[lazy:], b[lazy:]
	}
	return Add(sum, reduce(dotLazy(a, b)))
}

// dotLazy returns Σ a[i]·b[i] for at most lazy elements. Multiplications are the bottleneck:
// unrolled four times they take about 1.7 cycles each, and a second pair of sums would only cost
// registers.
func dotLazy(a, b []uint64) (hi, lo uint64) {
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

// rowsPlain is Rows for rows of n words.
func rowsPlain(dst [][Streams]uint64, matrices *[Streams][]uint64, x []uint64, n int) {
	for k := range dst {
		from, to := k*n, (k+1)*n
		dst[k] = fourPlain(matrices[0][from:to], matrices[1][from:to], matrices[2][from:to], matrices[3][from:to], x[from:to])
	}
}

// fourPlain is dotPlain for four vectors and one b. It reads from four places in memory at once,
// which hides most of the latency at the start of each page: from memory it is nearly twice as
// fast as four calls of dotPlain.
func fourPlain(a0, a1, a2, a3, b []uint64) (sum [Streams]uint64) {
	for len(b) > 0 {
		n := min(lazy, len(b))
		y, x0, x1, x2, x3 := b[:n], a0[:n], a1[:n], a2[:n], a3[:n]
		var h, l, c, h0, h1, h2, h3, l0, l1, l2, l3 uint64
		for i, y := range y {
			h, l = bits.Mul64(x0[i], y)
			l0, c = bits.Add64(l0, l, 0)
			h0, _ = bits.Add64(h0, h, c)
			h, l = bits.Mul64(x1[i], y)
			l1, c = bits.Add64(l1, l, 0)
			h1, _ = bits.Add64(h1, h, c)
			h, l = bits.Mul64(x2[i], y)
			l2, c = bits.Add64(l2, l, 0)
			h2, _ = bits.Add64(h2, h, c)
			h, l = bits.Mul64(x3[i], y)
			l3, c = bits.Add64(l3, l, 0)
			h3, _ = bits.Add64(h3, h, c)
		}
		for q, s := range [Streams]uint64{reduce(h0, l0), reduce(h1, l1), reduce(h2, l2), reduce(h3, l3)} {
			sum[q] = Add(sum[q], s)
		}
		b, a0, a1, a2, a3 = b[n:], a0[n:], a1[n:], a2[n:], a3[n:]
	}
	return sum
}

// Columns sets sum[k] to the Dot of columns k of a and b. Both matrices have at most 256 rows and
// len(sum) columns, a multiple of four.
func Columns(sum, a, b []uint64) {
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
		sum[k], sum[k+1] = reduce(h0, l0), reduce(h1, l1)
		sum[k+2], sum[k+3] = reduce(h2, l2), reduce(h3, l3)
	}
}
