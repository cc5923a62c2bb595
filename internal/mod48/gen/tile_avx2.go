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
// A pair of a row's words x and a request's words y thus takes one product. The
// kernel subtracts the sum of x₀x₁, which it computes once for each row, and
// Tile.Set computes the sum of y₀y₁. Half a power of two is subtracted from x,
// so that a factor has at most as many bits as the modulus.
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

// These are the offsets of mod48.workspace: high and low sums of each row and
// request, high and low sums of x₀x₁ for each row, and unpacked words.
const (
	atLow, atSquares, atLowSquares = tileRowsAVX2 * 128, tileRowsAVX2 * 256, tileRowsAVX2 * 288
	atRoom, roomRow                = tileRowsAVX2 * 320, 32 * 8
)

// tileAVX2 multiplies up to twelve rows by one or two groups of eight interleaved
// requests. Its steps multiply two rows by a group, or one by two, because
// the sums of a row and four requests take two of the sixteen registers.
func (k kernels) tileAVX2(groups int) {
	// Counts and the stride stay in memory, because a kernel has no stack frame
	// in which to save the last register.
	name := fmt.Sprintf("tile%dAVX2", 8*groups)
	p := k.Begin(name, "func(c *[89]uint64, work *[864]uint64, rows, ahead *[12]*byte, count, from int, x *uint64, stride, blocks, chunks int)",
		fmt.Sprintf("multiplies `count` rows of chunks·blocks·16 words, beginning at byte from, by %d groups of 8 requests, stride bytes apart.", groups), "c", "work", "from", "x", "chunks")
	c, work, from, x, chunks := p[0], p[1], p[2], p[3], p[4]
	k.Count(name+"_chunk", chunks, func() {
		group, to := k.Part(x, 0, 0), k.Part(work, 0, 0)
		k.Count(name+"_block", k.Params("blocks")[0], func() {
			k.unpackAVX2(name, c, work, to, from)
			k.Advance(blockBytes, from)
			k.Advance(128, to)
			k.Advance(16*64, x)
		})
		row, sum, steps := k.Part(work, 0, 0), k.Part(work, 0, 0), k.Params("count")[0]
		if groups == 1 {
			k.INCQ(steps)
			k.SHRQ(Imm(1), steps)
		}
		k.Count(name+"_step", steps, func() {
			k.pairsAVX2(name, groups, c, sum, row, group)
			k.Advance(128*2/groups, sum)
			k.Advance(roomRow*2/groups, row)
		})
	})
	k.End()
}

// unpackAVX2 converts sixteen words of each row to float64, and adds their
// products x₀x₁ to squares.
func (k kernels) unpackAVX2(name string, c, work, room, from reg.GPVirtual) {
	whole, zero, middle := [2]reg.VecVirtual{k.YMM(), k.YMM()}, k.float(c, atFloat52), k.float(c, atCentre)
	starts := [2]reg.VecVirtual{k.float(c, atStarts), k.float(c, atStarts+8)}
	k.VMOVDQU(at(c, atWhole), whole[0])
	k.VMOVDQU(at(c, atWhole+32), whole[1])
	p, to := k.Params("rows", "ahead", "count"), k.Part(room, 0, 0)
	rows, ahead, count, squares := p[0], p[1], p[2], k.Part(work, 0, 0)
	k.Count(name+"_unpack", count, func() {
		row := k.GP64()
		k.MOVQ(at(ahead, 0), row)
		k.ADDQ(from, row)
		k.PREFETCHT0(at(row, 0))
		k.PREFETCHT0(at(row, 48))
		k.MOVQ(at(rows, 0), row)
		k.ADDQ(from, row)
		var v [4]reg.VecVirtual
		for i := range v {
			v[i] = k.fourWords(row, i)
			k.VPSHUFB(whole[i/3], v[i], v[i])
			k.VPOR(zero, v[i], v[i])
			k.VSUBPD(middle, v[i], v[i])
			k.VMOVUPD(v[i], at(to, atRoom+32*i))
		}
		high, low := k.YMM(), k.YMM()
		k.VMOVAPD(starts[0], high)
		k.VMOVAPD(starts[1], low)
		k.factorsAVX2(v[0], v[1], high, low)
		k.factorsAVX2(v[2], v[3], high, low)
		k.addSum(high, at(squares, atSquares))
		k.addSum(low, at(squares, atLowSquares))
		k.Advance(8, rows, ahead)
		k.Advance(32, squares)
		k.Advance(roomRow, to)
	})
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

// addSum adds integers to those in memory.
func (k kernels) addSum(v reg.VecVirtual, m Mem) {
	k.VPADDQ(m, v, v)
	k.VMOVDQU(v, m)
}

// pairsAVX2 adds the products of a chunk of two rows and eight requests, or
// one row and sixteen, to sums. The words of a pair are four words apart.
func (k kernels) pairsAVX2(name string, groups int, c, sums, row, group reg.GPVirtual) {
	type sum struct{ high, low reg.VecVirtual }
	acc := make([][]sum, 2/groups)
	for q := range acc {
		for range 2 * groups {
			acc[q] = append(acc[q], sum{k.float(c, atStarts), k.float(c, atStarts+8)})
		}
	}
	one, b, x, octets, stride := k.float(c, atOne), k.Part(group, 0, 0), k.Part(row, 0, 0), k.Params("blocks")[0], k.Params("stride")[0]
	y := func(word, column int) Mem {
		m := at(b, 64*word+32*(column%2))
		if column >= 2 {
			m.Index, m.Scale = stride, 1
		}
		return m
	}
	k.ADDQ(octets, octets)
	k.Count(name+"_octet", octets, func() {
		// Steps of neighbouring products are interleaved, because each step waits
		// for the one before.
		add, last, rest := func() {}, func() {}, func() {}
		for i := range 4 {
			for q := range acc {
				x0, x1 := k.float(x, atRoom+roomRow*q+8*i), k.float(x, atRoom+roomRow*q+8*(i+4))
				for g, s := range acc[q] {
					u, v, old := k.YMM(), k.YMM(), k.YMM()
					add()
					k.VMOVAPD(x0, u)
					k.VFMADD213PD(y(i+4, g), one, u)
					k.VADDPD(y(i, g), x1, v)
					rest()
					k.VMOVAPD(s.high, old)
					k.VFMADD231PD(v, u, s.high)
					rest = func() {
						k.VSUBPD(s.high, old, old)
						k.VFMADD213PD(old, v, u)
					}
					add, last = last, func() { k.VADDPD(u, s.low, s.low) }
				}
			}
		}
		add()
		rest()
		last()
		k.Advance(64, x)
		k.Advance(8*64, b)
	})
	for q := range acc {
		for g, s := range acc[q] {
			k.addSum(s.high, at(sums, 128*q+32*g))
			k.addSum(s.low, at(sums, atLow+128*q+32*g))
		}
	}
}

// closeTileAVX2 adds the base of each request, subtracts the sums of x₀x₁, and
// reduces.
func (k kernels) closeTileAVX2() {
	p := k.Begin("closeTileAVX2", "func(c *[89]uint64, dst *[16]uint64, base *[2][16]uint64, work *[864]uint64, rows int)",
		"reduces the sums of `rows` rows.", "c", "dst", "base", "work", "rows")
	c, dst, base, sums, rows := p[0], p[1], p[2], p[3], p[4]
	squares, loaded := k.Part(sums, 0, 0), map[int]reg.VecVirtual{}
	for _, off := range [...]int{atMask, atExcess, atUpper, atBits, atTopMask, atTop, atQ} {
		loaded[off] = k.constant(c, off, k.YMM())
	}
	k.Count("close_row", rows, func() {
		var square [2]reg.VecVirtual
		for i := range square {
			// Every lane becomes the sum of four.
			v, t := k.YMM(), k.YMM()
			k.VMOVDQU(at(squares, atSquares+(atLowSquares-atSquares)*i), v)
			k.VPERM2I128(Imm(1), v, v, t)
			k.VPADDQ(t, v, v)
			k.VPSHUFD(Imm(0x4e), v, t)
			k.VPADDQ(t, v, v)
			square[i] = v
		}
		for g := range 4 {
			var sum [2]reg.VecVirtual
			for i := range sum {
				v := k.YMM()
				k.VMOVDQU(at(sums, atLow*i+32*g), v)
				k.VPADDQ(at(base, 128*i+32*g), v, v)
				k.VPSUBQ(square[i], v, v)
				sum[i] = v
			}
			k.VMOVDQU(k.closeAVX2(func(off int) reg.VecVirtual { return loaded[off] }, [3]reg.VecVirtual{sum[1], nil, sum[0]}), at(dst, 32*g))
		}
		k.Advance(128, sums, dst)
		k.Advance(32, squares)
	})
	k.End()
}
