package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tile multiplies words as float64, and pairs of words at once (Winograd):
//
//	(x₀+y₁)·(x₁+y₀) = x₀y₀ + x₁y₁ + x₀x₁ + y₀y₁
//
// A pair of a row's words x and a request's words y thus takes one product.
// Correction computes the sum of x₀x₁, and the product with a row of zeros shows
// the sum of y₀y₁. Half a power of two is subtracted from x, so that a factor
// has at most as many bits as the modulus. The words of a pair are four apart.
//
// Fused multiplication gives the exact error of a sum. The lanes of high begin
// at 1.5·2¹⁰⁰. Products are below 2⁹⁴ for a modulus of 47 bits and 2⁹⁶ for 48,
// so that sixteen or eight of them keep high between 2¹⁰⁰ and 2¹⁰¹. There, with
//
//	new high = high + u·v rounded to a multiple of 2⁴⁸
//	low      = low + (u·v − (new high − high))
//
// both differences are exact. A difference adds at most 2⁴⁷ to low, which
// begins at 1.5·2⁵² and stays between 2⁵² and 2⁵³. After these products, the
// bits of high and low are therefore their starts plus integers, which are
// summed as integers.
//
// A pair and four requests thus take two multiplications and four additions.
// Processors with three vector units need at least two cycles for them, and 2.7
// for two single products.

// In the workspace, the low sums of twelve rows follow the high sums.
const tileRowsAVX2, atLow = 12, 12 * 128

// tileAVX2 multiplies up to twelve rows by one or two groups of eight interleaved
// requests, in steps of two rows by a group, or one by two. The sums of a row
// and four requests take two of the sixteen registers.
func (k kernels) tileAVX2(groups int) {
	// Counts and the stride stay in memory, because a kernel has no stack frame
	// in which to save the last register.
	name := fmt.Sprintf("tile%dAVX2", 8*groups)
	p := k.Begin(name, "func(c *[85]uint64, sums *[384]uint64, rows *[24]*byte, count, from, ahead int, x *uint64, stride, blocks, chunks int)",
		fmt.Sprintf("multiplies `count` rows of chunks·blocks·16 words, beginning at byte from, by %d requests, stride bytes apart. The rows follow 12 whose bytes from+ahead it prefetches.", 8*groups), "c", "from", "x", "chunks")
	c, from, x, chunks := p[0], p[1], p[2], p[3]
	zero := k.float(c, atFloat52)
	k.Count(name+"_chunk", chunks, func() {
		p := k.Params("sums", "rows", "count")
		sum, list, steps := p[0], p[1], p[2]
		if groups == 1 {
			k.INCQ(steps)
			k.SHRQ(Imm(1), steps)
		}
		k.Count(name+"_step", steps, func() {
			k.pairsAVX2(name, groups, c, sum, list, from, x, zero)
			k.Advance(128*2/groups, sum)
			k.Advance(8*2/groups, list)
		})
		size := k.Params("blocks")[0]
		k.SHLQ(Imm(5), size)
		for range blockBytes / 32 {
			k.ADDQ(size, from)
		}
		k.SHLQ(Imm(5), size)
		k.ADDQ(size, x)
	})
	k.End()
}

// pairsAVX2 adds the products of a chunk of two rows and eight requests, or one
// row and sixteen, to sums.
func (k kernels) pairsAVX2(name string, groups int, c, sums, list, from, group reg.GPVirtual, zero reg.VecVirtual) {
	type sum struct{ high, low reg.VecVirtual }
	acc, rows := make([][]sum, 2/groups), make([]reg.GPVirtual, 2/groups)
	for q := range acc {
		for range 2 * groups {
			acc[q] = append(acc[q], sum{k.float(c, atStarts), k.float(c, atStarts+8)})
		}
		ahead := k.Params("ahead")[0]
		k.ADDQ(from, ahead)
		k.ADDQ(at(list, 8*q), ahead)
		for off := 0; off < 2*blockBytes; off += 64 {
			k.PREFETCHT0(at(ahead, off))
		}
		rows[q] = k.Part(from, 0, 0)
		k.ADDQ(at(list, 8*(tileRowsAVX2+q)), rows[q])
	}
	octets, b := k.Params("blocks")[0], k.Part(group, 0, 0)
	k.ADDQ(octets, octets)
	var stride reg.GPVirtual
	if groups == 2 {
		stride = k.Params("stride")[0]
	}
	y := func(word, column int) Mem {
		m := at(b, 64*word+32*(column%2))
		if column >= 2 {
			m.Index, m.Scale = stride, 1
		}
		return m
	}
	k.Count(name+"_octet", octets, func() {
		for i := range 4 {
			for q := range acc {
				x0, x1 := k.wordAVX2(rows[q], i, zero), k.wordAVX2(rows[q], i+4, zero)
				for g, s := range acc[q] {
					u, v, old := k.YMM(), k.YMM(), k.YMM()
					k.VADDPD(y(i+4, g), x0, u)
					k.VADDPD(y(i, g), x1, v)
					k.VMOVAPD(s.high, old)
					k.VFMADD231PD(v, u, s.high)
					k.VSUBPD(s.high, old, old)
					k.VFMADD213PD(old, v, u)
					k.VADDPD(u, s.low, s.low)
				}
			}
		}
		k.Advance(blockBytes/2, rows...)
		k.Advance(8*64, b)
	})
	for q := range acc {
		for g, s := range acc[q] {
			k.addSum(s.high, at(sums, 128*q+32*g))
			k.addSum(s.low, at(sums, atLow+128*q+32*g))
		}
	}
}

// wordAVX2 broadcasts word i of eight. The bits of the word become the mantissa
// of 2⁵² plus the word. Requests lack 2⁵².
func (k kernels) wordAVX2(row reg.GPVirtual, i int, zero reg.VecVirtual) reg.VecVirtual {
	if i == 7 { // stay within the row
		w := k.float(row, 6*i-2)
		k.VPSRLQ(Imm(16), w, w)
		k.VPOR(zero, w, w)
		return w
	}
	w := k.float(row, 6*i)
	k.VPBLENDW(Imm(0x88), zero, w, w)
	return w
}

// requestsAVX2 prepares eight requests for a tile, as words (for IFMA) or as
// float64, in which words above q/2 become negative, and 2⁵² and 2^(bits−1) are
// subtracted. It transposes four words of four requests at a time.
func (k kernels) requestsAVX2(floats bool) {
	name := "wordsAVX2"
	if floats {
		name = "factorsAVX2"
	}
	p := k.Begin(name, "func(c *[85]uint64, dst *uint64, rows *[8]*byte, octets int)",
		"interleaves octets·8 words of eight packed rows, as operands of tiles.", "c", "dst", "rows", "octets")
	c, dst, octets := p[0], p[1], p[3]
	rows := make([]reg.GPVirtual, 8)
	for j := range rows {
		rows[j] = k.GP64()
		k.MOVQ(at(p[2], 8*j), rows[j])
	}
	k.Count(name+"_octet", octets, func() {
		for i := range 4 { // four words of four requests
			half, first := i/2, i%2*4
			var w [4]reg.VecVirtual
			for j := range w {
				w[j] = k.unpackAVX2(c, rows[first+j], half)
				if floats {
					k.factorAVX2(c, w[j])
				}
			}
			var pairs [4]reg.VecVirtual
			for j := range pairs {
				pairs[j] = k.YMM()
			}
			k.VPUNPCKLQDQ(w[1], w[0], pairs[0])
			k.VPUNPCKHQDQ(w[1], w[0], pairs[1])
			k.VPUNPCKLQDQ(w[3], w[2], pairs[2])
			k.VPUNPCKHQDQ(w[3], w[2], pairs[3])
			for j := range w {
				k.VPERM2I128(Imm(uint64(0x20+0x11*(j/2))), pairs[2+j%2], pairs[j%2], w[j])
				k.VMOVDQU(w[j], at(dst, 64*(4*half+j)+8*first))
			}
		}
		k.Advance(blockBytes/2, rows...)
		k.Advance(8*64, dst)
	})
	k.End()
}

// unpackAVX2 returns the first or last four of eight words.
func (k kernels) unpackAVX2(c, row reg.GPVirtual, half int) reg.VecVirtual {
	v := k.YMM()
	k.VBROADCASTI128(at(row, 24*half), v)
	k.VINSERTI128(Imm(1), at(row, 24*half+12-4*half), v, v) // stay within the row
	k.VPSHUFB(at(c, atWhole+64*half), v, v)
	return v
}

func (k kernels) factorAVX2(c reg.GPVirtual, w reg.VecVirtual) {
	over := k.YMM()
	k.VPCMPGTQ(k.constant(c, atHalfQ, w), w, over) // w > q/2
	k.VPAND(k.constant(c, atFloat, w), over, over)
	k.VPOR(k.constant(c, atFloat52, w), w, w)
	k.VSUBPD(over, w, w)
	k.VSUBPD(k.constant(c, atOffset, w), w, w)
}

// addSum adds integers to those in memory.
func (k kernels) addSum(v reg.VecVirtual, m Mem) {
	k.VPADDQ(m, v, v)
	k.VMOVDQU(v, m)
}

func (k kernels) closeTileAVX2() {
	p := k.Begin("closeTileAVX2", "func(c *[85]uint64, dst *[16]uint64, sums *[384]uint64, base *[2]uint64, fixed *[16]uint64, rows int)",
		"reduces the sums of `rows` rows, which begin at base plus `fixed`, and resets them to zero.", "c", "dst", "sums", "fixed", "rows")
	c, dst, sums, fixed, rows := p[0], p[1], p[2], p[3], p[4]
	loaded := map[int]reg.VecVirtual{}
	for _, off := range [...]int{atMask, atExcess, atUpper, atBits, atTopMask, atTop, atQ} {
		loaded[off] = k.constant(c, off, k.YMM())
	}
	k.Count("close_row", rows, func() {
		base := k.Params("base")[0]
		for g := range 4 {
			high, low, zero := k.constant(base, 0, k.YMM()), k.constant(base, 8, k.YMM()), k.YMM()
			k.add(low, at(fixed, 32*g))
			k.VPXOR(zero, zero, zero)
			for i, v := range []reg.VecVirtual{high, low} {
				k.add(v, at(sums, i*atLow+32*g))
				k.VMOVDQU(zero, at(sums, i*atLow+32*g))
			}
			k.VMOVDQU(k.closeAVX2(func(off int) reg.VecVirtual { return loaded[off] }, [3]reg.VecVirtual{low, nil, high}), at(dst, 32*g))
		}
		k.Advance(128, sums, dst)
	})
	k.End()
}

// packAVX2 takes two sums of each of four columns at a time.
func (k kernels) packAVX2() {
	p := k.Begin("packAVX2", "func(c *[85]uint64, dst *[4]*byte, addends *[4]*uint64, sums *uint64, step, pairs int)",
		"is Pack of pairs·2 words, whose sums are step bytes apart.", "c", "dst", "addends", "sums", "step", "pairs")
	sums, step, pairs := p[3], p[4], p[5]
	q := k.constant(p[0], atQ, k.YMM())
	var to, from [4]reg.GPVirtual
	for j := range to {
		to[j], from[j] = k.GP64(), k.GP64()
		k.MOVQ(at(p[1], 8*j), to[j])
		k.MOVQ(at(p[2], 8*j), from[j])
	}
	k.Count("pack_pair", pairs, func() {
		var rows [2]reg.VecVirtual
		for i := range rows {
			rows[i] = k.YMM()
			k.VMOVDQU(at(sums, 0), rows[i])
			k.ADDQ(step, sums)
		}
		for j := range 2 { // column j in the lower half, column 2+j in the upper half
			words, addends, upper := k.YMM(), k.YMM(), k.YMM()
			if j == 0 {
				k.VPUNPCKLQDQ(rows[1], rows[0], words)
			} else {
				k.VPUNPCKHQDQ(rows[1], rows[0], words)
			}
			k.VMOVDQU(at(from[j], 0), addends.AsX())
			k.VINSERTI128(Imm(1), at(from[2+j], 0), addends, addends)
			k.add(words, addends)
			k.lessModulusAVX2(q, words)
			// Close the gap of two bytes between both words.
			k.VPSRLDQ(Imm(2), words, upper)
			k.VPBLENDW(Imm(0xf8), upper, words, words)
			k.VEXTRACTI128(Imm(1), words, upper.AsX())
			for i, half := range []reg.VecVirtual{words, upper} {
				k.VMOVQ(half.AsX(), at(to[2*i+j], 0))
				k.VPEXTRD(Imm(2), half.AsX(), at(to[2*i+j], 8))
			}
		}
		k.Advance(16, from[:]...)
		k.Advance(12, to[:]...)
	})
	k.End()
}
