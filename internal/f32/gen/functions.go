package main

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// constants is a table of registers in the assembly file.
type constants struct {
	known map[[2]uint32]Mem
	next  int
	base  Mem
}

func (k kernels) bits(v uint32) Mem { return k.sequence(v, 0) }

// sequence returns the address of lanes v, v + step, …
func (k kernels) sequence(v, step uint32) Mem {
	c := k.constants
	if c.known == nil {
		c.known = map[[2]uint32]Mem{}
		c.base = k.StaticGlobal("constants" + k.name)
		k.DataAttributes(attr.RODATA | attr.NOPTR)
	}
	if m, ok := c.known[[2]uint32{v, step}]; ok {
		return m
	}
	m := c.base.Offset(c.next)
	for i := range k.lanes {
		k.AddDatum(c.next, U32(v+uint32(i)*step))
		c.next += 4
	}
	c.known[[2]uint32{v, step}] = m
	return m
}

func (k kernels) float(v float32) Mem { return k.bits(math.Float32bits(v)) }

// horner returns …(c₀·x + c₁)·x + …
func (k kernels) horner(x reg.VecVirtual, coefficients ...float32) reg.VecVirtual {
	sum := k.load(k.float(coefficients[0]))
	for _, c := range coefficients[1:] {
		k.VFMADD213PS(k.float(c), x, sum)
	}
	return sum
}

// functions emits the functions that f32/functions.go explains.
func (k kernels) functions() {
	k.function("exp", func(x reg.VecVirtual) reg.VecVirtual { return k.exp(x, -104, 89) })
	k.function("erf", k.erf)
	k.function("tanh", k.tanh)
	k.function("sigmoid", k.sigmoid)
	k.function("gelu", func(x reg.VecVirtual) reg.VecVirtual {
		arg := k.vec()
		k.VMULPS(k.float(math.Sqrt2/2), x, arg)
		y := k.erf(arg)
		k.VMULPS(k.float(0.5), x, x)
		k.VFMADD213PS(x, x, y)
		return y
	})
}

func (k kernels) function(name string, f func(x reg.VecVirtual) reg.VecVirtual) {
	p := k.Begin(name+k.name, "func(out, in *float32, vectors int)", "computes the function over whole registers.", "out", "in", "vectors")
	k.Count("one", p[2], func() {
		k.VMOVUPS(f(k.load(at(p[1], 0))), at(p[0], 0))
		k.Advance(k.bytes(), p[0], p[1])
	})
	k.End()
}

// exp clips x to lo … hi. Within −87 … 88, 2ⁿ is a normal number. This suffices
// for functions that add eˣ to 1 or subtract it.
func (k kernels) exp(x reg.VecVirtual, lo, hi float32) reg.VecVirtual {
	bound := k.load(k.float(lo))
	k.VMAXPS(x, bound, x)
	k.VMOVUPS(k.float(hi), bound)
	k.VMINPS(x, bound, x)
	n, whole := k.vec(), k.vec()
	k.VMULPS(k.float(math.Log2E), x, n)
	k.VCVTPS2DQ(n, n)
	k.VCVTDQ2PS(n, whole)
	k.VFNMADD231PS(k.float(ln2High), whole, x)
	k.VFNMADD231PS(k.float(ln2Low), whole, x)
	y := k.horner(x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := k.vec()
	k.VMULPS(x, x, square)
	k.VFMADD213PS(x, square, y)
	k.VADDPS(k.float(1), y, y)
	factors := []reg.VecVirtual{n}
	if lo < -87 || hi > 88 { // two factors, because n may exceed the exponents of float32
		half := k.vec()
		k.VPSRAD(Imm(1), n, half)
		k.VPSUBD(half, n, n)
		factors = append(factors, half)
	}
	for _, e := range factors {
		k.VPADDD(k.bits(127), e, e)
		k.VPSLLD(Imm(23), e, e)
		k.VMULPS(e, y, y)
	}
	return y
}

const ln2High, ln2Low = 0.693359375, -2.12194440e-4

const signBit = 1 << 31

func (k kernels) magnitude(x reg.VecVirtual) (size, sign reg.VecVirtual) {
	size, sign = k.vec(), k.vec()
	k.VANDPS(k.bits(signBit-1), x, size)
	k.VANDPS(k.bits(signBit), x, sign)
	return size, sign
}

func (k kernels) erf(x reg.VecVirtual) reg.VecVirtual {
	t, sign := k.magnitude(x)
	square := k.vec()
	k.VMULPS(x, x, square)
	near := k.horner(square, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
	k.VFMADD213PS(x, x, near)
	far := k.horner(t, -1.72853470e-5, 3.83197126e-4)
	u := k.horner(t, -3.88396438e-3, 2.42546219e-2)
	k.VFMADD213PS(u, square, far)
	for _, c := range []float32{-1.06777877e-1, -6.34846687e-1, -1.28717512e-1} {
		k.VFMADD213PS(k.float(c), t, far)
	}
	k.VFMSUB213PS(t, t, far)
	far = k.exp(far, -87, 88)
	one := k.load(k.float(1))
	k.VSUBPS(far, one, far)
	k.VORPS(sign, far, far)
	return k.choose(k.less(k.float(erfNear), t), near, far)
}

const erfNear, tanhNear = 0.927734375, 0.625

func (k kernels) tanh(x reg.VecVirtual) reg.VecVirtual {
	t, sign := k.magnitude(x)
	square := k.vec()
	k.VMULPS(x, x, square)
	near := k.horner(square, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	k.VMULPS(square, near, near)
	k.VFMADD213PS(x, x, near)
	far := k.vec()
	k.VADDPS(t, t, far)
	far = k.exp(far, -87, 88)
	one := k.load(k.float(1))
	k.VADDPS(one, far, far)
	two := k.load(k.float(2))
	k.VDIVPS(far, two, far)
	k.VSUBPS(far, one, far)
	k.VORPS(sign, far, far)
	return k.choose(k.less(k.float(tanhNear), t), near, far)
}

func (k kernels) sigmoid(x reg.VecVirtual) reg.VecVirtual {
	k.VXORPS(k.bits(signBit), x, x)
	y := k.exp(x, -87, 41)
	one := k.load(k.float(1))
	k.VADDPS(one, y, y)
	k.VDIVPS(y, one, y)
	return y
}
