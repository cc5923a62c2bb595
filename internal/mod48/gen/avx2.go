package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (k kernels) avx2() {
	k.foursAVX2("foursAVX2", "is Rows for rows of blocks·16 words. Each lane of the high and low sums begins at base. It adds `fixed` to the results of each row.", false)
	k.foursAVX2("innerAVX2", "is foursAVX2 for rows between other rows, of which it reads the nearest four bytes.", true)
	k.tileAVX2(1)
	k.tileAVX2(2)
	k.closeTileAVX2()
	k.requestsAVX2(false)
	k.requestsAVX2(true)
	k.packAVX2()
	k.cutAVX2()
	k.fieldsAVX2()
	k.floatsAVX2()
	k.levelAVX2()
	k.reduceAVX2()
	k.productsAVX2()
}

// Rows multiplies pairs of words as float64, like a tile (tile_avx2.go).

// foursAVX2 inserts the first and last words of rows in halves, unless they are
// inner rows.
func (k kernels) foursAVX2(name, doc string, inner bool) {
	p := k.Begin(name, "func(c *[85]uint64, dst *[4]uint64, base *[2]uint64, fixed *uint64, rows int, r0, r1, r2, r3 *byte, x *uint64, blocks int)",
		doc, "c", "dst", "fixed", "rows", "x", "blocks")
	c, dst, fixed, rows, x, blocks := p[0], p[1], p[2], p[3], p[4], p[5]
	r := k.Params("r0", "r1", "r2", "r3")
	k.Count(name+"_row", rows, func() {
		first := k.twosAVX2(name+"_first", c, k.Part(x, 0, 0), blocks, r[:2], inner)
		second := k.twosAVX2(name+"_second", c, x, blocks, r[2:], inner)
		high, low := k.joinAVX2(first[0], second[0]), k.joinAVX2(first[1], second[1])
		k.add(low, k.constant(fixed, 0, low))
		k.Advance(8, fixed)
		k.VMOVDQU(k.closeAVX2(k.load(c), [3]reg.VecVirtual{low, nil, high}), at(dst, 0))
		k.Advance(32, dst)
	})
	k.End()
}

// twosAVX2 returns the high and low sums of a row of two matrices, in two lanes
// for each. It advances x and the rows. For four matrices at once, the sums
// would not fit in registers.
func (k kernels) twosAVX2(label string, c, x, blocks reg.GPVirtual, r []reg.GPVirtual, inner bool) (s [2]reg.VecVirtual) {
	var sums [2][2]reg.VecVirtual
	base := k.Params("base")[0]
	for q := range sums {
		for w := range sums[q] {
			sums[q][w] = k.constant(base, 8*w, k.YMM())
		}
	}
	zero, middle := k.float(c, atFloat52), k.YMM()
	k.VMOVDQU(at(c, atWhole+32), middle)
	// Chunks have four blocks, except the first.
	chunks, some := k.Part(blocks, 0, 0), k.Part(blocks, 0, 0)
	k.ADDQ(Imm(3), chunks)
	k.SHRQ(Imm(2), chunks)
	k.DECQ(some)
	k.ANDQ(Imm(3), some)
	k.INCQ(some)
	k.Count(label+"_chunk", chunks, func() {
		var acc [2][2]reg.VecVirtual
		for q := range acc {
			acc[q] = [2]reg.VecVirtual{k.float(c, atStarts), k.float(c, atStarts+8)}
		}
		k.Count(label, some, func() {
			for half := range 2 {
				for q := range r {
					var words [2]reg.VecVirtual
					for j := range words {
						i, word := 2*half+j, k.YMM()
						if inner || i == 1 || i == 2 {
							k.VMOVDQU(at(r[q], 24*i-4), word)
							k.VPSHUFB(middle, word, word)
						} else { // stay within the row
							k.VBROADCASTI128(at(r[q], 24*i), word)
							k.VINSERTI128(Imm(1), at(r[q], 24*i+12-4*(i/3)), word, word)
							k.VPSHUFB(at(c, atWhole+64*(i/3)), word, word)
						}
						k.VPOR(zero, word, word)
						k.VADDPD(at(x, 32*(2*half+1-j)), word, word)
						words[j] = word
					}
					k.PREFETCHT0(at(r[q], 48*half+rowsAhead))
					k.factorsAVX2(words[0], words[1], acc[q][0], acc[q][1])
				}
			}
			k.Advance(blockBytes, r...)
			k.Advance(8*block, x)
		})
		k.MOVQ(U32(4), some)
		for q := range acc {
			for w, v := range acc[q] {
				k.VPADDQ(v, sums[q][w], sums[q][w])
			}
		}
	})
	for w := range s {
		s[w] = k.foldTwoAVX2(sums[0][w], sums[1][w])
	}
	return s
}

// factorsAVX2 adds u·v to a sum and overwrites u.
func (k kernels) factorsAVX2(u, v, high, low reg.VecVirtual) {
	old := k.YMM()
	k.VMOVAPD(high, old)
	k.VFMADD231PD(v, u, high)
	k.VSUBPD(high, old, old)
	k.VFMADD213PD(old, v, u)
	k.VADDPD(u, low, low)
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
	k.lessModulusAVX2(constant(atQ), l)
	return l
}

// lessModulusAVX2 subtracts q from words of at least q.
func (k kernels) lessModulusAVX2(q, words reg.VecVirtual) {
	below := k.YMM()
	k.VPCMPGTQ(words, q, below) // q > words
	k.VPANDN(q, below, below)
	k.VPSUBQ(below, words, words)
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
