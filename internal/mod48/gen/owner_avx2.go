package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (k kernels) cutAVX2() {
	p := k.Begin("cutAVX2", "func(c *[85]uint64, dst *uint64, b *byte, sixteens int, over *[8]uint64)",
		"is Cut of sixteens·16 words. It sets the sign of a word of over if a word is too large.", "c", "dst", "b", "sixteens", "over")
	c, dst, b, sixteens, over := p[0], p[1], p[2], p[3], p[4]
	last, drop, all := k.constant(c, atLast, k.YMM()), k.constant(c, atDrop, k.YMM()), k.YMM()
	k.VPXOR(all, all, all)
	k.Count("cut", sixteens, func() {
		for off := 0; off < 128; off += 32 {
			x, less := k.YMM(), k.YMM()
			k.VMOVDQU(at(b, off), x)
			k.VPSRLVQ(drop, x, x)
			k.VMOVDQU(x, at(dst, off))
			k.VPSUBQ(x, last, less)
			k.VPOR(less, all, all)
		}
		k.Advance(128, b, dst)
	})
	k.VMOVDQU(all, at(over, 0))
	k.End()
}

func (k kernels) fieldsAVX2() {
	p := k.Begin("fieldsAVX2", "func(c *[85]uint64, dst *uint64, b *byte, up, blocks int)",
		"is Fields of blocks·16 numbers.", "c", "dst", "b", "blocks")
	c, dst, b, blocks := p[0], p[1], p[2], p[3]
	shifts, mask, up := k.YMM(), k.YMM(), k.YMM()
	k.VMOVDQU(at(c, atFieldShifts), shifts)
	k.VPBROADCASTQ(at(c, atFieldMask), mask)
	k.VPBROADCASTQ(k.Address("up"), up)
	places := [2]reg.VecVirtual{k.YMM(), k.YMM()}
	for i, v := range places {
		k.VMOVDQU(at(c, atQuads+32*i), v)
	}
	k.Count("fields", blocks, func() {
		k.PREFETCHT0(at(b, rowsAhead))
		// Four fields are 13 bytes. The last read of 16 bytes begins three
		// bytes early.
		for i, off := range [...]int{0, 13, 26, 36} {
			x := k.YMM()
			k.VBROADCASTI128(at(b, off), x)
			k.VPSHUFB(places[i/3], x, x)
			k.VPSRLVQ(shifts, x, x)
			k.VPAND(mask, x, x)
			k.VPSLLVQ(up, x, x)
			k.VMOVDQU(x, at(dst, 32*i))
		}
		k.Advance(52, b)
		k.Advance(128, dst)
	})
	k.End()
}

// Transforms use float64, four words at once. All values are integers, and only
// y·(w/q) is inexact. With |y| ≤ 7q, |w| ≤ q/2 and q below 2⁴⁸, let
//
//	h = y·w rounded     l = y·w − h     n = y·(w/q) rounded to an integer     z = (h − n·q) + l
//
// n differs from y·w/q by less than 1/2 plus two roundings of a number of at most 2⁵⁰, so |z| < 3q/4 and z = y·w − n·q.
// l is exact because fused multiplication gives the exact error of a product, and h − n·q is an integer below 2⁵³.
// Values begin below q and grow by at most 3q/4 in each of eight levels, to at most 7q. No number is subnormal, so time
// does not depend on words.

// wordsAVX2 emits a loop over sixteens·16 words at p, four at a time.
func (k kernels) wordsAVX2(p, sixteens reg.GPVirtual, body func(x reg.VecVirtual)) {
	k.Count("words", sixteens, func() {
		for off := 0; off < 128; off += 32 {
			x := k.YMM()
			k.VMOVUPD(at(p, off), x)
			body(x)
			k.VMOVUPD(x, at(p, off))
		}
		k.Advance(128, p)
	})
	k.End()
}

// float broadcasts the float64 constant at offset off into every lane.
func (k kernels) float(p reg.GPVirtual, off int) reg.VecVirtual {
	out := k.YMM()
	k.VBROADCASTSD(at(p, off), out)
	return out
}

// floatsAVX2 converts words to float64. The bits of a word become the mantissa
// of 2⁵² plus the word.
func (k kernels) floatsAVX2() {
	a := k.Begin("floatsAVX2", "func(c *[85]uint64, p *uint64, sixteens int)",
		"converts sixteens·16 words to float64, all below 2⁵².", "c", "p", "sixteens")
	zero := k.float(a[0], atFloat52)
	k.wordsAVX2(a[1], a[2], func(x reg.VecVirtual) {
		k.VORPD(zero, x, x)
		k.VSUBPD(zero, x, x)
	})
}

// reduceAVX2 converts float64 values to words below q.
func (k kernels) reduceAVX2() {
	a := k.Begin("reduceAVX2", "func(c *[85]uint64, p *uint64, sixteens int)",
		"converts sixteens·16 float64 integers of up to 7q to words below q.", "c", "p", "sixteens")
	q, inverse, zero, none := k.float(a[0], atFloat), k.float(a[0], atInverse), k.float(a[0], atFloat52), k.YMM()
	k.VXORPD(none, none, none)
	k.wordsAVX2(a[1], a[2], func(x reg.VecVirtual) {
		n := k.YMM()
		k.VMULPD(inverse, x, n)
		k.VROUNDPD(Imm(0), n, n)
		k.VFNMADD231PD(q, n, x)
		k.VCMPPD(Imm(1), none, x, n) // x < 0
		k.VANDPD(q, n, n)
		k.VADDPD(n, x, x)
		k.VADDPD(zero, x, x)
		k.VXORPD(zero, x, x)
	})
}

func (k kernels) levelAVX2() {
	a := k.Begin("levelAVX2", "func(c *[85]uint64, p *uint64, roots *[5]uint64, blocks, sixteens int)",
		"computes one level of butterflies. Half a block has sixteens·16 float64.", "c", "p", "roots", "blocks", "sixteens")
	c, p, roots, blocks, sixteens := a[0], a[1], a[2], a[3], a[4]
	q := k.float(c, atFloat)
	other := k.Part(sixteens, 0, 0)
	k.SHLQ(Imm(7), other)
	k.ADDQ(p, other)
	k.Count("block", blocks, func() {
		w, over := k.float(roots, 24), k.float(roots, 32)
		k.Count("butterflies", k.Part(sixteens, 0, 0), func() {
			for off := 0; off < 128; off += 32 {
				x, y, h, n := k.YMM(), k.YMM(), k.YMM(), k.YMM()
				k.VMOVUPD(at(p, off), x)
				k.VMOVUPD(at(other, off), y)
				k.VMULPD(over, y, n)
				k.VMULPD(w, y, h)
				k.VROUNDPD(Imm(0), n, n)
				k.VFMSUB213PD(h, w, y) // l
				k.VFNMADD231PD(q, n, h)
				k.VADDPD(h, y, y)
				k.VADDPD(y, x, h)
				k.VMOVUPD(h, at(p, off))
				k.VSUBPD(y, x, x)
				k.VMOVUPD(x, at(other, off))
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

// productsAVX2 multiplies halves of words, two of four rows at once. With a =
// a₀ + 2²⁴·a₁ and b = b₀ + 2²⁴·b₁, three products suffice (Karatsuba):
//
//	a₀b₁ + a₁b₀ = (a₀+a₁)(b₀+b₁) − a₀b₀ − a₁b₁
//
// No product exceeds 50 bits, so sums of 2,048 fit in a word.
func (k kernels) productsAVX2() {
	p := k.Begin("productsAVX2", "func(c *[85]uint64, dst *uint64, fours int, a, b *uint64, vectors int)",
		"is Products of fours·4 rows of vectors·4 words.", "c", "dst", "fours", "a", "b", "vectors")
	c, dst, fours, a, b, vectors := p[0], p[1], p[2], p[3], p[4], p[5]
	row := k.Part(vectors, 0, 0)
	k.SHLQ(Imm(5), row)
	k.Count("four", fours, func() {
		var turns [2][3]reg.VecVirtual
		for turn := range turns {
			mask := k.constant(c, atHalf, k.YMM())
			var acc [2][3]reg.VecVirtual
			for q := range acc {
				for w := range acc[q] {
					acc[q][w] = k.YMM()
					k.VPXOR(acc[q][w], acc[q][w], acc[q][w])
				}
			}
			k.Count([2]string{"first", "second"}[turn], k.Part(vectors, 0, 0), func() {
				for q := range acc {
					k.productAVX2(acc[q], rowOf(a, row, row, q), rowOf(b, row, row, q), mask)
				}
				k.Advance(32, a, b)
			})
			k.ADDQ(row, a)
			k.ADDQ(row, b)
			for w := range acc[0] {
				turns[turn][w] = k.foldTwoAVX2(acc[0][w], acc[1][w])
			}
		}
		var s [3]reg.VecVirtual
		for w := range s {
			s[w] = k.joinAVX2(turns[0][w], turns[1][w])
		}
		k.VMOVDQU(k.closeAVX2(k.load(c), s), at(dst, 0))
		k.Advance(32, dst)
	})
	k.End()
}

// productAVX2 adds the products of four words a and b to s.
func (k kernels) productAVX2(s [3]reg.VecVirtual, a, b Mem, mask reg.VecVirtual) {
	a0, a1, b0, b1 := k.YMM(), k.YMM(), k.YMM(), k.YMM()
	for _, x := range []struct {
		from      Mem
		low, high reg.VecVirtual
	}{{a, a0, a1}, {b, b0, b1}} {
		k.VMOVDQU(x.from, x.high)
		k.VPAND(mask, x.high, x.low)
		k.VPSRLQ(Imm(24), x.high, x.high)
	}
	product := k.YMM()
	k.VPMULUDQ(b0, a0, product)
	k.VPADDQ(product, s[0], s[0])
	k.VPADDQ(a1, a0, a0)
	k.VPADDQ(b1, b0, b0)
	k.VPMULUDQ(b1, a1, a1)
	k.VPADDQ(a1, s[2], s[2])
	k.VPMULUDQ(b0, a0, a0)
	k.VPADDQ(a0, s[1], s[1])
}
