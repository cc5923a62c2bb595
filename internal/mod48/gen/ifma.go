package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// These kernels use AVX-512 with IFMA and VBMI. VPERMB unpacks words. VPMADD52
// adds the low 52 bits of eight products to one sum and the high bits to
// another. Sums of up to 2,048 products do not overflow, even over eight lanes.

func (k kernels) ifma() {
	k.foursIFMA()
	k.tileIFMA("tile8IFMA", 1)
	k.tileIFMA("tile16IFMA", 2)
	k.cutIFMA()
	k.fieldsIFMA()
	k.levelIFMA()
	k.reduceIFMA()
	k.productsIFMA()
}

// A sum of products is low + 2⁵²·high.
type sum struct{ low, high reg.VecVirtual }

func (k kernels) sums(n int) []sum {
	out := make([]sum, n)
	for i := range out {
		out[i] = sum{k.ZMM(), k.ZMM()}
	}
	k.clear(out)
	return out
}

func (k kernels) clear(sums []sum) {
	for _, s := range sums {
		k.VPXORQ(s.low, s.low, s.low)
		k.VPXORQ(s.high, s.high, s.high)
	}
}

func (k kernels) fma(s sum, a, b reg.VecVirtual) {
	k.VPMADD52LUQ(a, b, s.low)
	k.VPMADD52HUQ(a, b, s.high)
}

// A spreader unpacks sixteen words into two registers. It reads the first 64
// and the last 64 of their 96 bytes.
type spreader struct {
	words [2]reg.VecVirtual
	mask  reg.Register
}

func (k kernels) spreader(c reg.GPVirtual) (s spreader) {
	bytes := k.GP64()
	k.MOVQ(U64(0x3f3f3f3f3f3f3f3f), bytes)
	s.mask = k.K()
	k.KMOVQ(bytes, s.mask)
	for i := range s.words {
		s.words[i] = k.ZMM()
		k.VMOVDQU64(at(c, atWords+64*i), s.words[i])
	}
	return s
}

func (k kernels) spread(s spreader, p reg.GPVirtual, i int) reg.VecVirtual {
	out := k.ZMM()
	k.VPERMB_Z(at(p, 32*i), s.words[i], s.mask, out)
	return out
}

// foldFour returns the sums of the lanes of four registers in one register.
func (k kernels) foldFour(a, b, c, d reg.VecVirtual) reg.VecVirtual {
	pair := func(a, b reg.VecVirtual) reg.VecVirtual {
		even, odd := k.ZMM(), k.ZMM()
		k.VPUNPCKLQDQ(b, a, even)
		k.VPUNPCKHQDQ(b, a, odd)
		k.VPADDQ(odd, even, even)
		return even
	}
	ab, cd := pair(a, b), pair(c, d)
	low, high, out := k.ZMM(), k.ZMM(), k.YMM()
	k.VSHUFI64X2(Imm(0x44), cd, ab, low)
	k.VSHUFI64X2(Imm(0xee), cd, ab, high)
	k.VPADDQ(high, low, low) // ab, ab, cd, cd
	k.VSHUFI64X2(Imm(0xd8), low, low, low)
	k.VEXTRACTI64X4(Imm(1), low, out)
	k.VPADDQ(low.AsY(), out, out)
	return out
}

// close reduces a sum modulo q, where 2^bits = q + excess. It overwrites the
// sum's registers. These may have any width. With
//
//	low + 2⁵²·high = l + 2^bits·(h + 2^bits·t)   l and h below 2^bits
//
// the result is l + h·excess + t·excess², where h·excess can exceed 2⁵².
//
// The scratch register `carry` is a parameter, because avo counts clearing a
// register as a use of its previous value and would keep a new register alive
// for every call.
func (k kernels) close(c reg.GPVirtual, s sum, carry reg.Register) reg.VecVirtual {
	mask, excess := k.constant(c, atMask, s.low), k.constant(c, atExcess, s.low)
	l, rest, h := s.low, s.high, k.like(mask)
	k.VPSLLVQ(k.constant(c, atCarry, l), rest, rest)
	k.add(rest, k.right(c, atBits, l))
	k.VPANDQ(mask, l, l)
	k.VPANDQ(mask, rest, h)
	k.VPMADD52LUQ(k.constant(c, atSquare, l), k.right(c, atBits, rest), l)
	k.VPXORQ(carry, carry, carry)
	k.VPMADD52LUQ(excess, h, l)
	k.VPMADD52HUQ(excess, h, carry)
	k.VPMADD52LUQ(k.constant(c, atCarried, l), carry, l)
	rest = k.right(c, atBits, l)
	k.VPANDQ(mask, l, l)
	k.VPMADD52LUQ(excess, rest, l)
	less := k.like(l)
	k.VPSUBQ(k.constant(c, atQ, l), l, less)
	k.VPMINUQ(less, l, l)
	return l
}

func (k kernels) foursIFMA() {
	p := k.Begin("foursIFMA", "func(c *[85]uint64, dst *[4]uint64, rows int, r0, r1, r2, r3 *byte, x *uint64, blocks int)",
		"is Rows for rows of blocks·16 words.", "c", "dst", "rows", "x", "blocks")
	c, dst, rows, x, blocks := p[0], p[1], p[2], p[3], p[4]
	r := k.Params("r0", "r1", "r2", "r3")
	spread, acc, carry := k.spreader(c), k.sums(4), k.YMM()
	k.Count("row", rows, func() {
		k.Count("fours", k.Part(blocks, 0, 0), func() {
			var b [2]reg.VecVirtual
			for i := range b {
				b[i] = k.ZMM()
				k.VMOVDQU64(at(x, 64*i), b[i])
			}
			for q := range r {
				k.PREFETCHT0(at(r[q], rowsAhead))
				k.PREFETCHT0(at(r[q], rowsAhead+48))
				for i := range b {
					k.fma(acc[q], k.spread(spread, r[q], i), b[i])
				}
			}
			k.Advance(blockBytes, r...)
			k.Advance(128, x)
		})
		folded := sum{k.foldFour(acc[0].low, acc[1].low, acc[2].low, acc[3].low), k.foldFour(acc[0].high, acc[1].high, acc[2].high, acc[3].high)}
		k.VMOVDQU64(k.close(c, folded, carry), at(dst, 0))
		k.clear(acc)
		k.Advance(32, dst)
	})
	k.End()
}

// tileRows is the number of rows in a tile. Each needs two sums for each of two
// groups, and there are 32 registers.
const tileRows = 6

// tileIFMA multiplies six rows by groups of eight interleaved requests. Each
// lane sums one request, so lanes are never added up. Words of the rows are
// unpacked sixteen at a time into memory (`room`) and broadcast one by one.
func (k kernels) tileIFMA(name string, groups int) {
	p := k.Begin(name, fmt.Sprintf("func(c *[85]uint64, dst *[6][%d]uint64, room *[6][16]uint64, rows, ahead *[6]*byte, from int, x *uint64, stride, blocks int)", 8*groups),
		fmt.Sprintf("multiplies six rows of blocks·16 words, beginning at byte from, by %d requests in groups stride bytes apart.", 8*groups), "c", "room", "rows", "ahead", "x", "stride", "blocks", "from")
	c, room, rows, ahead, x, stride, blocks, from := p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]
	acc, carry := k.sums(tileRows*groups), k.ZMM() // acc[q*groups+g]
	k.Count(name+"_16", blocks, func() {
		spread := k.spreader(c)
		for q := range tileRows {
			row, next := k.GP64(), k.GP64()
			k.MOVQ(at(rows, 8*q), row)
			k.ADDQ(from, row)
			for i := range 2 {
				k.VMOVDQU64(k.spread(spread, row, i), at(room, 128*q+64*i))
			}
			k.MOVQ(at(ahead, 8*q), next)
			k.ADDQ(from, next)
			k.PREFETCHT1(at(next, 0))
			k.PREFETCHT1(at(next, 48))
		}
		k.Advance(blockBytes, from)
		words, word := k.GP64(), k.GP64()
		k.MOVQ(U32(16), words)
		k.MOVQ(room, word)
		k.Count(name+"_word", words, func() {
			b := []reg.VecVirtual{k.ZMM(), k.ZMM()}[:groups]
			k.VMOVDQU64(at(x, 0), b[0])
			if groups == 2 {
				k.VMOVDQU64(Mem{Base: x, Index: stride, Scale: 1}, b[1])
			}
			for q := range tileRows {
				a := k.ZMM()
				k.VPBROADCASTQ(at(word, 128*q), a)
				for g := range b {
					k.fma(acc[q*groups+g], a, b[g])
				}
			}
			k.Advance(8, word)
			k.Advance(64, x)
		})
	})
	dst := k.Params("dst")[0]
	for i, s := range acc {
		k.VMOVDQU64(k.close(c, s, carry), at(dst, 64*i))
	}
	k.End()
}
