package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels for AVX2, which multiplies half words, four at once: a = a₀ + 2³⁰·a₁, and likewise b.
//
//	a·b = a₀b₀ + 2³⁰·(a₀b₁ + a₁b₀) + 2⁶⁰·a₁b₁
//
// Sixteen products and a remainder below 2³² fit in a word. So after eight steps of four words
// what is above 32 bits of each sum goes to another, which is kept in memory.

func avx2(k kernels) {
	k.foursAVX2()
}

const (
	blockSteps = 8
	// In room there are the halves of a block's words of x, then the upper parts of sums.
	upperAt = 64 * blockSteps
)

func (k kernels) foursAVX2() {
	k.Begin("foursAVX2", "func(dst *[4]uint64, rows int, r0, r1, r2, r3, x *uint64, n int, room *[112]uint64)",
		"foursAVX2 is Rows for rows of n words, a multiple of 8.")
	p := k.Params("dst", "rows", "x", "n", "room")
	dst, rows, x, n, room := p[0], p[1], p[2], p[3], p[4]
	r := k.Params("r0", "r1", "r2", "r3")
	mask := k.constant(1<<30-1, k.YMM())
	acc := make([][3]reg.VecVirtual, len(r))
	for q := range acc {
		acc[q] = [3]reg.VecVirtual{k.YMM(), k.YMM(), k.YMM()}
	}
	upper := func(q, w int) Mem { return at(room, upperAt+32*(3*q+w)) }
	block := func(label string, steps func() reg.GPVirtual) {
		k.splitAVX2(label, x, room, mask, steps())
		half := k.GP64()
		k.MOVQ(room, half)
		k.Count(label+"_step", steps(), func() {
			for q := range r {
				k.PREFETCHT0(at(r[q], rowsAhead))
				k.fmaAVX2(acc[q], at(r[q], 0), at(half, 0), at(half, 32), mask)
			}
			k.Advance(32, r...)
			k.Advance(64, half)
		})
		for q := range r {
			for w, v := range acc[q] {
				high := k.right(v, 32)
				k.VPADDQ(upper(q, w), high, high)
				k.VMOVDQU(high, upper(q, w))
				k.VPSLLQ(Imm(32), v, v)
				k.VPSRLQ(Imm(32), v, v)
			}
		}
	}
	k.Count("row", rows, func() {
		for q := range r {
			for w, v := range acc[q] {
				k.VPXOR(v, v, v)
				k.VMOVDQU(v, upper(q, w))
			}
		}
		k.Count("fours_32", k.Part(n, 0, 5), func() {
			block("whole", func() reg.GPVirtual {
				steps := k.GP64()
				k.MOVQ(U32(blockSteps), steps)
				return steps
			})
		})
		block("part", func() reg.GPVirtual { return k.Part(n, 4*blockSteps-1, 2) })
		k.VMOVDQU(k.closeAVX2(acc, upper), at(dst, 0))
		k.Advance(32, dst)
	})
	k.VZEROUPPER()
	k.RET()
}

// splitAVX2 writes the halves of some words of x into room, and advances x.
func (k kernels) splitAVX2(label string, x, room reg.GPVirtual, mask reg.VecVirtual, steps reg.GPVirtual) {
	to := k.GP64()
	k.MOVQ(room, to)
	k.Count(label+"_split", steps, func() {
		word, low := k.YMM(), k.YMM()
		k.VMOVDQU(at(x, 0), word)
		k.VPAND(mask, word, low)
		k.VMOVDQU(low, at(to, 0))
		k.VPSRLQ(Imm(30), word, word)
		k.VMOVDQU(word, at(to, 32))
		k.Advance(32, x)
		k.Advance(64, to)
	})
}

// fmaAVX2 adds the product of the words at m and those of these halves.
func (k kernels) fmaAVX2(s [3]reg.VecVirtual, m, low, high Mem, mask reg.VecVirtual) {
	word, half, product := k.YMM(), k.YMM(), k.YMM()
	k.VMOVDQU(m, word)
	k.VPAND(mask, word, half)
	k.VPSRLQ(Imm(30), word, word)
	k.VPMULUDQ(low, half, product)
	k.VPADDQ(product, s[0], s[0])
	k.VPMULUDQ(high, half, half)
	k.VPADDQ(half, s[1], s[1])
	k.VPMULUDQ(low, word, product)
	k.VPADDQ(product, s[1], s[1])
	k.VPMULUDQ(high, word, word)
	k.VPADDQ(word, s[2], s[2])
}

// closeAVX2 returns four rows' sums modulo Q. The sums have weight 1, 2³⁰ and 2⁶⁰, their upper
// parts 2³² times that. With all lanes, sums are below 2³⁴ and upper parts below 2⁴².
func (k kernels) closeAVX2(acc [][3]reg.VecVirtual, upper func(q, w int) Mem) reg.VecVirtual {
	var s, u [3]reg.VecVirtual
	for w := range s {
		s[w] = k.foldFourAVX2(acc[0][w], acc[1][w], acc[2][w], acc[3][w])
	}
	for w := range u {
		var v [4]reg.VecVirtual
		for q := range v {
			v[q] = k.YMM()
			k.VMOVDQU(upper(q, w), v[q])
		}
		u[w] = k.foldFourAVX2(v[0], v[1], v[2], v[3])
	}
	l, h := s[0], s[2]
	k.add(l, k.low(u[0], 28), k.low(s[1], 30))
	k.add(h, k.right(u[0], 28), k.right(s[1], 30), k.left(u[1], 2), k.low(u[2], 28))
	beyond := k.right(u[2], 28) // of weight 2¹²⁰
	k.add(h, k.left(beyond, 14))
	k.VPSUBQ(beyond, h, h)
	k.reduce(l, h)
	q, above := k.constant(modulus, l), k.YMM()
	k.VPCMPGTQ(k.constant(modulus-1, l), l, above)
	k.VPAND(q, above, above)
	k.VPSUBQ(above, l, l)
	return l
}

// foldFourAVX2 is foldFour.
func (k kernels) foldFourAVX2(a, b, c, d reg.VecVirtual) reg.VecVirtual {
	pair := func(a, b reg.VecVirtual) reg.VecVirtual {
		even, odd := k.YMM(), k.YMM()
		k.VPUNPCKLQDQ(b, a, even)
		k.VPUNPCKHQDQ(b, a, odd)
		k.VPADDQ(odd, even, even)
		return even
	}
	first, second := pair(a, b), pair(c, d)
	x, y := k.YMM(), k.YMM()
	k.VPERM2I128(Imm(0x20), second, first, x)
	k.VPERM2I128(Imm(0x31), second, first, y)
	k.VPADDQ(x, y, y)
	return y
}
