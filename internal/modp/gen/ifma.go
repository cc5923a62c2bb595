package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels for AVX-512 IFMA. VPMADD52 multiplies the low 52 bits of two words, eight at once,
// and adds the low or the high half of the products, 52 bits each, to words of 64. The rectangle
// of 60 by 60 bits takes five of them:
//
//	a = a₀ + 2⁴⁴·a₁   44 and 16 bits
//	b = b₀ + 2⁵²·b₁   52 and 8 bits: b₀ is b itself, whose other bits VPMADD52 ignores
//	b = b₂ + 2³⁶·b₃   36 and 24 bits
//
//	a·b = a₀·b₀ + 2⁵²·a₀·b₁ + 2⁴⁴·a₁·b₂ + 2⁸⁰·a₁·b₃
//
// of which only the first product has more than 52 bits. Sums of weight 1, 2⁵², 2⁴⁴ and 2⁸⁰ of up
// to 2,048 products fit in a word, also when eight lanes are added up.

func ifma(k kernels) {
	k.foursIFMA()
	k.dotIFMA()
	k.tileIFMA("tile8IFMA", 1)
	k.tileIFMA("tile16IFMA", 2)
}

// A sum of products is in four registers, by weight: 1, 2⁵², 2⁴⁴, 2⁸⁰.
type sum [4]reg.VecVirtual

func (k kernels) sums(n int) []sum {
	out := make([]sum, n)
	for i := range out {
		for w := range out[i] {
			out[i][w] = k.ZMM()
		}
	}
	k.clear(out)
	return out
}

func (k kernels) clear(sums []sum) {
	for _, s := range sums {
		for _, z := range s {
			k.VPXORQ(z, z, z)
		}
	}
}

// Split words: a two ways, b four ways.
type (
	short struct{ low44, high16 reg.VecVirtual }
	long  struct{ whole, high8, low36, high24 reg.VecVirtual }
)

// masks are those of the low parts.
type masks struct{ low44, low36 reg.VecVirtual }

func (k kernels) masks() masks {
	z := k.ZMM()
	return masks{k.constant(1<<44-1, z), k.constant(1<<36-1, z)}
}

func (k kernels) short(m Mem, mask masks) short {
	whole, low := k.ZMM(), k.ZMM()
	k.VMOVDQU64(m, whole)
	k.VPANDQ(mask.low44, whole, low)
	return short{low, k.right(whole, 44)}
}

func (k kernels) long(m Mem, mask masks) long {
	whole, low := k.ZMM(), k.ZMM()
	k.VMOVDQU64(m, whole)
	k.VPANDQ(mask.low36, whole, low)
	return long{whole, k.right(whole, 52), low, k.right(whole, 36)}
}

// fma adds a·b.
func (k kernels) fma(s sum, a short, b long) {
	k.VPMADD52LUQ(b.whole, a.low44, s[0])
	k.VPMADD52HUQ(b.whole, a.low44, s[1])
	k.VPMADD52LUQ(b.low36, a.high16, s[2])
	k.VPMADD52LUQ(b.high24, a.high16, s[3])
	k.VPMADD52LUQ(b.high8, a.low44, s[1])
}

// foldFour returns the sums of the lanes of four registers, in the lanes of one.
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

// close returns a sum modulo Q. It overwrites its registers, which may be narrower than those of sums.
func (k kernels) close(s sum) reg.VecVirtual {
	weight := k.constant(1<<34-1<<20, s[3]) // 2⁸⁰ modulo Q
	k.VPMADD52LUQ(weight, s[3], s[0])
	k.VPMADD52HUQ(weight, s[3], s[1])
	h := k.right(s[0], 60)
	k.add(h, k.right(s[1], 8), k.right(s[2], 16))
	l := k.low(s[0], 60)
	k.add(l, k.low(s[1], 8), k.low(s[2], 16))
	k.reduce(l, h)
	less := k.like(l)
	k.VPSUBQ(k.constant(modulus, l), l, less)
	k.VPMINUQ(less, l, l)
	return l
}

// foursIFMA reads four rows at once: the memory system sees four streams, and x is split once for all.
func (k kernels) foursIFMA() {
	k.Begin("foursIFMA", "func(dst *[4]uint64, rows int, r0, r1, r2, r3, x *uint64, n int)",
		"foursIFMA is Rows for rows of n words, a multiple of 8.")
	p := k.Params("dst", "rows", "x", "n")
	dst, rows, x, n := p[0], p[1], p[2], p[3]
	r := k.Params("r0", "r1", "r2", "r3")
	mask, acc := k.masks(), k.sums(4)
	step := func(off int) {
		b := k.long(at(x, off), mask)
		for q := range r {
			k.PREFETCHT0(at(r[q], off+rowsAhead))
			k.fma(acc[q], k.short(at(r[q], off), mask), b)
		}
	}
	k.Count("row", rows, func() {
		k.Count("fours_16", k.Part(n, 0, 4), func() {
			step(0)
			step(64)
			k.Advance(128, append(r, x)...)
		})
		k.Count("fours_8", k.Part(n, 15, 3), func() {
			step(0)
			k.Advance(64, append(r, x)...)
		})
		var folded sum
		for w := range folded {
			folded[w] = k.foldFour(acc[0][w], acc[1][w], acc[2][w], acc[3][w])
		}
		k.VMOVDQU64(k.close(folded), at(dst, 0))
		k.clear(acc)
		k.Advance(32, dst)
	})
	k.VZEROUPPER()
	k.RET()
}

func (k kernels) dotIFMA() {
	k.Begin("dotIFMA", "func(dst *[4]uint64, a, b *uint64, n int)",
		"dotIFMA sets dst to Σ a[i]·b[i] by weight, for n words, a multiple of 8.")
	p := k.Params("a", "b", "n")
	a, b, n := p[0], p[1], p[2]
	mask, acc := k.masks(), k.sums(2)
	step := func(off int, s sum) { k.fma(s, k.short(at(a, off), mask), k.long(at(b, off), mask)) }
	k.Count("dot_16", k.Part(n, 0, 4), func() {
		step(0, acc[0])
		step(64, acc[1])
		k.Advance(128, a, b)
	})
	k.Count("dot_8", k.Part(n, 15, 3), func() { step(0, acc[0]) })
	for w := range acc[0] {
		k.add(acc[0][w], acc[1][w])
	}
	k.VMOVDQU64(k.foldFour(acc[0][0], acc[0][1], acc[0][2], acc[0][3]), at(k.Params("dst")[0], 0))
	k.VZEROUPPER()
	k.RET()
}

// tileRows is the number of rows in a tile: four sums for each, twice, and there are 32 registers.
const tileRows = 3

// tileIFMA multiplies three rows by groups of eight interleaved requests, of which each lane
// sums one: nothing is added up across lanes. The rows' words are split eight at a time into
// room, from where single ones are broadcast.
func (k kernels) tileIFMA(name string, groups int) {
	k.Begin(name, fmt.Sprintf("func(dst *[3][%d]uint64, room *[9][8]uint64, r0, r1, r2, x *uint64, n int, a0, a1, a2 uintptr)", 8*groups),
		fmt.Sprintf("%s multiplies three rows of n words, a multiple of 8, by %d requests.", name, 8*groups))
	p := k.Params("room", "x", "n")
	room, x, n := p[0], p[1], p[2]
	r, ahead := k.Params("r0", "r1", "r2"), k.Params("a0", "a1", "a2")
	acc := k.sums(tileRows * groups) // acc[q*groups+g]
	blocks := k.Part(n, 0, 3)
	k.Count(name+"_8", blocks, func() {
		mask := k.masks()
		for q := range r {
			k.PREFETCHT1(at(ahead[q], 0))
			b := k.long(at(r[q], 0), mask)
			for i, part := range []reg.VecVirtual{b.high8, b.low36, b.high24} {
				k.VMOVDQU64(part, at(room, 64*(3*q+i)))
			}
		}
		k.Advance(64, ahead...)
		word, parts := k.GP64(), k.GP64()
		k.MOVQ(U32(8), word)
		k.MOVQ(room, parts)
		k.Count(name+"_word", word, func() {
			a := make([]short, groups)
			for g := range a {
				a[g] = short{k.ZMM(), k.ZMM()}
				k.VMOVDQU64(at(x, 64*g), a[g].low44)
				k.VMOVDQU64(at(x, 64*(groups+g)), a[g].high16)
			}
			for q := range r {
				b := long{k.ZMM(), k.ZMM(), k.ZMM(), k.ZMM()}
				k.VPBROADCASTQ(at(r[q], 0), b.whole)
				for i, part := range []reg.VecVirtual{b.high8, b.low36, b.high24} {
					k.VPBROADCASTQ(at(parts, 64*(3*q+i)), part)
				}
				for g := range a {
					k.fma(acc[q*groups+g], a[g], b)
				}
			}
			k.Advance(8, append(r, parts)...)
			k.Advance(128*groups, x)
		})
	})
	dst := k.Params("dst")[0]
	for i, s := range acc {
		k.VMOVDQU64(k.close(s), at(dst, 64*i))
	}
	k.VZEROUPPER()
	k.RET()
}
