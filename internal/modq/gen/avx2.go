package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// AVX2 multiplies only 32-bit halves of words. Modulo 2⁶⁴
//
//	a·b = a₀b₀ + 2³²·(a₁b₀ + a₀b₁)   where a = a₀ + 2³²·a₁, b = b₀ + 2³²·b₁
//
// The low and the high products are summed separately and combined once at the
// end. The last one to three words use the scalar multiplier.

func (k kernels) avx2() {
	k.dot2()
	k.axpy2()
	k.sum2()
	k.rows2()
	k.gather2()
	k.lanes2()
	k.tile2()
}

// A wide sum adds products in four lanes. Its value is lo + 2³²·hi.
type wide struct{ lo, hi reg.VecVirtual }

func (k kernels) wides(n int) []wide {
	out := make([]wide, n)
	for i := range out {
		out[i] = wide{k.YMM(), k.YMM()}
		k.VPXOR(out[i].lo, out[i].lo, out[i].lo)
		k.VPXOR(out[i].hi, out[i].hi, out[i].hi)
	}
	return out
}

func (k kernels) fma(w wide, a, b reg.VecVirtual) {
	ah, bh := k.YMM(), k.YMM()
	k.VPSRLQ(Imm(32), a, ah)
	k.VPSRLQ(Imm(32), b, bh)
	k.VPMULUDQ(b, ah, ah)
	k.VPMULUDQ(a, bh, bh)
	k.VPMULUDQ(b, a, a)
	k.VPADDQ(ah, w.hi, w.hi)
	k.VPADDQ(a, w.lo, w.lo)
	k.VPADDQ(bh, w.hi, w.hi)
}

func (k kernels) close(w wide) {
	k.VPSLLQ(Imm(32), w.hi, w.hi)
	k.VPADDQ(w.hi, w.lo, w.lo)
}

func (k kernels) load2(m Mem) reg.VecVirtual {
	y := k.YMM()
	k.VMOVDQU(m, y)
	return y
}

// product2 emits Σ a[i]·b[i] over n words into a general register. It advances
// the pointers a and b and, unless nil, `next`.
func (k kernels) product2(label string, a, b, n reg.GPVirtual, ahead func(off int), next reg.GPVirtual) reg.GPVirtual {
	moving := []reg.GPVirtual{a, b}
	if next != nil {
		moving = append(moving, next)
	}
	acc := k.wides(2)
	k.Count(label+"_16", k.Part(n, 0, 4), func() {
		for i := range 4 {
			if ahead != nil && i%2 == 0 {
				ahead(32 * i)
			}
			k.fma(acc[i%2], k.load2(at(a, 32*i)), k.load2(at(b, 32*i)))
		}
		k.Advance(128, moving...)
	})
	k.Count(label+"_4", k.Part(n, 15, 2), func() {
		if ahead != nil {
			ahead(0)
		}
		k.fma(acc[0], k.load2(at(a, 0)), k.load2(at(b, 0)))
		k.Advance(32, moving...)
	})
	k.VPADDQ(acc[1].lo, acc[0].lo, acc[0].lo)
	k.VPADDQ(acc[1].hi, acc[0].hi, acc[0].hi)
	k.close(acc[0])
	sum := k.GP64()
	k.VMOVQ(k.foldY(acc[0].lo), sum)
	k.Count(label+"_1", k.Part(n, 3, 0), func() {
		word := k.GP64()
		k.MOVQ(at(a, 0), word)
		k.IMULQ(at(b, 0), word)
		k.ADDQ(word, sum)
		k.Advance(8, a, b)
	})
	return sum
}

const sumAhead, rowsAhead = 4096, 4096

func (k kernels) dot2() {
	p := k.Begin("dotAVX2", "func(a, b *uint64, n int) uint64", "computes Dot of n words.", "a", "b", "n")
	k.Store(k.product2("dot", p[0], p[1], p[2], nil, nil), k.ReturnIndex(0))
	k.End()
}

func (k kernels) axpy2() {
	p := k.Begin("axpyAVX2", "func(alpha uint64, x, y *uint64, n int)", "computes Axpy of n words.", "alpha", "x", "y", "n")
	alpha, x, y, n := p[0], p[1], p[2], p[3]
	a, ah := k.YMM(), k.YMM()
	k.VMOVQ(alpha, a.AsX())
	k.VPBROADCASTQ(a.AsX(), a)
	k.VPSRLQ(Imm(32), a, ah)
	step := func(off int) {
		low, high, lowHigh := k.load2(at(x, off)), k.YMM(), k.YMM()
		k.VPSRLQ(Imm(32), low, high)
		k.VPMULUDQ(a, high, high)
		k.VPMULUDQ(ah, low, lowHigh)
		k.VPMULUDQ(a, low, low)
		k.VPADDQ(lowHigh, high, high)
		k.VPSLLQ(Imm(32), high, high)
		k.VPADDQ(at(y, off), low, low)
		k.VPADDQ(high, low, low)
		k.VMOVDQU(low, at(y, off))
	}
	k.Count("axpy_16", k.Part(n, 0, 4), func() {
		for i := range 4 {
			step(32 * i)
		}
		k.Advance(128, x, y)
	})
	k.Count("axpy_4", k.Part(n, 15, 2), func() {
		step(0)
		k.Advance(32, x, y)
	})
	k.VZEROUPPER()
	k.Count("axpy_1", k.Part(n, 3, 0), func() {
		word := k.GP64()
		k.MOVQ(at(x, 0), word)
		k.IMULQ(alpha, word)
		k.ADDQ(word, at(y, 0))
		k.Advance(8, x, y)
	})
	k.RET()
}

func (k kernels) sum2() {
	p := k.Begin("sumAVX2", "func(x *uint64, n int) uint64", "computes Sum of n words.", "x", "n")
	x, n := p[0], p[1]
	acc := make([]reg.VecVirtual, 8)
	for i := range acc {
		acc[i] = k.YMM()
		k.VPXOR(acc[i], acc[i], acc[i])
	}
	k.Count("sum_32", k.Part(n, 0, 5), func() {
		for i := range acc {
			if i%2 == 0 {
				k.PREFETCHT0(at(x, 32*i+sumAhead))
			}
			k.VPADDQ(at(x, 32*i), acc[i], acc[i])
		}
		k.Advance(256, x)
	})
	for i := 1; i < len(acc); i++ {
		k.VPADDQ(acc[i], acc[0], acc[0])
	}
	sum := k.GP64()
	k.VMOVQ(k.foldY(acc[0]), sum)
	k.Count("sum_1", k.Part(n, 31, 0), func() {
		k.ADDQ(at(x, 0), sum)
		k.Advance(8, x)
	})
	k.Store(sum, k.ReturnIndex(0))
	k.End()
}

func (k kernels) rows2() {
	p := k.Begin("rowsAVX2", "func(dst *uint64, rows int, matrix, x *uint64, n int)",
		"computes Rows for rows of n words. It prefetches across the ends of rows.", "dst", "rows", "matrix", "n")
	dst, rows, a, n := p[0], p[1], p[2], p[3]
	k.Count("row", rows, func() {
		sum := k.product2("rows", a, k.Params("x")[0], n, func(off int) { k.PREFETCHT0(at(a, off+rowsAhead)) }, nil)
		k.MOVQ(sum, at(dst, 0))
		k.Advance(8, dst)
	})
	k.End()
}

func (k kernels) gather2() {
	p := k.Begin("gatherAVX2", "func(row, x *uint64, n int, ahead uintptr) uint64", "computes Gather for a row of n words. It prefetches another.",
		"row", "x", "n", "ahead")
	sum := k.product2("gather", p[0], p[1], p[2], func(off int) { k.PREFETCHT1(at(p[3], off)) }, p[3])
	k.Store(sum, k.ReturnIndex(0))
	k.End()
}

func (k kernels) lanes2() {
	p := k.Begin("lanesAVX2", "func(sum *[8]uint64, row, x *uint64, n int)", "computes DotLanes of n words.", "sum", "row", "x", "n")
	sum, row, x, n := p[0], p[1], p[2], p[3]
	acc := k.wides(2)
	k.Count("lanes_1", n, func() {
		for i := range acc {
			word := k.YMM()
			k.VPBROADCASTQ(at(row, 0), word)
			k.fma(acc[i], word, k.load2(at(x, 32*i)))
		}
		k.Advance(8, row)
		k.Advance(64, x)
	})
	for i := range acc {
		k.close(acc[i])
		k.VPADDQ(at(sum, 32*i), acc[i].lo, acc[i].lo)
		k.VMOVDQU(acc[i].lo, at(sum, 32*i))
	}
	k.End()
}

// tile2 is the counterpart of tile512 for eight vectors. It takes two rows at a
// time, because AVX2 has only sixteen registers.
func (k kernels) tile2() {
	k.Begin("tile8AVX2", "func(dst *[4][8]uint64, r0, r1, r2, r3, x0 *uint64, n int, p0 *[8]uint64, ahead uintptr)",
		"computes Tile for 8 vectors.")
	for half, names := range [][]string{{"r0", "r1"}, {"r2", "r3"}} {
		label := "tile8_" + names[0]
		r, p := k.Params(names...), k.Params("x0", "n", "ahead")
		x, n, ahead := p[0], p[1], p[2]
		acc := k.wides(4) // acc[2*q+g]
		own := []reg.GPVirtual{k.GP64(), k.GP64()}
		for q := range own {
			k.XORQ(own[q], own[q])
		}
		k.Count(label, k.Part(n, 0, 1), func() {
			if half == 0 {
				k.PREFETCHT1(at(ahead, 0))
				k.Advance(64, ahead)
			}
			for q := range r {
				for g := range 2 {
					a, b := k.YMM(), k.YMM()
					k.VPBROADCASTQ(at(r[q], 0), a)
					k.VPBROADCASTQ(at(r[q], 8), b)
					k.VPADDQ(at(x, 64+32*g), a, a)
					k.VPADDQ(at(x, 32*g), b, b)
					k.fma(acc[2*q+g], a, b)
				}
				pair := k.GP64()
				k.MOVQ(at(r[q], 0), pair)
				k.IMULQ(at(r[q], 8), pair)
				k.ADDQ(pair, own[q])
			}
			k.Advance(16, r...)
			k.Advance(128, x)
		})
		k.TESTQ(U32(1), n)
		k.JZ(LabelRef(label + "_even"))
		for q := range r {
			for g := range 2 {
				a := k.YMM()
				k.VPBROADCASTQ(at(r[q], 0), a)
				k.fma(acc[2*q+g], a, k.load2(at(x, 32*g)))
			}
		}
		k.Label(label + "_even")
		ptr := k.Params("dst", "p0")
		for q := range r {
			mine := k.YMM()
			k.VMOVQ(own[q], mine.AsX())
			k.VPBROADCASTQ(mine.AsX(), mine)
			for g := range 2 {
				w := acc[2*q+g]
				k.close(w)
				k.VPSUBQ(mine, w.lo, w.lo)
				k.VPSUBQ(at(ptr[1], 32*g), w.lo, w.lo)
				k.VMOVDQU(w.lo, at(ptr[0], 64*(2*half+q)+32*g))
			}
		}
	}
	k.End()
}
