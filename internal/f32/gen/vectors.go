package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (k kernels) dot() {
	k.begin("dot"+k.name, "func(x, y *float32, vectors int) float32", "is Dot of so many whole registers.")
	p := k.Params("x", "y", "vectors")
	x, y, n := p[0], p[1], p[2]
	acc := k.zeros(4)
	step := func(i int) { k.VFMADD231PS(at(y, i*k.bytes()), k.load(at(x, i*k.bytes())), acc[i]) }
	k.Count("four", k.Part(n, 0, 2), func() {
		for i := range acc {
			step(i)
		}
		k.Advance(4*k.bytes(), x, y)
	})
	k.Count("one", k.Part(n, 3, 0), func() {
		step(0)
		k.Advance(k.bytes(), x, y)
	})
	k.VADDPS(acc[1], acc[0], acc[0])
	k.VADDPS(acc[3], acc[2], acc[2])
	k.VADDPS(acc[2], acc[0], acc[0])
	sum := acc[0].AsY()
	if k.lanes == 16 {
		high := k.YMM()
		k.VEXTRACTF64X4(Imm(1), acc[0], high)
		k.VADDPS(high, sum, sum)
	}
	low, high := acc[0].AsX(), k.XMM()
	k.VEXTRACTF128(Imm(1), sum, high)
	k.VADDPS(high, low, low)
	k.VHADDPS(low, low, low)
	k.VHADDPS(low, low, low)
	k.Store(low, k.ReturnIndex(0))
	k.end()
}

func (k kernels) axpy() {
	k.begin("axpy"+k.name, "func(a float32, x, y *float32, vectors int)", "is Axpy of so many whole registers.")
	p := k.Params("x", "y", "vectors")
	x, y, n := p[0], p[1], p[2]
	a := k.number("a")
	step := func(i int) {
		sum := k.load(at(y, i*k.bytes()))
		k.VFMADD231PS(at(x, i*k.bytes()), a, sum)
		k.VMOVUPS(sum, at(y, i*k.bytes()))
	}
	k.Count("four", k.Part(n, 0, 2), func() {
		for i := range 4 {
			step(i)
		}
		k.Advance(4*k.bytes(), x, y)
	})
	k.Count("one", k.Part(n, 3, 0), func() {
		step(0)
		k.Advance(k.bytes(), x, y)
	})
	k.end()
}

// widen adds float32 to float64, half a register at a time.
func (k kernels) widen() {
	k.begin("widen"+k.name, "func(sum *float64, x *float32, vectors int)", "is AddTo64 of so many whole registers.")
	p := k.Params("sum", "x", "vectors")
	k.Count("one", p[2], func() {
		for half := range 2 {
			wide := k.vec()
			k.VCVTPS2PD(at(p[1], half*k.bytes()/2), wide)
			k.VADDPD(at(p[0], half*k.bytes()), wide, wide)
			k.VMOVUPD(wide, at(p[0], half*k.bytes()))
		}
		k.Advance(2*k.bytes(), p[0])
		k.Advance(k.bytes(), p[1])
	})
	k.end()
}

// less returns a mask of the lanes in which x < y; not where one is not a number.
func (k kernels) less(y Op, x reg.VecVirtual) reg.Register {
	const orderedLess = 17
	if k.lanes == 16 {
		mask := k.K()
		k.VCMPPS(Imm(orderedLess), y, x, mask)
		return mask
	}
	mask := k.vec()
	k.VCMPPS(Imm(orderedLess), y, x, mask)
	return mask
}

// choose returns yes where mask is set, else no.
func (k kernels) choose(mask reg.Register, yes, no reg.VecVirtual) reg.VecVirtual {
	out := k.vec()
	if k.lanes == 16 {
		k.VBLENDMPS(yes, no, mask, out)
	} else {
		k.VBLENDVPS(mask, yes, no, out)
	}
	return out
}

// centre makes half a register at a time, with differences in float64.
func (k kernels) centre() {
	k.begin("centre"+k.name, "func(out, x *float32, mean *float64, scale float64, vectors int)", "is Centre of so many whole registers.")
	p := k.Params("out", "x", "mean", "vectors")
	scale := k.vec()
	k.VBROADCASTSD(k.Address("scale"), scale)
	k.Count("one", p[3], func() {
		for half := range 2 {
			wide := k.vec()
			k.VCVTPS2PD(at(p[1], half*k.bytes()/2), wide)
			k.VSUBPD(at(p[2], half*k.bytes()), wide, wide)
			k.VMULPD(scale, wide, wide)
			if k.lanes == 16 {
				narrow := k.YMM()
				k.VCVTPD2PS(wide, narrow)
				k.VMOVUPS(narrow, at(p[0], half*k.bytes()/2))
			} else {
				narrow := k.XMM()
				k.VCVTPD2PSY(wide, narrow)
				k.VMOVUPS(narrow, at(p[0], half*k.bytes()/2))
			}
		}
		k.Advance(2*k.bytes(), p[2])
		k.Advance(k.bytes(), p[0], p[1])
	})
	k.end()
}
