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
// upper halves of lanes. The operand therefore stores b₀ and b₁ of eight words
// in the halves of eight lanes, and the sums b₀+b₁ of two groups of four words
// in the halves of four more. Upper halves are loaded at an offset of four
// bytes.

func (k kernels) avx2() {
	k.foursAVX2()
	k.cutAVX2()
	k.fieldsAVX2()
	k.floatsAVX2()
	k.levelAVX2()
	k.reduceAVX2()
	k.productsAVX2()
}

func (k kernels) foursAVX2() {
	p := k.Begin("foursAVX2", "func(c *[85]uint64, dst *[4]uint64, rows int, r0, r1, r2, r3 *byte, x *uint64, blocks int)",
		"is Rows for rows of blocks·16 words.", "c", "dst", "rows", "x", "blocks")
	c, dst, rows, x, blocks := p[0], p[1], p[2], p[3], p[4]
	r := k.Params("r0", "r1", "r2", "r3")
	var acc [4][3]reg.VecVirtual
	for q := range acc {
		for w := range acc[q] {
			acc[q][w] = k.YMM()
		}
	}
	k.Count("row", rows, func() {
		for q := range acc {
			for _, v := range acc[q] {
				k.VPXOR(v, v, v)
			}
		}
		k.Count("fours", k.Part(blocks, 0, 0), func() {
			// Four words are 24 bytes. The last read of 32 bytes begins eight
			// bytes early.
			for i, off := range [...]int{0, 24, 48, 64} {
				for q := range r {
					if i%2 == 0 {
						k.PREFETCHT0(at(r[q], off+rowsAhead))
					}
					k.fmaAVX2(acc[q], at(r[q], off), at(c, atPlaces+32*(i/3)), c, func(what int) Mem {
						return at(x, 96*(i/2)+[...]int{32 * (i % 2), 64 + 4*(i%2), 32*(i%2) + 4}[what])
					})
				}
			}
			k.Advance(blockBytes, r...)
			k.Advance(2*blockBytes, x)
		})
		var s [3]reg.VecVirtual
		for w := range s {
			s[w] = k.foldFourAVX2(acc[0][w], acc[1][w], acc[2][w], acc[3][w])
		}
		k.VMOVDQU(k.closeAVX2(c, s), at(dst, 0))
		k.Advance(32, dst)
	})
	k.End()
}

// fmaAVX2 unpacks the four packed words at m with permutation `places` and adds
// their products with b₀, b₀+b₁ and b₁ to s.
func (k kernels) fmaAVX2(s [3]reg.VecVirtual, m, places Mem, c reg.GPVirtual, b func(what int) Mem) {
	word, low, product := k.YMM(), k.YMM(), k.YMM()
	k.VMOVDQU(places, product)
	k.VPERMD(m, product, word) // 12 bytes in each half
	k.VPSHUFB(at(c, atHalves), word, low)
	k.VPSHUFB(at(c, atHalves+32), word, word)
	k.VPMULUDQ(b(0), low, product)
	k.VPADDQ(product, s[0], s[0])
	k.VPADDQ(word, low, low)
	k.VPMULUDQ(b(1), low, low)
	k.VPADDQ(low, s[1], s[1])
	k.VPMULUDQ(b(2), word, word)
	k.VPADDQ(word, s[2], s[2])
}

// closeAVX2 reduces the sums s of four rows modulo q, where 2^bits = q +
// excess. With
//
//	s₀ + 2²⁴·(s₁ − s₀ − s₂) + 2⁴⁸·s₂ = l + 2^bits·(h₀ + 2³²·h₁)
//
// the result is l + h₀·excess + 2³²·h₁·excess. The last term exceeds 2^bits
// again.
func (k kernels) closeAVX2(c reg.GPVirtual, s [3]reg.VecVirtual) reg.VecVirtual {
	l, t := k.YMM(), k.YMM()
	mask, excess := k.constant(c, atMask, l), k.constant(c, atExcess, l)
	k.VPSUBQ(s[0], s[1], s[1])
	k.VPSUBQ(s[2], s[1], s[1])
	h := s[2]
	k.VPSLLVQ(k.constant(c, atUpper, l), h, h)
	k.add(h, k.right(c, atMiddle, s[1]), k.right(c, atBits, s[0]))
	k.VPAND(mask, s[0], l)
	k.VPAND(k.constant(c, atMiddleMask, l), s[1], t)
	k.VPSLLQ(Imm(24), t, t)
	k.add(l, t)
	k.VPMULUDQ(excess, h, t)
	k.add(l, t)
	k.VPSRLQ(Imm(32), h, h)
	k.VPMULUDQ(excess, h, h)
	k.VPAND(k.constant(c, atTopMask, l), h, t)
	k.VPSLLQ(Imm(32), t, t)
	k.add(l, t)
	k.VPMULUDQ(excess, k.right(c, atTop, h), t)
	k.add(l, t)
	k.VPMULUDQ(excess, k.right(c, atBits, l), t)
	k.VPAND(mask, l, l)
	k.add(l, t)
	q, below := k.constant(c, atQ, l), k.YMM()
	k.VPCMPGTQ(l, q, below) // q > l
	k.VPANDN(q, below, below)
	k.VPSUBQ(below, l, l)
	return l
}

func (k kernels) foldFourAVX2(a, b, c, d reg.VecVirtual) reg.VecVirtual {
	return k.joinAVX2(k.foldTwoAVX2(a, b), k.foldTwoAVX2(c, d))
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
