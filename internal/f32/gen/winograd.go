package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The points of the transforms are 0, ±a, ±b and ∞. These have about half the
// rounding errors of the usual 0, ±1, ±2 and ∞.
const a, b = 0.75, 1.5

// factor returns a constant in a register if there are enough of them, and
// otherwise in memory.
func (k kernels) factor(v float32) Op {
	if k.lanes == 16 {
		return k.load(k.float(v))
	}
	return k.float(v)
}

// winograd emits the kernels of f32/winograd.go.
func (k kernels) winograd() {
	k.halves()
	k.fours()
	k.winogradWeights()
	k.winogradIn()
	k.winogradOut()
}

// transposed transposes each group of four lanes of four registers.
func (k kernels) transposed(x [4]reg.VecVirtual) (out [4]reg.VecVirtual) {
	for i, unpack := range []func(...Op){k.VUNPCKLPS, k.VUNPCKHPS} {
		low, high := k.of(unpack, x[1], x[0]), k.of(unpack, x[3], x[2])
		out[2*i], out[2*i+1] = k.of(k.VUNPCKLPD, high, low), k.of(k.VUNPCKHPD, high, low)
	}
	return out
}

func (k kernels) halves() {
	p := k.Begin("halves"+k.name, "func(even, odd, x *float32, vectors int)", "computes Halves over whole registers.", "even", "odd", "x", "vectors")
	k.Count("one", p[3], func() {
		x, y := k.load(at(p[2], 0)), k.load(at(p[2], k.bytes()))
		for i, to := range p[:2] {
			k.VMOVUPS(k.alternate(i, x, y), at(to, 0))
		}
		k.Advance(2*k.bytes(), p[2])
		k.Advance(k.bytes(), p[0], p[1])
	})
	k.End()
}

func (k kernels) fours() {
	p := k.Begin("fours"+k.name, "func(out, x *float32, plane, outStep, step, rows, vectors int)",
		"sets out[j·plane + t] to x[4·t + j] for j from 0 to 5 and whole registers of t, for each row. Distances are in bytes. It reads four values beyond the last t.",
		"out", "x", "plane", "outStep", "step", "rows", "vectors")
	out, x, plane, outStep, step, rows, n := p[0], p[1], p[2], p[3], p[4], p[5], p[6]
	k.Count("row", rows, func() {
		first, line, left := k.runAt(out, plane), k.runAt(x, step), k.Part(n, 0, 0)
		k.Count("one", left, func() {
			to := k.runAt(first.at, plane)
			for from, used := range []int{4, 2} {
				var q [4]reg.VecVirtual
				for i := range q {
					q[i] = k.vec()
					k.VMOVUPS(at(line.at, 16*(i+from)), q[i].AsX())
					for lane := 1; lane < k.lanes/4; lane++ {
						m := at(line.at, 16*(4*lane+i+from))
						if k.lanes == 16 {
							k.VINSERTF32X4(Imm(uint64(lane)), m, q[i], q[i])
						} else {
							k.VINSERTF128(Imm(uint64(lane)), m, q[i], q[i])
						}
					}
				}
				q = k.transposed(q)
				k.write(to, q[:used])
			}
			k.Advance(4*k.bytes(), line.at)
			k.Advance(k.bytes(), first.at)
		})
		k.ADDQ(outStep, out)
		k.ADDQ(step, x)
	})
	k.End()
}

// of returns the result of an instruction with two operands.
func (k kernels) of(instruction func(...Op), x, y Op) reg.VecVirtual {
	out := k.vec()
	instruction(x, y, out)
	return out
}

func (k kernels) plus(x, y reg.VecVirtual) reg.VecVirtual  { return k.of(k.VADDPS, y, x) }
func (k kernels) minus(x, y reg.VecVirtual) reg.VecVirtual { return k.of(k.VSUBPS, y, x) }

// sum returns y + x·factor.
func (k kernels) sum(factor Op, x, y reg.VecVirtual) reg.VecVirtual {
	out := k.vec()
	k.VMOVUPS(y, out)
	k.VFMADD231PS(factor, x, out)
	return out
}

// difference returns y − x·factor.
func (k kernels) difference(factor Op, x, y reg.VecVirtual) reg.VecVirtual {
	out := k.vec()
	k.VMOVUPS(y, out)
	k.VFNMADD231PS(factor, x, out)
	return out
}

// A run is a sequence of vectors `step` bytes apart.
type run struct{ at, step reg.GPVirtual }

// runAt copies the address, because reading and writing advance it.
func (k kernels) runAt(address, step reg.GPVirtual) run {
	r := run{k.GP64(), step}
	k.MOVQ(address, r.at)
	return r
}

func (k kernels) read(r run, n int) []reg.VecVirtual {
	x := make([]reg.VecVirtual, n)
	for i := range x {
		x[i] = k.load(at(r.at, 0))
		k.ADDQ(r.step, r.at)
	}
	return x
}

func (k kernels) write(r run, x []reg.VecVirtual) {
	for _, v := range x {
		k.VMOVUPS(v, at(r.at, 0))
		k.ADDQ(r.step, r.at)
	}
}

// repeat emits a loop instead of the same code n times.
func (k kernels) repeat(label string, n uint64, body func()) {
	count := k.GP64()
	k.MOVQ(U32(uint32(n)), count)
	k.Count(label, count, body)
}

// multiple returns n·x for n of 3 or 6.
func (k kernels) multiple(n int, x reg.GPVirtual) reg.GPVirtual {
	out := k.GP64()
	k.MOVQ(x, out)
	k.ADDQ(x, out)
	k.ADDQ(x, out)
	if n == 6 {
		k.ADDQ(out, out)
	}
	return out
}

func (k kernels) winogradWeights() {
	p := k.Begin("winogradWeights"+k.name, "func(out, w *float32, step, plane, vectors int)",
		"transforms whole registers of weights. Tap t of weight i is w[t·plane + i]. Its 36 values become out[n·step + i]. Distances are in bytes.",
		"out", "w", "step", "plane", "vectors")
	out, w, step, plane, n := p[0], p[1], p[2], p[3], p[4]
	const ofA, ofB = 1 / (2 * a * a * (a*a - b*b)), 1 / (2 * b * b * (b*b - a*a))
	first, a0, a1, a2 := k.factor(1/(a*a*b*b)), k.factor(ofA), k.factor(ofA*a), k.factor(ofA*a*a)
	b0, b1, b2 := k.factor(ofB), k.factor(ofB*b), k.factor(ofB*b*b)
	by := func(factor Op, x reg.VecVirtual) reg.VecVirtual { return k.of(k.VMULPS, factor, x) }
	one := func(g []reg.VecVirtual) []reg.VecVirtual {
		even, more := k.sum(a2, g[2], by(a0, g[0])), k.sum(b2, g[2], by(b0, g[0]))
		return []reg.VecVirtual{by(first, g[0]), k.sum(a1, g[1], even), k.difference(a1, g[1], even), k.sum(b1, g[1], more), k.difference(b1, g[1], more), g[2]}
	}
	three, six := k.multiple(3, plane), k.multiple(6, step)
	k.Count("one", n, func() {
		// As in the other transforms, columns go to memory, and then rows are
		// transformed there.
		from, to := k.runAt(w, plane), k.runAt(out, step)
		k.repeat("column", 3, func() {
			k.write(k.runAt(to.at, six), one(k.read(k.runAt(from.at, three), 3)))
			k.ADDQ(plane, from.at)
			k.ADDQ(step, to.at)
		})
		to = k.runAt(out, step)
		k.repeat("row", 6, func() { k.write(to, one(k.read(k.runAt(to.at, step), 3))) })
		k.Advance(k.bytes(), w, out)
	})
	k.End()
}

func (k kernels) winogradIn() {
	p := k.Begin("winogradIn"+k.name, "func(out, x *float32, plane, row, step, vectors int)",
		"transforms whole registers of tiles. Value (i, j) of tile t is x[(i%4·6 + j)·plane + i/4·row + t] and becomes out[(6·i + j)·step + t]. Distances are in bytes.",
		"out", "x", "plane", "row", "step", "vectors")
	out, x, plane, row, step, n := p[0], p[1], p[2], p[3], p[4], p[5]
	both, product := k.factor(a*a+b*b), k.factor(a*a*b*b)
	fa, fb, fa2, fb2 := k.factor(a), k.factor(b), k.factor(a*a), k.factor(b*b)
	one := func(d []reg.VecVirtual) []reg.VecVirtual {
		first, last := k.sum(product, d[0], d[4]), k.sum(product, d[1], d[5])
		k.VFNMADD231PS(both, d[2], first)
		k.VFNMADD231PS(both, d[3], last)
		even, odd := k.difference(fb2, d[2], d[4]), k.difference(fb2, d[1], d[3])
		k.VFNMADD231PS(fa2, d[2], d[4])
		k.VFNMADD231PS(fa2, d[1], d[3])
		return []reg.VecVirtual{first, k.sum(fa, odd, even), k.difference(fa, odd, even), k.sum(fb, d[3], d[4]), k.difference(fb, d[3], d[4]), last}
	}
	sixPlanes, six := k.multiple(6, plane), k.multiple(6, step)
	k.Count("one", n, func() {
		from, to := k.runAt(x, plane), k.runAt(out, step)
		k.repeat("column", 6, func() {
			d := k.read(k.runAt(from.at, sixPlanes), 4)
			second := k.runAt(from.at, sixPlanes)
			k.ADDQ(row, second.at)
			k.write(k.runAt(to.at, six), one(append(d, k.read(second, 2)...)))
			k.ADDQ(plane, from.at)
			k.ADDQ(step, to.at)
		})
		from, to = k.runAt(out, step), k.runAt(out, step)
		k.repeat("row", 6, func() { k.write(to, one(k.read(from, 6))) })
		k.Advance(k.bytes(), x, out)
	})
	k.End()
}

func (k kernels) winogradOut() {
	p := k.Begin("winogradOut"+k.name, "func(out, x *float32, step, line, vectors int, bias, lo, hi float32)",
		"transforms whole registers of tiles. Value (i, j) of tile t is x[(6·i + j)·step + t]. Result (a, b) plus bias, within lo and hi, becomes "+
			"out[a·line + 4·t + b]. Distances are in bytes. It overwrites x.", "out", "x", "step", "line", "vectors")
	out, x, step, line, n := p[0], p[1], p[2], p[3], p[4]
	bias, lo, hi := k.number("bias"), k.number("lo"), k.number("hi")
	a1, a2, a3 := k.factor(a), k.factor(a*a), k.factor(a*a*a)
	b1, b2, b3 := k.factor(b), k.factor(b*b), k.factor(b*b*b)
	one := func(m []reg.VecVirtual) []reg.VecVirtual {
		even, odd := k.plus(m[1], m[2]), k.minus(m[1], m[2])
		more, most := k.plus(m[3], m[4]), k.minus(m[3], m[4])
		y := []reg.VecVirtual{k.plus(k.plus(m[0], even), more), k.of(k.VMULPS, a1, odd), k.of(k.VMULPS, a2, even), k.sum(a3, odd, m[5])}
		k.VFMADD231PS(b1, most, y[1])
		k.VFMADD231PS(b2, more, y[2])
		k.VFMADD231PS(b3, most, y[3])
		return y
	}
	six := k.multiple(6, step)
	k.Count("one", n, func() {
		column := k.runAt(x, step)
		k.repeat("column", 6, func() {
			m := k.read(k.runAt(column.at, six), 6)
			k.write(k.runAt(column.at, six), one(m))
			k.ADDQ(step, column.at)
		})
		from, to := k.runAt(x, step), k.runAt(out, line)
		k.repeat("row", 4, func() {
			y := one(k.read(from, 6))
			for _, v := range y {
				k.VADDPS(bias, v, v)
				// As in a tile, NaN stays NaN.
				k.VMAXPS(v, lo, v)
				k.VMINPS(v, hi, v)
			}
			for i, q := range k.transposed([4]reg.VecVirtual(y)) {
				k.VMOVUPS(q.AsX(), at(to.at, 16*i))
				for lane := 1; lane < k.lanes/4; lane++ {
					m := at(to.at, 16*(4*lane+i))
					if k.lanes == 16 {
						k.VEXTRACTF32X4(Imm(uint64(lane)), q, m)
					} else {
						k.VEXTRACTF128(Imm(uint64(lane)), q, m)
					}
				}
			}
			k.ADDQ(line, to.at)
		})
		k.Advance(k.bytes(), x)
		k.Advance(4*k.bytes(), out)
	})
	k.End()
}
