package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// cutIFMA cuts eight words at once. It computes q − 1 − x, which is negative if
// x is too large.
func (k kernels) cutIFMA() {
	p := k.Begin("cutIFMA", "func(c *[85]uint64, dst *uint64, b *byte, sixteens int, over *[8]uint64)",
		"is Cut of sixteens·16 words. It sets the sign of a word of over if a word is too large.", "c", "dst", "b", "sixteens", "over")
	c, dst, b, sixteens, over := p[0], p[1], p[2], p[3], p[4]
	last, drop, all := k.ZMM(), k.ZMM(), k.ZMM()
	k.VPBROADCASTQ(at(c, atLast), last)
	k.VPBROADCASTQ(at(c, atDrop), drop)
	k.VPXORQ(all, all, all)
	k.Count("cut", sixteens, func() {
		for off := 0; off < 128; off += 64 {
			x, less := k.ZMM(), k.ZMM()
			k.VMOVDQU64(at(b, off), x)
			k.VPSRLVQ(drop, x, x)
			k.VMOVDQU64(x, at(dst, off))
			k.VPSUBQ(x, last, less)
			k.VPORQ(less, all, all)
		}
		k.Advance(128, b, dst)
	})
	k.VMOVDQU64(all, at(over, 0))
	k.End()
}

// fieldsIFMA reads eight fields at once. A byte shuffle moves each field to a
// separate word.
func (k kernels) fieldsIFMA() {
	p := k.Begin("fieldsIFMA", "func(c *[85]uint64, dst *uint64, b *byte, up, blocks int)",
		"is Fields of blocks·16 numbers.", "c", "dst", "b", "blocks")
	c, dst, b, blocks := p[0], p[1], p[2], p[3]
	shifts, mask, up := k.ZMM(), k.ZMM(), k.ZMM()
	k.VMOVDQU64(at(c, atFieldShifts), shifts)
	k.VPBROADCASTQ(at(c, atFieldMask), mask)
	k.VPBROADCASTQ(k.Address("up"), up)
	places := [2]reg.VecVirtual{k.ZMM(), k.ZMM()}
	for i, v := range places {
		k.VMOVDQU64(at(c, atFields+64*i), v)
	}
	k.Count("fields", blocks, func() {
		k.PREFETCHT0(at(b, rowsAhead))
		for i, v := range places {
			bytes := k.YMM()
			k.VMOVDQU64(at(b, 20*i), bytes) // 32 of the 52 bytes, zero-padded
			x := bytes.AsZ()
			k.VPERMB(x, v, x)
			k.VPSRLVQ(shifts, x, x)
			k.VPANDQ(mask, x, x)
			k.VPSLLVQ(up, x, x)
			k.VMOVDQU64(x, at(dst, 64*i))
		}
		k.Advance(52, b)
		k.Advance(128, dst)
	})
	k.End()
}

// levelIFMA computes butterflies of words below 4q, which stay below 4q
// (Harvey, "Faster arithmetic for number-theoretic transforms", 2014):
//
//	x, y ─▶ x + w·y, x − w·y     w·y mod q, below 2q, is w·y − ⌊⌊w·2⁵²/q⌋·y/2⁵²⌋·q in 52 bits
func (k kernels) levelIFMA() {
	a := k.Begin("levelIFMA", "func(c *[85]uint64, p *uint64, roots *[5]uint64, blocks, sixteens int)",
		"computes one level of butterflies. Half a block has sixteens·16 words.", "c", "p", "roots", "blocks", "sixteens")
	c, p, roots, blocks, sixteens := a[0], a[1], a[2], a[3], a[4]
	q, twice, low := k.ZMM(), k.ZMM(), k.ZMM()
	k.VPBROADCASTQ(at(c, atQ), q)
	k.VPBROADCASTQ(at(c, atTwice), twice)
	k.VPBROADCASTQ(at(c, atLow52), low)
	other := k.Part(sixteens, 0, 0)
	k.SHLQ(Imm(7), other)
	k.ADDQ(p, other)
	w, over := k.ZMM(), k.ZMM()
	k.Count("block", blocks, func() {
		k.VPBROADCASTQ(at(roots, 0), w)
		k.VPBROADCASTQ(at(roots, 16), over)
		k.Count("butterflies", k.Part(sixteens, 0, 0), func() {
			for off := 0; off < 128; off += 64 {
				x, y, less, quotient, product, part := k.ZMM(), k.ZMM(), k.ZMM(), k.ZMM(), k.ZMM(), k.ZMM()
				k.VMOVDQU64(at(p, off), x)
				k.VMOVDQU64(at(other, off), y)
				for _, v := range []reg.VecVirtual{quotient, product, part} {
					k.VPXORQ(v, v, v)
				}
				k.VPMADD52HUQ(over, y, quotient)
				k.VPMADD52LUQ(w, y, product)
				k.VPMADD52LUQ(q, quotient, part)
				k.VPSUBQ(part, product, product)
				k.VPANDQ(low, product, product)
				k.VPSUBQ(twice, x, less)
				k.VPMINUQ(less, x, x)
				k.VPADDQ(product, x, y)
				k.VMOVDQU64(y, at(p, off))
				k.VPADDQ(twice, x, x)
				k.VPSUBQ(product, x, x)
				k.VMOVDQU64(x, at(other, off))
			}
			k.Advance(128, p, other)
		})
		k.Advance(40, roots)
		span := k.Part(other, 0, 0)
		k.SUBQ(p, span)
		k.ADDQ(span, p)
		k.ADDQ(span, other)
	})
	k.End()
}

func (k kernels) reduceIFMA() {
	a := k.Begin("reduceIFMA", "func(c *[85]uint64, p *uint64, sixteens int)",
		"reduces sixteens·16 words below 4q modulo q.", "c", "p", "sixteens")
	c, p, sixteens := a[0], a[1], a[2]
	q, twice := k.ZMM(), k.ZMM()
	k.VPBROADCASTQ(at(c, atQ), q)
	k.VPBROADCASTQ(at(c, atTwice), twice)
	k.Count("words", sixteens, func() {
		for off := 0; off < 128; off += 64 {
			x, less := k.ZMM(), k.ZMM()
			k.VMOVDQU64(at(p, off), x)
			for _, by := range []reg.VecVirtual{twice, q} {
				k.VPSUBQ(by, x, less)
				k.VPMINUQ(less, x, x)
			}
			k.VMOVDQU64(x, at(p, off))
		}
		k.Advance(128, p)
	})
	k.End()
}

func (k kernels) productsIFMA() {
	p := k.Begin("productsIFMA", "func(c *[85]uint64, dst *uint64, fours int, a, b *uint64, vectors int)",
		"is Products of fours·4 rows of vectors·8 words.", "c", "dst", "fours", "a", "b", "vectors")
	c, dst, fours, a, b, vectors := p[0], p[1], p[2], p[3], p[4], p[5]
	row := k.Part(vectors, 0, 0)
	k.SHLQ(Imm(6), row)
	rows := k.Part(row, 0, 0) // three rows
	k.LEAQ(Mem{Base: rows, Index: rows, Scale: 2}, rows)
	acc, carry := k.sums(4), k.YMM()
	k.Count("four", fours, func() {
		k.Count("vector", k.Part(vectors, 0, 0), func() {
			for i, s := range acc {
				x := k.ZMM()
				k.VMOVDQU64(rowOf(a, row, rows, i), x)
				k.VPMADD52LUQ(rowOf(b, row, rows, i), x, s.low)
				k.VPMADD52HUQ(rowOf(b, row, rows, i), x, s.high)
			}
			k.Advance(64, a, b)
		})
		folded := sum{k.foldFour(acc[0].low, acc[1].low, acc[2].low, acc[3].low), k.foldFour(acc[0].high, acc[1].high, acc[2].high, acc[3].high)}
		k.VMOVDQU64(k.close(c, folded, carry), at(dst, 0))
		k.clear(acc)
		k.ADDQ(rows, a)
		k.ADDQ(rows, b)
		k.Advance(32, dst)
	})
	k.End()
}

// rowOf returns the address of row i of the four rows at p. `row` is the length
// of one row in bytes, and `rows` is the length of three.
func rowOf(p, row, rows reg.GPVirtual, i int) Mem {
	return [4]Mem{
		{Base: p}, {Base: p, Index: row, Scale: 1}, {Base: p, Index: row, Scale: 2}, {Base: p, Index: rows, Scale: 1},
	}[i]
}
