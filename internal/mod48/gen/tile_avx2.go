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
// Correction computes the sum of x₀x₁, and Tile.Set the sum of y₀y₁. Half a
// power of two is subtracted from x, so that a factor has at most as many bits
// as the modulus.
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
// A pair takes two multiplications and four additions, of which one is written
// as a multiplication by one, because some processors have two units for each.
// Such processors take at least 1.5 cycles for a pair and four requests, where two
// products would take two. Three products of Karatsuba's method would take three.

const tileRowsAVX2 = 12

// atLow is the offset of the low sums in mod48.workspace, after a high sum for
// each row and request.
const atLow = tileRowsAVX2 * 128

// tileAVX2 multiplies up to twelve rows by one or two groups of eight interleaved
// requests. Its steps multiply two rows by a group, or one by two, because
// the sums of a row and four requests take two of the sixteen registers.
func (k kernels) tileAVX2(groups int) {
	// Counts and the stride stay in memory, because a kernel has no stack frame
	// in which to save the last register.
	name := fmt.Sprintf("tile%dAVX2", 8*groups)
	p := k.Begin(name, "func(c *[84]uint64, sums *[384]uint64, rows *[24]*byte, count, from int, x *uint64, stride, blocks, chunks int)",
		fmt.Sprintf("multiplies `count` rows of chunks·blocks·16 words, beginning at byte from, by %d groups of 8 requests, stride bytes apart. It prefetches the last 12 of rows.", groups), "c", "sums", "from", "x", "chunks")
	c, sums, from, x, chunks := p[0], p[1], p[2], p[3], p[4]
	k.Count(name+"_chunk", chunks, func() {
		p, sum := k.Params("rows", "count"), k.Part(sums, 0, 0)
		row, steps := p[0], p[1]
		if groups == 1 {
			k.INCQ(steps)
			k.SHRQ(Imm(1), steps)
		}
		k.Count(name+"_step", steps, func() {
			k.pairsAVX2(name, groups, c, sum, row, from, x)
			k.Advance(128*2/groups, sum)
			k.Advance(8*2/groups, row)
		})
		for _, advance := range []struct {
			bytes int
			p     reg.GPVirtual
		}{{blockBytes, from}, {block * 64, x}} {
			size := k.GP64()
			k.MOVQ(U32(advance.bytes), size)
			k.IMULQ(k.Address("blocks"), size)
			k.ADDQ(size, advance.p)
		}
	})
	k.End()
}

// pairsAVX2 adds the products of a chunk of two rows and eight requests, or one
// row and sixteen, to sums. Words of a row are read one by one. The upper half
// of 2⁵² replaces the sixteen bits behind a word, so that its bits become the
// mantissa of 2⁵² plus the word. The words of requests lack 2⁵².
func (k kernels) pairsAVX2(name string, groups int, c, sums, rows, from, group reg.GPVirtual) {
	type sum struct{ high, low reg.VecVirtual }
	acc, row, next := make([][]sum, 2/groups), make([]reg.GPVirtual, 2/groups), make([]reg.GPVirtual, 2/groups)
	for q := range acc {
		for range 2 * groups {
			acc[q] = append(acc[q], sum{k.float(c, atStarts), k.float(c, atStarts+8)})
		}
		row[q], next[q] = k.GP64(), k.GP64()
		for i, p := range []reg.GPVirtual{row[q], next[q]} {
			k.MOVQ(at(rows, 8*q+8*tileRowsAVX2*i), p)
			k.ADDQ(from, p)
		}
	}
	one, zero, b, octets := k.float(c, atOne), k.float(c, atFloat52), k.Part(group, 0, 0), k.Params("blocks")[0]
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
	x := func(row reg.GPVirtual, i int) reg.VecVirtual {
		v := k.YMM()
		if i < 7 {
			k.VPBROADCASTQ(at(row, 6*i), v)
		} else { // stay within the row
			k.VPBROADCASTQ(at(row, 40), v)
			k.VPSRLQ(Imm(16), v, v)
		}
		k.VPBLENDW(Imm(0x88), zero, v, v)
		return v
	}
	k.ADDQ(octets, octets)
	k.Count(name+"_octet", octets, func() {
		// Steps of neighbouring products are interleaved, because each step waits
		// for the one before.
		add, last, rest := func() {}, func() {}, func() {}
		for i := 0; i < 8; i += 2 {
			for q := range acc {
				x0, x1 := x(row[q], i), x(row[q], i+1)
				for g, s := range acc[q] {
					u, v, old := k.YMM(), k.YMM(), k.YMM()
					add()
					k.VADDPD(y(i+1, g), x0, u)
					rest()
					k.VADDPD(y(i, g), x1, v)
					k.VMOVAPD(s.high, old)
					k.VFMADD231PD(v, u, s.high)
					rest = func() {
						k.VFNMADD231PD(one, s.high, old)
						k.VFMADD213PD(old, v, u)
					}
					add, last = last, func() { k.VADDPD(u, s.low, s.low) }
				}
			}
		}
		add()
		rest()
		last()
		for q := range row {
			k.PREFETCHT0(at(next[q], 0))
			k.Advance(blockBytes/2, row[q], next[q])
		}
		k.Advance(8*64, b)
	})
	for q := range acc {
		for g, s := range acc[q] {
			k.addSum(s.high, at(sums, 128*q+32*g))
			k.addSum(s.low, at(sums, atLow+128*q+32*g))
		}
	}
}

// addSum adds integers to those in memory.
func (k kernels) addSum(v reg.VecVirtual, m Mem) {
	k.VPADDQ(m, v, v)
	k.VMOVDQU(v, m)
}

func (k kernels) closeTileAVX2() {
	p := k.Begin("closeTileAVX2", "func(c *[84]uint64, dst *[16]uint64, sums *[384]uint64, rows int)",
		"reduces the sums of `rows` rows.", "c", "dst", "sums", "rows")
	c, dst, sums, rows := p[0], p[1], p[2], p[3]
	loaded := map[int]reg.VecVirtual{}
	for _, off := range [...]int{atMask, atExcess, atUpper, atBits, atTopMask, atTop, atQ} {
		loaded[off] = k.constant(c, off, k.YMM())
	}
	k.Count("close_row", rows, func() {
		for g := range 4 {
			high, low := k.YMM(), k.YMM()
			k.VMOVDQU(at(sums, 32*g), high)
			k.VMOVDQU(at(sums, atLow+32*g), low)
			k.VMOVDQU(k.closeAVX2(func(off int) reg.VecVirtual { return loaded[off] }, [3]reg.VecVirtual{low, nil, high}), at(dst, 32*g))
		}
		k.Advance(128, sums, dst)
	})
	k.End()
}
