package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// AVX2 multiplies only 32-bit numbers. With a = a₀ + 2²⁴·a₁ and b = b₀ +
// 2²⁴·b₁, three products suffice (Karatsuba):
//
//	a₀b₁ + a₁b₀ = (a₀+a₁)(b₀+b₁) − a₀b₀ − a₁b₁
//
// No product exceeds 50 bits, so sums of 2,048 fit in a word. VPMULUDQ ignores
// upper halves of lanes, so that a lane can hold both halves of a word.

func (k kernels) avx2() {
	k.foursAVX2()
	k.tileAVX2(1)
	k.tileAVX2(2)
	k.closeTileAVX2()
	k.cutAVX2()
	k.fieldsAVX2()
	k.floatsAVX2()
	k.levelAVX2()
	k.reduceAVX2()
	k.productsAVX2()
}

func (k kernels) foursAVX2() {
	p := k.Begin("foursAVX2", "func(c *[89]uint64, dst *[4]uint64, rows int, r0, r1, r2, r3 *byte, x *uint64, blocks int)",
		"is Rows for rows of blocks·16 words.", "c", "dst", "rows", "x", "blocks")
	c, dst, rows, x, blocks := p[0], p[1], p[2], p[3], p[4]
	r := k.Params("r0", "r1", "r2", "r3")
	halves := k.YMM()
	k.VMOVDQU(at(c, atHalves), halves)
	k.Count("row", rows, func() {
		first := k.twosAVX2("first", c, k.Part(x, 0, 0), blocks, halves, r[:2])
		s := k.twosAVX2("second", c, x, blocks, halves, r[2:])
		for w := range s {
			s[w] = k.joinAVX2(first[w], s[w])
		}
		k.VMOVDQU(k.closeAVX2(k.load(c), s), at(dst, 0))
		k.Advance(32, dst)
	})
	k.End()
}

// twosAVX2 returns the sums of a row of two matrices, in two lanes for each. It
// advances x and the rows. For four matrices at once, operand and constants
// would not fit in registers, and loads would take longer than products.
func (k kernels) twosAVX2(label string, c, x, blocks reg.GPVirtual, halves reg.VecVirtual, r []reg.GPVirtual) (s [3]reg.VecVirtual) {
	var acc [2][3]reg.VecVirtual
	for q := range acc {
		for w := range acc[q] {
			acc[q][w] = k.YMM()
			k.VPXOR(acc[q][w], acc[q][w], acc[q][w])
		}
	}
	k.Count(label, k.Part(blocks, 0, 0), func() {
		for i := range 4 {
			low, high, both := k.YMM(), k.YMM(), k.YMM()
			k.VMOVDQU(at(x, 32*i), low)
			k.VPSRLQ(Imm(32), low, high)
			k.VPADDQ(low, high, both)
			for q := range r {
				if i%2 == 0 {
					k.PREFETCHT0(at(r[q], 24*i+rowsAhead))
				}
				word := k.fourWords(r[q], i)
				if i < 3 {
					k.VPSHUFB(halves, word, word)
				} else {
					k.VPSHUFB(at(c, atHalves+32), word, word)
				}
				k.fmaAVX2(acc[q], word, low, high, both)
			}
		}
		k.Advance(blockBytes, r...)
		k.Advance(8*block, x)
	})
	for w := range s {
		s[w] = k.foldTwoAVX2(acc[0][w], acc[1][w])
	}
	return s
}

// fourWords loads the four words i of a block, two into each half. The last
// read begins four bytes early.
func (k kernels) fourWords(row reg.GPVirtual, i int) reg.VecVirtual {
	v := k.YMM()
	k.VBROADCASTI128(at(row, 24*i), v)
	k.VINSERTI128(Imm(1), at(row, min(24*i+12, blockBytes-16)), v, v)
	return v
}

// fmaAVX2 adds the products of the words a with b₀, b₁ and b₀+b₁ to s, and
// overwrites a. The halves of a word are in the halves of a lane.
func (k kernels) fmaAVX2(s [3]reg.VecVirtual, a, low, high, both reg.VecVirtual) {
	upper, product := k.YMM(), k.YMM()
	k.VPSRLQ(Imm(32), a, upper)
	k.VPMULUDQ(low, a, product)
	k.VPADDQ(product, s[0], s[0])
	k.VPMULUDQ(high, upper, product)
	k.VPADDQ(product, s[2], s[2])
	k.VPADDQ(upper, a, a)
	k.VPMULUDQ(both, a, a)
	k.VPADDQ(a, s[1], s[1])
}

// closeAVX2 reduces the sums s of four rows modulo q, where 2^bits = q +
// excess. With
//
//	s₀ + 2²⁴·(s₁ − s₀ − s₂) + 2⁴⁸·s₂ = l + 2^bits·(h₀ + 2³²·h₁)
//
// the result is l + h₀·excess + 2³²·h₁·excess. The last term exceeds 2^bits
// again. Without s₁, there is no middle term.
func (k kernels) closeAVX2(constant func(off int) reg.VecVirtual, s [3]reg.VecVirtual) reg.VecVirtual {
	l, t, h := k.YMM(), k.YMM(), s[2]
	mask, excess := constant(atMask), constant(atExcess)
	right := func(off int, v reg.VecVirtual) reg.VecVirtual {
		out := k.YMM()
		k.VPSRLVQ(constant(off), v, out)
		return out
	}
	if s[1] != nil {
		k.VPSUBQ(s[0], s[1], s[1])
		k.VPSUBQ(s[2], s[1], s[1])
	}
	k.VPSLLVQ(constant(atUpper), h, h)
	k.add(h, right(atBits, s[0]))
	k.VPAND(mask, s[0], l)
	if s[1] != nil {
		k.add(h, right(atMiddle, s[1]))
		k.VPAND(constant(atMiddleMask), s[1], t)
		k.VPSLLQ(Imm(24), t, t)
		k.add(l, t)
	}
	k.VPMULUDQ(excess, h, t)
	k.add(l, t)
	k.VPSRLQ(Imm(32), h, h)
	k.VPMULUDQ(excess, h, h)
	k.VPAND(constant(atTopMask), h, t)
	k.VPSLLQ(Imm(32), t, t)
	k.add(l, t)
	k.VPMULUDQ(excess, right(atTop, h), t)
	k.add(l, t)
	k.VPMULUDQ(excess, right(atBits, l), t)
	k.VPAND(mask, l, l)
	k.add(l, t)
	q, below := constant(atQ), k.YMM()
	k.VPCMPGTQ(l, q, below) // q > l
	k.VPANDN(q, below, below)
	k.VPSUBQ(below, l, l)
	return l
}

// load returns a function that broadcasts constants when they are needed.
func (k kernels) load(c reg.GPVirtual) func(off int) reg.VecVirtual {
	return func(off int) reg.VecVirtual { return k.constant(c, off, k.YMM()) }
}

// foldTwoAVX2 adds pairs of lanes of two registers. joinAVX2 combines two
// results of foldTwoAVX2.
func (k kernels) foldTwoAVX2(a, b reg.VecVirtual) reg.VecVirtual {
	even, odd := k.YMM(), k.YMM()
	k.VPUNPCKLQDQ(b, a, even)
	k.VPUNPCKHQDQ(b, a, odd)
	k.VPADDQ(odd, even, even)
	return even
}

func (k kernels) joinAVX2(first, second reg.VecVirtual) reg.VecVirtual {
	x, y := k.YMM(), k.YMM()
	k.VPERM2I128(Imm(0x20), second, first, x)
	k.VPERM2I128(Imm(0x31), second, first, y)
	k.VPADDQ(x, y, y)
	return y
}
