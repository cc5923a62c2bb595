package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// These kernels multiply rows by eight interleaved vectors at a time, one in
// each lane of a register.

func (k kernels) lanes512() {
	p := k.Begin("lanesAVX512", "func(sum *[8]uint64, row, x *uint64, n int)", "computes DotLanes of n words.", "sum", "row", "x", "n")
	sum, row, x, n := p[0], p[1], p[2], p[3]
	acc := k.zeros(4)
	k.VMOVDQU64(at(sum, 0), acc[0])
	step := func(i int) {
		z := k.ZMM()
		k.VMOVDQU64(at(x, 64*i), z)
		k.VPMULLQ_BCST(at(row, 8*i), z, z)
		k.VPADDQ(z, acc[i], acc[i])
	}
	k.Count("lanes_4", k.Part(n, 0, 2), func() {
		for i := range 4 {
			step(i)
		}
		k.Advance(32, row)
		k.Advance(256, x)
	})
	k.Count("lanes_1", k.Part(n, 3, 0), func() {
		step(0)
		k.Advance(8, row)
		k.Advance(64, x)
	})
	k.VPADDQ(acc[3], acc[2], acc[2])
	k.VPADDQ(acc[1], acc[0], acc[0])
	k.VPADDQ(acc[2], acc[0], acc[0])
	k.VMOVDQU64(acc[0], at(sum, 0))
	k.End()
}

// tile512 emits the kernel for the product of four rows and groups of eight
// interleaved vectors by Winograd's identity (see modq.Tile).
func (k kernels) tile512(name string, groups int) {
	dstOf, vectors, pairsOf := "[4][8]uint64", "x0", "p0"
	if groups == 2 {
		dstOf, vectors, pairsOf = "[2][4][8]uint64", "x0, x1", "p0, p1"
	}
	k.Begin(name, fmt.Sprintf("func(dst *%s, r0, r1, r2, r3, %s *uint64, n int, %s *[8]uint64, ahead uintptr)", dstOf, vectors, pairsOf),
		fmt.Sprintf("computes Tile for %d vectors.", 8*groups))
	r := k.Params("r0", "r1", "r2", "r3")
	x := k.Params([]string{"x0", "x1"}[:groups]...)
	p := k.Params("n", "ahead")
	n, ahead := p[0], p[1]
	acc := k.zeros(len(r) * groups) // acc[q*groups+g]
	own := make([]reg.GPVirtual, len(r))
	for q := range own {
		own[q] = k.GP64()
		k.XORQ(own[q], own[q])
	}
	k.Count(name, k.Part(n, 0, 1), func() {
		k.PREFETCHT1(at(ahead, 0))
		even, odd := make([]reg.VecVirtual, groups), make([]reg.VecVirtual, groups)
		for g := range x {
			even[g], odd[g] = k.ZMM(), k.ZMM()
			k.VMOVDQU64(at(x[g], 0), even[g])
			k.VMOVDQU64(at(x[g], 64), odd[g])
		}
		for q := range r {
			for g := range x {
				a, b := k.ZMM(), k.ZMM()
				k.VPADDQ_BCST(at(r[q], 0), odd[g], a)
				k.VPADDQ_BCST(at(r[q], 8), even[g], b)
				k.VPMULLQ(a, b, a)
				k.VPADDQ(a, acc[q*groups+g], acc[q*groups+g])
			}
			// The scalar multiplier, otherwise idle, multiplies row pairs.
			pair := k.GP64()
			k.MOVQ(at(r[q], 0), pair)
			k.IMULQ(at(r[q], 8), pair)
			k.ADDQ(pair, own[q])
		}
		k.Advance(16, r...)
		k.Advance(128, x...)
		k.Advance(64, ahead)
	})
	k.TESTQ(U32(1), n)
	k.JZ(LabelRef(name + "_even"))
	for q := range r {
		for g := range x {
			z := k.ZMM()
			k.VMOVDQU64(at(x[g], 0), z)
			k.VPMULLQ_BCST(at(r[q], 0), z, z)
			k.VPADDQ(z, acc[q*groups+g], acc[q*groups+g])
		}
	}
	k.Label(name + "_even")
	dst := k.Params("dst")[0]
	pairs := k.Params([]string{"p0", "p1"}[:groups]...)
	for q := range r {
		mine := k.ZMM()
		k.VPBROADCASTQ(own[q], mine)
		for g := range x {
			z := acc[q*groups+g]
			k.VPSUBQ(mine, z, z)
			k.VPSUBQ(at(pairs[g], 0), z, z)
			k.VMOVDQU64(z, at(dst, 256*g+64*q))
		}
	}
	k.End()
}
