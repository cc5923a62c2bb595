package main

import (
	"math"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (k kernels) dot() {
	p := k.Begin("dot"+k.name, "func(x, y *float32, vectors int) float32", "computes Dot over whole registers.", "x", "y", "vectors")
	x, y, n := p[0], p[1], p[2]
	acc := k.zeros(4)
	k.each(n, func(i int) { k.VFMADD231PS(at(y, i*k.bytes()), k.load(at(x, i*k.bytes())), acc[i]) }, x, y)
	low := k.folded(k.VADDPS, acc)
	k.VHADDPS(low, low, low)
	k.VHADDPS(low, low, low)
	k.Store(low, k.ReturnIndex(0))
	k.End()
}

// folded combines four registers to four lanes.
func (k kernels) folded(combine func(...Op), acc []reg.VecVirtual) reg.Register {
	combine(acc[1], acc[0], acc[0])
	combine(acc[3], acc[2], acc[2])
	combine(acc[2], acc[0], acc[0])
	if k.lanes == 16 {
		high := k.YMM()
		k.VEXTRACTF64X4(Imm(1), acc[0], high)
		combine(high, acc[0].AsY(), acc[0].AsY())
	}
	low, high := acc[0].AsX(), k.XMM()
	k.VEXTRACTF128(Imm(1), acc[0].AsY(), high)
	combine(high, low, low)
	return low
}

func (k kernels) axpy() {
	p := k.Begin("axpy"+k.name, "func(a float32, x, y *float32, vectors int)", "computes Axpy over whole registers.", "x", "y", "vectors")
	x, y, n := p[0], p[1], p[2]
	a := k.number("a")
	k.each(n, func(i int) {
		sum := k.load(at(y, i*k.bytes()))
		k.VFMADD231PS(at(x, i*k.bytes()), a, sum)
		k.VMOVUPS(sum, at(y, i*k.bytes()))
	}, x, y)
	k.End()
}

// each emits function `step` for four registers at a time, then for one at a
// time. `n` is the number of registers. The loops advance the pointers.
func (k kernels) each(n reg.GPVirtual, step func(i int), pointers ...reg.GPVirtual) {
	k.Count("four", k.Part(n, 0, 2), func() {
		for i := range 4 {
			step(i)
		}
		k.Advance(4*k.bytes(), pointers...)
	})
	k.Count("one", k.Part(n, 3, 0), func() {
		step(0)
		k.Advance(k.bytes(), pointers...)
	})
}

func (k kernels) line() {
	p := k.Begin("line"+k.name, "func(out, in *float32, by, plus, lo, hi float32, vectors int)", "computes Line over whole registers.", "out", "in", "vectors")
	by, plus, lo, hi := k.number("by"), k.number("plus"), k.number("lo"), k.number("hi")
	k.each(p[2], func(i int) {
		x := k.load(at(p[1], i*k.bytes()))
		k.VFMADD213PS(plus, by, x)
		// As in a tile, NaN stays NaN.
		k.VMAXPS(x, lo, x)
		k.VMINPS(x, hi, x)
		k.VMOVUPS(x, at(p[0], i*k.bytes()))
	}, p[0], p[1])
	k.End()
}

func (k kernels) times() {
	p := k.Begin("times"+k.name, "func(out, x, y *float32, vectors int)", "computes Times over whole registers.", "out", "x", "y", "vectors")
	k.each(p[3], func(i int) {
		x := k.load(at(p[1], i*k.bytes()))
		k.VMULPS(at(p[2], i*k.bytes()), x, x)
		k.VMOVUPS(x, at(p[0], i*k.bytes()))
	}, p[0], p[1], p[2])
	k.End()
}

func (k kernels) larger() {
	p := k.Begin("larger"+k.name, "func(out, x, y *float32, vectors int)", "computes Larger over whole registers.", "out", "x", "y", "vectors")
	k.each(p[3], func(i int) {
		x, y := k.load(at(p[1], i*k.bytes())), k.load(at(p[2], i*k.bytes()))
		k.atLeast(x, y)
		k.VMOVUPS(y, at(p[0], i*k.bytes()))
	}, p[0], p[1], p[2])
	k.End()
}

// atLeast raises y to x. It computes the maximum in both operand orders and
// combines the bits, because VMAXPS returns the second source if an operand is
// NaN.
func (k kernels) atLeast(x, y reg.VecVirtual) {
	z := k.of(k.VMAXPS, x, y)
	k.VMAXPS(y, x, y)
	k.VORPS(z, y, y)
}

func (k kernels) largest() {
	p := k.Begin("largest"+k.name, "func(x *float32, vectors int) float32", "computes Largest over whole registers.", "x", "vectors")
	acc := make([]reg.VecVirtual, 4)
	for i := range acc {
		acc[i] = k.load(k.float(float32(math.Inf(-1))))
	}
	// If x is NaN, VMAXPS returns its second source, the maximum so far.
	k.each(p[1], func(i int) { k.VMAXPS(acc[i], k.load(at(p[0], i*k.bytes())), acc[i]) }, p[0])
	low, high := k.folded(k.VMAXPS, acc), k.XMM()
	k.VMOVHLPS(low, low, high)
	k.VMAXPS(high, low, low)
	k.VMOVSHDUP(low, high)
	k.VMAXPS(high, low, low)
	k.Store(low, k.ReturnIndex(0))
	k.End()
}

// widen adds float32 to float64 values, half a register at a time.
func (k kernels) widen() {
	p := k.Begin("widen"+k.name, "func(sum *float64, x *float32, vectors int)", "computes AddTo64 over whole registers.", "sum", "x", "vectors")
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
	k.End()
}

// less returns a mask of the lanes in which x < y, which excludes NaN.
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

func (k kernels) choose(mask reg.Register, yes, no reg.VecVirtual) reg.VecVirtual {
	out := k.vec()
	if k.lanes == 16 {
		k.VBLENDMPS(yes, no, mask, out)
	} else {
		k.VBLENDVPS(mask, yes, no, out)
	}
	return out
}

// centre computes half a register at a time, with differences in float64.
func (k kernels) centre() {
	p := k.Begin("centre"+k.name, "func(out, x *float32, mean *float64, scale float64, vectors int)", "computes Centre over whole registers.", "out", "x", "mean", "vectors")
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
	k.End()
}
