package main

import (
	"fmt"
	"math"
)

// A pair is two registers that hold eight values. Both are the same register if
// all values are equal.
type pair [2]vector

func (k *kernels) pair() pair {
	if len(k.free) == 0 {
		panic("no free registers") // a bug in the generator
	}
	v := k.free[0]
	k.free = k.free[1:]
	return pair{v, v + 1}
}

func (k *kernels) release(all ...pair) {
	for _, p := range all {
		k.free = append(k.free, p[0])
	}
}

func (k *kernels) copy(of pair) pair {
	p := k.pair()
	for i := range p {
		k.op("VMOV", of[i].bytes(), p[i].bytes())
	}
	return p
}

// each emits f for both registers of each pair, the result first.
func (k *kernels) each(f form, operands ...pair) pair {
	for i := range 2 {
		var registers []vector
		for _, o := range operands {
			registers = append(registers, o[i])
		}
		k.word(f, registers...)
	}
	return operands[0]
}

// native is each for an instruction of Go's assembler, with the result last.
func (k *kernels) native(name string, view func(vector) string, operands ...any) {
	for i := range 2 {
		all := make([]any, len(operands))
		for j, o := range operands {
			all[j] = o
			if p, ok := o.(pair); ok {
				all[j] = view(p[i])
			}
		}
		k.op(name, all...)
	}
}

const (
	signBit           = 1 << 31
	erfNear, tanhNear = 0.927734375, 0.625
	ln2High, ln2Low   = 0.693359375, -2.12194440e-4
	table             = general(3) // the address of the middle of the constants
	tableMiddle       = 1024       // FLDPQ reaches 1,024 bytes to either side
	constant          = vector(31) // holds short-lived constants
)

// V24 to V30 hold constants of exp, as in ofExp. Lower registers form pairs.
const firstOfExp = vector(24)

var (
	lowest, highest = pair{24, 24}, pair{25, 25}
	log2E           = pair{26, 26}
	high, low       = pair{27, 27}, pair{28, 28}
	one, exponent   = pair{29, 29}, pair{30, 30}
	ofExp           = []uint32{
		math.Float32bits(-104), math.Float32bits(89), math.Float32bits(math.Log2E), math.Float32bits(ln2High),
		math.Float32bits(ln2Low), math.Float32bits(1), 127,
	}
)

// offset returns the place of a constant, repeated eight times in the table.
func (k *kernels) offset(v uint32) string {
	if k.constants == nil {
		k.constants = map[uint32]int{}
	}
	at, ok := k.constants[v]
	if !ok {
		at = 32 * len(k.constants)
		k.constants[v] = at
		for i := range 4 {
			fmt.Fprintf(&k.data, "\nDATA constants<>+%d(SB)/8, $0x%08x%08[2]x", at+8*i, v)
		}
	}
	return table.at(at - tableMiddle)
}

// bits loads a constant that the next instructions use.
func (k *kernels) bits(v uint32) pair {
	k.op("FMOVQ", k.offset(v), constant.scalar())
	return pair{constant, constant}
}

func (k *kernels) float(v float32) pair { return k.bits(math.Float32bits(v)) }

// horner returns …(sum·x + c₀)·x + … and releases `sum`.
func (k *kernels) horner(sum, x pair, coefficients ...float32) pair {
	for _, c := range coefficients {
		next := k.polynomial(c)
		k.each(fmla, next, sum, x)
		k.release(sum)
		sum = next
	}
	return sum
}

// polynomial returns a pair filled with its first coefficient.
func (k *kernels) polynomial(c float32) pair {
	p := k.pair()
	k.op("FLDPQ", k.offset(math.Float32bits(c)), fmt.Sprintf("(%s, %s)", p[0].scalar(), p[1].scalar()))
	return p
}

// functions emits the functions that f32/functions.go explains.
func (k *kernels) functions() {
	k.function("exp", k.exp)
	k.function("erf", k.erf)
	k.function("tanh", k.tanh)
	k.function("sigmoid", func(x pair) pair {
		y := k.exp(k.each(fmin, x, k.each(fneg, x, x), k.float(41)))
		k.each(fadd, y, y, one)
		return k.each(fdiv, y, one, y)
	})
	k.function("gelu", func(x pair) pair {
		arg := k.each(fmul, k.pair(), x, k.float(math.Sqrt2/2))
		y := k.erf(arg)
		k.each(fmul, x, x, k.float(0.5))
		return k.each(fmla, x, x, y)
	})
	fmt.Fprintf(&k.data, "\nGLOBL constants<>(SB), RODATA|NOPTR, $%d\n", 32*len(k.constants))
}

func (k *kernels) function(name string, f func(x pair) pair) {
	k.begin(name+"NEON", "computes the function over whole registers.", "out, in *float32, registers int", "")
	p := k.load("out", "in", "registers")
	k.op("MOVD", fmt.Sprintf("$constants<>+%d(SB)", tableMiddle), table)
	for i, v := range ofExp {
		k.op("FMOVQ", k.offset(v), (firstOfExp + vector(i)).scalar())
	}
	k.free = nil
	for v := vector(0); v < firstOfExp; v += 2 {
		k.free = append(k.free, v)
	}
	k.count("one", p[2], func() {
		x := k.pair()
		k.op("VLD1.P", p[1].at(32), x[0].list(2))
		k.op("VST1.P", f(x)[0].list(2), p[0].at(32))
	})
	k.op("RET")
}

// exp overwrites x with its result.
func (k *kernels) exp(x pair) pair {
	k.each(fmax, x, x, lowest)
	k.each(fmin, x, x, highest)
	n, whole := k.pair(), k.pair()
	k.each(fmul, n, x, log2E)
	k.each(fcvtns, n, n)
	k.each(scvtf, whole, n)
	k.each(fmls, x, whole, high)
	k.each(fmls, x, whole, low)
	k.release(whole)
	y := k.horner(k.polynomial(1.9875691500e-4), x, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := k.each(fmul, k.pair(), x, x)
	k.each(fmla, x, y, square)
	k.each(fadd, x, x, one)
	k.release(y, square)
	// 2ⁿ in two factors, because n may exceed the exponents of float32.
	half := k.each(sshr1, k.pair(), n)
	k.native("VSUB", vector.String, half, n, n)
	for _, e := range []pair{half, n} {
		k.native("VADD", vector.String, exponent, e, e)
		k.native("VSHL", vector.String, "$23", e, e)
		k.each(fmul, x, x, e)
	}
	k.release(half, n)
	return x
}

func (k *kernels) erf(x pair) pair {
	t := k.each(fabs, k.pair(), x)
	square := k.each(fmul, k.pair(), x, x)
	p := k.horner(k.polynomial(-5.96761703e-4), square, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
	near := k.copy(x)
	k.each(fmla, near, p, x)
	k.release(p)
	p = k.horner(k.polynomial(-1.72853470e-5), t, 3.83197126e-4)
	far := k.horner(k.polynomial(-3.88396438e-3), t, 2.42546219e-2)
	k.each(fmla, far, p, square)
	k.release(p)
	far = k.horner(far, t, -1.06777877e-1, -6.34846687e-1, -1.28717512e-1)
	p = k.each(fneg, k.pair(), t)
	k.each(fmla, p, far, t)
	k.release(far)
	far = k.exp(p)
	k.each(fsub, far, one, far)
	return k.choose(x, t, near, far, erfNear)
}

func (k *kernels) tanh(x pair) pair {
	t := k.each(fabs, k.pair(), x)
	square := k.each(fmul, k.pair(), x, x)
	p := k.horner(k.polynomial(-5.70498872745e-3), square, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	k.each(fmul, p, p, square)
	near := k.copy(x)
	k.each(fmla, near, p, x)
	far := k.each(fadd, k.pair(), t, t)
	k.exp(far)
	k.each(fadd, far, far, one)
	k.each(fdiv, far, k.float(2), far)
	k.each(fsub, far, one, far)
	return k.choose(x, t, near, far, tanhNear)
}

// choose returns `far` with the sign of x, or `near` where t = |x| is below the
// bound.
func (k *kernels) choose(x, t, near, far pair, bound float32) pair {
	k.native("VBIT", vector.bytes, k.bits(signBit), x, far)
	mask := k.each(fcmgt, k.pair(), k.float(bound), t)
	k.native("VBIT", vector.bytes, mask, near, far)
	return far
}
