package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// VPMULLQ multiplies eight words modulo 2⁶⁴ in three operations, and the
// addition is a fourth. Two ports execute them in two cycles. The last words
// are loaded under a mask, which reads nothing beyond the slice.

func (k kernels) avx512() {
	k.dot512()
	k.axpy512()
	k.axpyRows512()
	k.sum512()
	k.sumFour512()
	k.rows512()
	k.quarters512()
	k.four512()
	k.lanes512()
	k.tile512("tile8AVX512", 1)
	k.tile512("tile16AVX512", 2)
}

func (k kernels) zeros(n int) []reg.VecVirtual {
	out := make([]reg.VecVirtual, n)
	for i := range out {
		out[i] = k.ZMM()
		k.VPXORQ(out[i], out[i], out[i])
	}
	return out
}

func (k kernels) tailMask(n reg.GPVirtual) reg.Register {
	mask, tail, one := k.K(), k.Part(n, 7, 0), k.GP64()
	k.MOVQ(U32(1), one)
	k.SHLXQ(tail, one, one)
	k.DECQ(one)
	k.KMOVW(one.As32(), mask)
	return mask
}

// fold returns the sum of all lanes of acc in the lowest lane of a register.
func (k kernels) fold(acc []reg.VecVirtual) reg.Register {
	for n := len(acc); n > 1; n = (n + 1) / 2 {
		for i := range n / 2 {
			k.VPADDQ(acc[n-1-i], acc[i], acc[i])
		}
	}
	z, y := acc[0], k.YMM()
	k.VEXTRACTI64X4(Imm(1), z, y)
	k.VPADDQ(y, z.AsY(), y)
	return k.foldY(y)
}

func (k kernels) foldY(y reg.VecVirtual) reg.Register {
	x := k.XMM()
	k.VEXTRACTI128(Imm(1), y, x)
	k.VPADDQ(x, y.AsX(), x)
	high := k.XMM()
	k.VPSRLDQ(Imm(8), x, high)
	k.VPADDQ(high, x, x)
	return x
}

// product512 emits Σ a[i]·b[i] over n words. It advances the pointers a and b.
func (k kernels) product512(label string, acc []reg.VecVirtual, a, b, n reg.GPVirtual, mask reg.Register) {
	step := func(i int) {
		z := k.ZMM()
		k.VMOVDQU64(at(b, 64*i), z)
		k.VPMULLQ(at(a, 64*i), z, z)
		k.VPADDQ(z, acc[i], acc[i])
	}
	k.Count(label+"_32", k.Part(n, 0, 5), func() {
		for i := range acc {
			step(i)
		}
		k.Advance(256, a, b)
	})
	k.Count(label+"_8", k.Part(n, 31, 3), func() {
		step(0)
		k.Advance(64, a, b)
	})
	x, y := k.ZMM(), k.ZMM()
	k.VMOVDQU64_Z(at(a, 0), mask, x)
	k.VMOVDQU64_Z(at(b, 0), mask, y)
	k.VPMULLQ(y, x, x)
	k.VPADDQ(x, acc[1], acc[1])
}

func (k kernels) dot512() {
	p := k.Begin("dotAVX512", "func(a, b *uint64, n int) uint64", "computes Dot of n words.", "a", "b", "n")
	acc := k.zeros(4)
	k.product512("dot", acc, p[0], p[1], p[2], k.tailMask(p[2]))
	sum := k.GP64()
	k.VMOVQ(k.fold(acc), sum)
	k.Store(sum, k.ReturnIndex(0))
	k.End()
}

func (k kernels) axpy512() {
	k.Begin("axpyAVX512", "func(alpha uint64, x, y *uint64, n int)", "computes Axpy of n words.")
	alpha := k.ZMM()
	k.VPBROADCASTQ(k.Params("alpha")[0], alpha)
	p := k.Params("x", "y", "n")
	x, y, n := p[0], p[1], p[2]
	mask := k.tailMask(n)
	step := func(off int) {
		z := k.ZMM()
		k.VPMULLQ(at(x, off), alpha, z)
		k.VPADDQ(at(y, off), z, z)
		k.VMOVDQU64(z, at(y, off))
	}
	k.Count("axpy_32", k.Part(n, 0, 5), func() {
		for i := range 4 {
			step(64 * i)
		}
		k.Advance(256, x, y)
	})
	k.Count("axpy_8", k.Part(n, 31, 3), func() {
		step(0)
		k.Advance(64, x, y)
	})
	zx, zy := k.ZMM(), k.ZMM()
	k.VMOVDQU64_Z(at(x, 0), mask, zx)
	k.VMOVDQU64_Z(at(y, 0), mask, zy)
	k.VPMULLQ(zx, alpha, zx)
	k.VPADDQ(zx, zy, zy)
	k.VMOVDQU64(zy, mask, at(y, 0))
	k.End()
}

// axpyRows512 reads and writes y once for four rows and prefetches as much data
// as it reads.
func (k kernels) axpyRows512() {
	k.Begin("axpyRowsAVX512", "func(alpha *[4]uint64, r0, r1, r2, r3, y *uint64, n int, ahead uintptr)",
		"computes AxpyRows of n words.")
	from := k.Params("alpha")[0]
	alpha := make([]reg.VecVirtual, 4)
	for q := range alpha {
		alpha[q] = k.ZMM()
		k.VPBROADCASTQ(at(from, 8*q), alpha[q])
	}
	r := k.Params("r0", "r1", "r2", "r3")
	p := k.Params("y", "n", "ahead")
	y, n, ahead := p[0], p[1], p[2]
	k.Count("axpy_rows", k.Part(n, 0, 3), func() {
		sum := k.ZMM()
		k.VMOVDQU64(at(y, 0), sum)
		for q := range r {
			z := k.ZMM()
			k.PREFETCHT1(at(ahead, 64*q))
			k.VPMULLQ(at(r[q], 0), alpha[q], z)
			k.VPADDQ(z, sum, sum)
		}
		k.VMOVDQU64(sum, at(y, 0))
		k.Advance(64, append(r, y)...)
		k.Advance(256, ahead)
	})
	mask, sum := k.tailMask(n), k.ZMM()
	k.VMOVDQU64_Z(at(y, 0), mask, sum)
	for q := range r {
		z := k.ZMM()
		k.VMOVDQU64_Z(at(r[q], 0), mask, z)
		k.VPMULLQ(alpha[q], z, z)
		k.VPADDQ(z, sum, sum)
	}
	k.VMOVDQU64(sum, mask, at(y, 0))
	k.End()
}

// Reading several pages at once uses more memory bandwidth than one at a time.
const streams, page = 8, 4096

func (k kernels) sum512() {
	p := k.Begin("sumAVX512", "func(x *uint64, n int) uint64", "computes Sum of n words, eight pages side by side.", "x", "n")
	x, n := p[0], p[1]
	mask := k.tailMask(n)
	acc := k.zeros(2 * streams)
	k.Count("pages", k.Part(n, 0, 12), func() { // 2¹² words are eight pages
		lines := k.GP64()
		k.MOVQ(U32(page/128), lines)
		k.Count("line", lines, func() {
			for s := range streams {
				k.VPADDQ(at(x, page*s), acc[s], acc[s])
				k.VPADDQ(at(x, page*s+64), acc[streams+s], acc[streams+s])
			}
			k.Advance(128, x)
		})
		k.Advance((streams-1)*page, x)
	})
	k.Count("sum_8", k.Part(n, streams*page/8-1, 3), func() {
		k.VPADDQ(at(x, 0), acc[0], acc[0])
		k.Advance(64, x)
	})
	z, sum := k.ZMM(), k.GP64()
	k.VMOVDQU64_Z(at(x, 0), mask, z)
	k.VPADDQ(z, acc[1], acc[1])
	k.VMOVQ(k.fold(acc), sum)
	k.Store(sum, k.ReturnIndex(0))
	k.End()
}

// sumFour512 reads memory in the order of quarters512.
func (k kernels) sumFour512() {
	p := k.Begin("sumFourAVX512", "func(x *uint64, n int) uint64", "computes Sum of 4·n words, n from each quarter at once. n is a multiple of 16.", "x", "n")
	n, r, acc := p[1], []reg.GPVirtual{p[0], k.GP64(), k.GP64(), k.GP64()}, k.zeros(8)
	for q := 1; q < len(r); q++ {
		k.LEAQ(Mem{Base: r[q-1], Index: n, Scale: 8}, r[q])
	}
	k.Count("sum_four", k.Part(n, 0, 4), func() {
		for q := range r {
			for i := range 2 {
				k.PREFETCHT0(at(r[q], 64*i+quartersAhead))
				k.VPADDQ(at(r[q], 64*i), acc[2*q+i], acc[2*q+i])
			}
		}
		k.Advance(128, r...)
	})
	sum := k.GP64()
	k.VMOVQ(k.fold(acc), sum)
	k.Store(sum, k.ReturnIndex(0))
	k.End()
}

// fourRows emits the inner products of four rows and x, advances the pointers
// x, r and `more`, and stores the products at `out`. For the first `early`
// words, if any, it prefetches the rows themselves, gatherAhead bytes ahead. For
// the others it calls `prefetch`.
func (k kernels) fourRows(label string, r []reg.GPVirtual, x, n, early reg.GPVirtual, mask reg.Register, acc []reg.VecVirtual,
	prefetch func(q, off int), out func(q int) Mem, more ...reg.GPVirtual) {
	moving := append(append([]reg.GPVirtual{x}, r...), more...)
	step := func(off int, acc []reg.VecVirtual, prefetch func(q, off int)) {
		z := k.ZMM()
		k.VMOVDQU64(at(x, off), z)
		for q := range r {
			y := k.ZMM()
			prefetch(q, off)
			k.VPMULLQ(at(r[q], off), z, y)
			k.VPADDQ(y, acc[q], acc[q])
		}
	}
	if early != nil {
		k.Count(label+"_early", k.Part(early, 0, 4), func() {
			near := func(q, off int) { k.PREFETCHT1(at(r[q], off+gatherAhead)) }
			step(0, acc[:4], near)
			step(64, acc[4:], near)
			k.Advance(128, append([]reg.GPVirtual{x}, r...)...)
		})
		k.SUBQ(early, n)
	}
	k.Count(label+"_16", k.Part(n, 0, 4), func() {
		step(0, acc[:4], prefetch)
		step(64, acc[4:], prefetch)
		k.Advance(128, moving...)
	})
	k.Count(label+"_8", k.Part(n, 15, 3), func() {
		step(0, acc[:4], prefetch)
		k.Advance(64, moving...)
	})
	z := k.ZMM()
	k.VMOVDQU64_Z(at(x, 0), mask, z)
	for q := range r {
		y := k.ZMM()
		k.VMOVDQU64_Z(at(r[q], 0), mask, y)
		k.VPMULLQ(z, y, y)
		k.VPADDQ(y, acc[q], acc[q])
		k.VMOVQ(k.fold([]reg.VecVirtual{acc[q], acc[4+q]}), out(q))
	}
}

func (k kernels) rows512() {
	p := k.Begin("rowsAVX512", "func(dst *uint64, rows int, matrix, x *uint64, n int)",
		"computes Rows for rows of n words, one by one.", "dst", "rows", "matrix", "n")
	dst, rows, a, n := p[0], p[1], p[2], p[3]
	mask := k.tailMask(n)
	k.Count("row", rows, func() {
		x, acc := k.Params("x")[0], k.zeros(4)
		k.product512("rows", acc, a, x, n, mask)
		k.LEAQ(Mem{Base: a, Index: k.Part(n, 7, 0), Scale: 8}, a)
		k.VMOVQ(k.fold(acc), at(dst, 0))
		k.Advance(8, dst)
	})
	k.End()
}

const quartersAhead = 2048

// quarters512 multiplies one row from each quarter of the matrix at a time, as
// four memory streams, and loads x once for all.
func (k kernels) quarters512() {
	p := k.Begin("quartersAVX512", "func(dst *uint64, rows int, matrix, x *uint64, n int)",
		"computes Rows for 4·rows rows of n words, one from each quarter at once.", "dst", "rows", "matrix", "n")
	dst, rows, a, n := p[0], p[1], p[2], p[3]
	mask := k.tailMask(n)
	gap := k.GP64()
	k.MOVQ(rows, gap)
	k.IMULQ(n, gap)
	k.SHLQ(Imm(3), gap)
	to := []reg.GPVirtual{dst, k.GP64(), k.GP64(), k.GP64()}
	r := []reg.GPVirtual{a, k.GP64(), k.GP64(), k.GP64()}
	for q := 1; q < len(r); q++ {
		k.LEAQ(Mem{Base: r[q-1], Index: gap, Scale: 1}, r[q])
		k.LEAQ(Mem{Base: to[q-1], Index: rows, Scale: 8}, to[q])
	}
	k.Count("quarter", rows, func() {
		x, acc := k.Params("x")[0], k.zeros(8)
		k.fourRows("quarter", r, x, n, nil, mask, acc, func(q, off int) { k.PREFETCHT0(at(r[q], off+quartersAhead)) },
			func(q int) Mem { return at(to[q], 0) })
		tail := k.Part(n, 7, 0)
		for q := range r {
			k.LEAQ(Mem{Base: r[q], Index: tail, Scale: 8}, r[q])
		}
		k.Advance(8, to...)
	})
	k.End()
}

const gatherAhead = 2048

// four512 prefetches into the L2 cache, because four rows of profile "paper"
// exceed the L1 cache. Rows then arrive about a third faster.
func (k kernels) four512() {
	k.Begin("fourAVX512", "func(dst *[4]uint64, r0, r1, r2, r3, x *uint64, n, early int, a0, a1, a2, a3 uintptr)",
		"computes Gather for four rows of n words. After the first early words it prefetches four others.")
	p, r, ahead := k.Params("x", "n"), k.Params("r0", "r1", "r2", "r3"), k.Params("a0", "a1", "a2", "a3")
	x, n := p[0], p[1]
	dst, early := k.Params("dst")[0], k.Params("early")[0]
	k.fourRows("four", r, x, n, early, k.tailMask(n), k.zeros(8), func(q, off int) { k.PREFETCHT1(at(ahead[q], off)) },
		func(q int) Mem { return at(dst, 8*q) }, ahead...)
	k.End()
}
