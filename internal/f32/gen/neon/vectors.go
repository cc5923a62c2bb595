package main

import "fmt"

// four emits `step` for four registers of eight values at a time, then for one
// at a time. It passes the number of NEON registers.
func (k *kernels) four(n general, step func(wide int)) {
	const fours = general(15)
	k.op("LSR", "$2", n, fours)
	k.count("four", fours, func() { step(8) })
	k.op("AND", "$3", n)
	k.count("one", n, func() { step(2) })
}

// fold combines V0 to V7 into V0.
func (k *kernels) fold(f form) {
	for distance := vector(4); distance > 0; distance /= 2 {
		for v := range distance {
			k.word(f, v, v, v+distance)
		}
	}
}

func (k *kernels) result() {
	k.op("FMOVS", "F0", k.parameter("ret"))
	k.op("RET")
}

func (k *kernels) dot() {
	k.begin("dotNEON", "computes Dot over whole registers.", "x, y *float32, registers int", "float32")
	p := k.load("x", "y", "registers")
	const ofX, ofY = vector(16), vector(24)
	for v := range vector(8) {
		k.op("VEOR", v.bytes(), v.bytes(), v.bytes())
	}
	k.four(p[2], func(wide int) {
		k.groups(wide, func(first vector, n int) {
			k.op("VLD1.P", p[0].at(16*n), (ofX + first).list(n))
			k.op("VLD1.P", p[1].at(16*n), (ofY + first).list(n))
			for v := range vector(n) {
				k.word(fmla, first+v, ofX+first+v, ofY+first+v)
			}
		})
	})
	k.fold(fadd)
	k.word(faddp, 0, 0, 0)
	k.word(faddp2, 0, 0)
	k.result()
}

func (k *kernels) axpy() {
	k.begin("axpyNEON", "computes Axpy over whole registers.", "a float32, x, y *float32, registers int", "")
	p := k.load("x", "y", "registers")
	const ofX, ofY, a = vector(0), vector(8), vector(16)
	k.number("a", a)
	k.four(p[2], func(wide int) {
		k.groups(wide, func(first vector, n int) {
			x, y := ofX+first, ofY+first
			k.op("VLD1.P", p[0].at(16*n), x.list(n))
			k.op("VLD1", p[1].at(0), y.list(n))
			for v := range vector(n) {
				k.word(fmla, y+v, x+v, a)
			}
			k.op("VST1.P", y.list(n), p[1].at(16*n))
		})
	})
	k.op("RET")
}

func (k *kernels) line() {
	k.begin("lineNEON", "computes Line over whole registers.", "out, in *float32, by, plus, lo, hi float32, registers int", "")
	p := k.load("out", "in", "registers")
	const by, plus, lo, hi = vector(28), vector(29), vector(30), vector(31)
	k.number("by", by)
	k.number("plus", plus)
	k.number("lo", lo)
	k.number("hi", hi)
	k.four(p[2], func(wide int) {
		k.groups(wide, func(first vector, n int) {
			x, y := first, 8+first
			k.op("VLD1.P", p[1].at(16*n), x.list(n))
			for v := range vector(n) {
				k.op("VMOV", plus.bytes(), (y + v).bytes())
				k.word(fmla, y+v, x+v, by)
				k.word(fmax, y+v, y+v, lo)
				k.word(fmin, y+v, y+v, hi)
			}
			k.op("VST1.P", y.list(n), p[0].at(16*n))
		})
	})
	k.op("RET")
}

func (k *kernels) times() { k.both("times", "Times", fmul) }

func (k *kernels) larger() { k.both("larger", "Larger", fmax) }

// both emits a kernel that combines x and y value by value.
func (k *kernels) both(name, exported string, f form) {
	k.begin(name+"NEON", fmt.Sprintf("computes %s over whole registers.", exported), "out, x, y *float32, registers int", "")
	p := k.load("out", "x", "y", "registers")
	k.four(p[3], func(wide int) {
		k.groups(wide, func(first vector, n int) {
			x, y := first, 8+first
			k.op("VLD1.P", p[1].at(16*n), x.list(n))
			k.op("VLD1.P", p[2].at(16*n), y.list(n))
			for v := range vector(n) {
				k.word(f, x+v, x+v, y+v)
			}
			k.op("VST1.P", x.list(n), p[0].at(16*n))
		})
	})
	k.op("RET")
}

// largest compares and selects, because fmaxnm ignores only quiet NaNs.
func (k *kernels) largest() {
	k.begin("largestNEON", "computes Largest over whole registers.", "x *float32, registers int", "float32")
	p := k.load("x", "registers")
	const ofX, greater, bits = vector(8), vector(16), general(2)
	k.op("MOVD", "$0xff800000", bits) // −∞
	for v := range vector(8) {
		k.op("VDUP", bits, v)
	}
	k.four(p[1], func(wide int) {
		k.groups(wide, func(first vector, n int) {
			k.op("VLD1.P", p[0].at(16*n), (ofX + first).list(n))
			for v := first; v < first+vector(n); v++ {
				k.word(fcmgt, greater+v, ofX+v, v)
				k.op("VBIT", (greater + v).bytes(), (ofX + v).bytes(), v.bytes())
			}
		})
	})
	k.fold(fmax)
	k.word(fmaxv, 0, 0)
	k.result()
}

// widened loads eight float32 values from x as float64 into V4 to V7, and eight
// float64 values from `wide` into V16 to V19.
func (k *kernels) widened(x general, wide string, from string) {
	k.op("VLD1.P", x.at(32), vector(0).list(2))
	for v := range vector(2) {
		k.word(fcvtl, 4+2*v, v)
		k.word(fcvtl2, 5+2*v, v)
	}
	k.op(wide, from, vector(16).list(4))
}

func (k *kernels) widen() {
	k.begin("widenNEON", "computes AddTo64 over whole registers.", "sum *float64, x *float32, registers int", "")
	p := k.load("sum", "x", "registers")
	k.count("one", p[2], func() {
		k.widened(p[1], "VLD1", p[0].at(0))
		for v := range vector(4) {
			k.word(addWide, 4+v, 4+v, 16+v)
		}
		k.op("VST1.P", vector(4).list(4), p[0].at(64))
	})
	k.op("RET")
}

// centre computes the differences in float64.
func (k *kernels) centre() {
	k.begin("centreNEON", "computes Centre over whole registers.", "out, x *float32, mean *float64, scale float64, registers int", "")
	p := k.load("out", "x", "mean", "registers")
	const scale = vector(31)
	k.op("FMOVD", k.parameter("scale"), scale.scalar())
	k.op("VDUP", fmt.Sprintf("V%d.D[0]", int(scale)), fmt.Sprintf("V%d.D2", int(scale)))
	k.count("one", p[3], func() {
		k.widened(p[1], "VLD1.P", p[2].at(64))
		for v := range vector(4) {
			k.word(subWide, 4+v, 4+v, 16+v)
			k.word(mulWide, 4+v, 4+v, scale)
		}
		for v := range vector(2) {
			k.word(fcvtn, v, 4+2*v)
			k.word(fcvtn2, v, 5+2*v)
		}
		k.op("VST1.P", vector(0).list(2), p[0].at(32))
	})
	k.op("RET")
}
