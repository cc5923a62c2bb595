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
	k.tileAVX2()
	k.cutAVX2()
	k.fieldsAVX2()
	k.floatsAVX2()
	k.levelAVX2()
	k.reduceAVX2()
	k.productsAVX2()
}

func (k kernels) foursAVX2() {
	p := k.Begin("foursAVX2", "func(c *[91]uint64, dst *[4]uint64, rows int, r0, r1, r2, r3 *byte, x *uint64, blocks int)",
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

// A tile multiplies words as float64, whose fused multiplication gives the
// exact error of a sum. The lanes of high begin at 1.5·2¹⁰⁰, and each product
// is below 2⁹⁵, so that sixteen of them keep high between 2¹⁰⁰ and 2¹⁰¹. There,
// with
//
//	new high = high + a·b rounded to a multiple of 2⁴⁸
//	low      = low + (a·b − (new high − high))
//
// both differences are exact. A difference adds at most 2⁴⁷ to low, which
// begins at 1.5·2⁵² and stays below 2⁵³. After sixteen products, the bits of
// high and low are therefore their starts plus integers, which are summed as
// integers.
//
// A product takes two multiplications and two additions, which processors with
// two units for each execute in one cycle. The three multiplications of
// Karatsuba's method would take one and a half.

// Rows of tileAVX2 are in units of three, because each product of a row and
// four requests needs two of the sixteen registers. tileColumns is the number
// of vectors of four requests in a group.
const tileColumns, three = 2, 3

// atLow is the offset of the low sums.
const tileRowsAVX2, atLow = 12, 12 * 128

// tileAVX2 multiplies up to twelve rows by groups of eight interleaved
// requests. Room holds sixteen unpacked words of each row.
func (k kernels) tileAVX2() {
	// Counts and the stride stay in memory, because a kernel has no stack frame
	// in which to save the last register.
	p := k.Begin("tileAVX2", "func(c *[91]uint64, dst *[12][16]uint64, sums *[2][12][16]uint64, room *[12][16]uint64, rows, ahead *[12]*byte, threes, from int, x *uint64, groups, stride, blocks int)",
		"multiplies threes·3 rows of blocks·16 words, beginning at byte from, by groups of 8 requests, stride bytes apart.", "c", "sums", "room", "from", "x", "blocks")
	c, sums, room, from, x, blocks := p[0], p[1], p[2], p[3], p[4], p[5]
	k.Count("tile_block", blocks, func() {
		k.unpackAVX2(c, room, from)
		group, start := k.Part(x, 0, 0), k.Part(sums, 0, 0)
		k.Count("tile_group", k.Params("groups")[0], func() {
			row, sum := k.Part(room, 0, 0), k.Part(start, 0, 0)
			k.Count("tile_three", k.Params("threes")[0], func() {
				k.sixteenAVX2(c, sum, row, group)
				k.Advance(128*three, sum)
				k.Advance(128*(three-1), row)
			})
			k.Advance(64, start)
			k.ADDQ(k.Address("stride"), group)
		})
		k.Advance(blockBytes, from)
		k.Advance(16*64, x)
	})
	dst, count := k.Params("dst")[0], k.GP64()
	k.MOVQ(U32(tileRowsAVX2*4), count)
	k.Count("tile_close", count, func() {
		s := [3]reg.VecVirtual{k.YMM(), k.YMM(), k.YMM()}
		k.VMOVDQU(at(sums, atLow), s[0])
		k.VMOVDQU(at(sums, 0), s[2])
		k.VPADDQ(s[0], s[2], s[1]) // no middle term
		k.VMOVDQU(k.closeAVX2(c, s), at(dst, 0))
		k.Advance(32, sums, dst)
	})
	k.End()
}

// unpackAVX2 converts sixteen words of each row to float64.
func (k kernels) unpackAVX2(c, room, from reg.GPVirtual) {
	places, whole, zero := [2]reg.VecVirtual{k.YMM(), k.YMM()}, k.YMM(), k.float(c, atFloat52)
	k.VMOVDQU(at(c, atPlaces), places[0])
	k.VMOVDQU(at(c, atPlaces+32), places[1])
	k.VMOVDQU(at(c, atWhole), whole)
	p, to, count := k.Params("rows", "ahead"), k.Part(room, 0, 0), k.GP64()
	rows, ahead := p[0], p[1]
	k.MOVQ(U32(tileRowsAVX2), count)
	k.Count("tile_unpack", count, func() {
		row, next := k.GP64(), k.GP64()
		k.MOVQ(at(rows, 0), row)
		k.ADDQ(from, row)
		for i, off := range [...]int{0, 24, 48, 64} {
			v := k.YMM()
			k.VPERMD(at(row, off), places[i/3], v)
			k.VPSHUFB(whole, v, v)
			k.VPOR(zero, v, v)
			k.VSUBPD(zero, v, v)
			k.VMOVUPD(v, at(to, 32*i))
		}
		k.MOVQ(at(ahead, 0), next)
		k.ADDQ(from, next)
		k.PREFETCHT1(at(next, 0))
		k.PREFETCHT1(at(next, 48))
		k.Advance(8, rows, ahead)
		k.Advance(128, to)
	})
}

// sixteenAVX2 adds the products of sixteen words of three rows and eight
// requests to sums. It advances row by these words.
func (k kernels) sixteenAVX2(c, sums, row, group reg.GPVirtual) {
	var acc [three][tileColumns][2]reg.VecVirtual // high and low
	for q := range acc {
		for g := range acc[q] {
			acc[q][g] = [2]reg.VecVirtual{k.float(c, atStarts), k.float(c, atStarts+8)}
		}
	}
	b, words := k.Part(group, 0, 0), k.GP64()
	k.MOVQ(U32(16), words)
	k.Count("tile_word", words, func() {
		var y [tileColumns]reg.VecVirtual
		for g := range y {
			y[g] = k.YMM()
			k.VMOVUPD(at(b, 32*g), y[g])
		}
		for q := range acc {
			x := k.float(row, 128*q)
			for g, s := range acc[q] {
				low := k.YMM()
				k.VMOVAPD(s[0], low)
				k.VFMADD231PD(y[g], x, s[0])
				k.VSUBPD(s[0], low, low)
				k.VFMADD231PD(y[g], x, low)
				k.VADDPD(low, s[1], s[1])
			}
		}
		k.Advance(8, row)
		k.Advance(64, b)
	})
	for q := range acc {
		for g := range acc[q] {
			for part, s := range acc[q][g] {
				m := at(sums, atLow*part+128*q+32*g)
				k.VPADDQ(m, s, s)
				k.VMOVDQU(s, m)
			}
		}
	}
}
