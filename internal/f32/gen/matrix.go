package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (l level) tileName(rows, vectors int) string {
	return fmt.Sprintf("tile%dx%d%s", rows, vectors*l.lanes, l.name)
}

// tile multiplies packed a (k×rows) by packed b (k×vectors·lanes) and keeps the
// sums in registers. A tile of 6 rows of 2 registers needs 8 loads. They fit
// into the 6 cycles of its 12 multiply-adds, which therefore keep the
// multipliers busy. If `few` is not 0, the kernel is a corner, which also
// multiplies up to `few` further columns of b, packed at x.
func (k kernels) tile(rows, vectors, few int) {
	name, more := k.tileName(rows, vectors), ""
	if few > 0 {
		name, more = "corner"+name[4:], ", x, moreC, moreFrom *float32, columns int"
	}
	p := k.Begin(name, "func(k int, a, b *float32, ldb, ahead, pace int, c *float32, ldc int, from *float32, step int, lo, hi float32"+more+")", "", "k", "a", "b", "ldb", "ahead", "pace", "from", "step")
	n, a, b, ldb, next, pace, from, step := p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]
	acc := make([][]reg.VecVirtual, rows)
	for r := range acc {
		for range vectors {
			acc[r] = append(acc[r], k.vec())
		}
	}
	var columns corner
	if few > 0 {
		columns = k.corner(rows, few)
	}
	k.ADDQ(b, next)
	k.CMPQ(step, I8(-1))
	k.JE(LabelRef("one_each"))
	columns.load(k, step)
	k.eachRow(rows, from, step, func(r int) {
		for v := range acc[r] {
			k.VMOVUPS(at(from, v*k.bytes()), acc[r][v])
		}
	})
	k.JMP(LabelRef("multiply"))
	k.Label("one_each")
	columns.fill(k, from)
	for r := range acc {
		for v := range acc[r] {
			k.VBROADCASTSS(at(from, 4*r), acc[r][v])
		}
	}
	k.Label("multiply")
	step1 := func(i int) {
		var y []reg.VecVirtual
		for v := range vectors {
			y = append(y, k.load(at(b, v*k.bytes())))
		}
		k.ADDQ(ldb, b)
		for r := range acc {
			x := k.vec()
			k.VBROADCASTSS(at(a, 4*(i*rows+r)), x)
			for v := range acc[r] {
				k.VFMADD231PS(y[v], x, acc[r][v])
			}
		}
		columns.add(k, at(a, 4*i*rows))
	}
	// Fetch the lines of c, which stores need.
	q := k.Params("c", "ldc")
	k.eachRow(rows, q[0], q[1], func(int) {
		for line := 0; line < vectors*k.bytes(); line += 64 {
			k.PREFETCHT0(at(q[0], line))
		}
	})
	k.Count("two", k.Part(n, 0, 1), func() {
		// Fetch a ahead, because the weights of a convolution with few pixels come
		// from main memory.
		for line := 0; line < 8*rows; line += 64 {
			k.PREFETCHT0(at(a, 2048+line))
		}
		for i := range 2 {
			// Fetch b ahead, because weights of a linear layer come from main memory.
			k.PREFETCHT1(at(next, 0))
			k.ADDQ(pace, next)
			step1(i)
		}
		k.Advance(8*rows, a)
	})
	k.TESTQ(U32(1), n)
	k.JZ(LabelRef("store"))
	step1(0)
	k.Label("store")
	q = k.Params("c", "ldc")
	lo, hi := k.number("lo"), k.number("hi")
	k.eachRow(rows, q[0], q[1], func(r int) {
		for v, x := range acc[r] {
			// NaN stays NaN, because the result is the second source if an
			// operand is NaN.
			k.VMAXPS(x, lo, x)
			k.VMINPS(x, hi, x)
			k.VMOVUPS(x, at(q[0], v*k.bytes()))
		}
	})
	columns.store(k, q[1], lo, hi)
	k.End()
}

// A corner holds the sums of the further columns of a tile, one register each.
type corner struct {
	rows int
	acc  []reg.VecVirtual
	x    reg.GPVirtual
	mask reg.OpmaskVirtual // selects the columns
}

func (k kernels) corner(rows, few int) corner {
	p := k.Params("x", "columns")
	c := corner{rows: rows, x: p[0], mask: k.K()}
	k.KMOVW(p[1].As32(), c.mask)
	for range few {
		c.acc = append(c.acc, k.vec())
	}
	return c
}

func (c corner) load(k kernels, step reg.GPVirtual) {
	if c.acc == nil {
		return
	}
	from := k.Params("moreFrom")[0]
	x := [4]reg.VecVirtual(k.zeros(4))
	k.eachRow(c.rows, from, step, func(r int) {
		row := k.XMM()
		k.VMOVUPS_Z(at(from, 0), c.mask, row)
		k.VINSERTF32X4(Imm(uint64(r/4)), row, x[r%4], x[r%4])
	})
	x = k.transposed(x)
	for i, sum := range c.acc {
		k.VMOVUPS(x[i], sum)
	}
}

func (c corner) fill(k kernels, from reg.GPVirtual) {
	for i, sum := range c.acc {
		if i == 0 {
			n, mask := k.GP32(), k.K()
			k.MOVL(U32(1<<c.rows-1), n)
			k.KMOVW(n, mask)
			k.VMOVUPS_Z(at(from, 0), mask, sum)
		} else {
			k.VMOVUPS(c.acc[0], sum)
		}
	}
}

func (c corner) add(k kernels, a Mem) {
	if c.acc == nil {
		return
	}
	y := k.load(a)
	for i, sum := range c.acc {
		k.VFMADD231PS_BCST(at(c.x, 4*i), y, sum)
	}
	k.Advance(4*len(c.acc), c.x)
}

func (c corner) store(k kernels, step reg.GPVirtual, lo, hi reg.VecVirtual) {
	if c.acc == nil {
		return
	}
	to := k.Params("moreC")[0]
	x := [4]reg.VecVirtual{c.acc[0], c.acc[0], c.acc[0], c.acc[0]}
	copy(x[:], c.acc)
	for _, v := range c.acc {
		k.VMAXPS(v, lo, v)
		k.VMINPS(v, hi, v)
	}
	x = k.transposed(x)
	k.eachRow(c.rows, to, step, func(r int) { k.VEXTRACTF32X4(Imm(uint64(r/4)), x[r%4], c.mask, at(to, 0)) })
}

// column keeps eight sums, because with fewer the multipliers would wait for
// earlier results.
func (k kernels) column() {
	p := k.Begin("column"+k.name, "func(k int, a *float32, apart, step int, x, sums *float32)",
		"adds a·x to eight registers of sums, one for each strip of a. Strips are apart bytes apart and have step bytes for each value of x.", "k", "a", "apart", "step", "x", "sums")
	n, a, apart, step, x, sums := p[0], p[1], p[2], p[3], p[4], p[5]
	strips, second := k.four(a, apart), k.GP64()
	k.LEAQ(Mem{Base: a, Index: apart, Scale: 4}, second)
	var acc [8]reg.VecVirtual
	for i := range acc {
		acc[i] = k.load(at(sums, i*k.bytes()))
	}
	k.Count("one", n, func() {
		y := k.vec()
		k.VBROADCASTSS(at(x, 0), y)
		for i := range acc {
			m := strips[i%4]
			m.Base = []reg.Register{a, second}[i/4]
			k.VFMADD231PS(m, y, acc[i])
		}
		k.ADDQ(step, a)
		k.ADDQ(step, second)
		k.Advance(4, x)
	})
	for i, v := range acc {
		k.VMOVUPS(v, at(sums, i*k.bytes()))
	}
	k.End()
}

// eachRow emits f for each row of a matrix at p, which it advances by `step`.
func (k kernels) eachRow(rows int, p, step reg.GPVirtual, f func(r int)) {
	for r := range rows {
		f(r)
		if r < rows-1 {
			k.ADDQ(step, p)
		}
	}
}

func (k kernels) packRows(vectors int) {
	p := k.Begin(fmt.Sprintf("pack%d%s", vectors*k.lanes, k.name), "func(dst, src *float32, offsets *int, rows int)",
		fmt.Sprintf("copies %d values from each src + offsets[i] to row i of dst.", vectors*k.lanes), "dst", "src", "offsets", "rows")
	dst, src, offsets, rows := p[0], p[1], p[2], p[3]
	k.Count("row", rows, func() {
		i := k.GP64()
		k.MOVQ(at(offsets, 0), i)
		for v := range vectors {
			k.VMOVUPS(k.load(Mem{Base: src, Index: i, Scale: 4, Disp: v * k.bytes()}), at(dst, v*k.bytes()))
		}
		k.Advance(vectors*k.bytes(), dst)
		k.Advance(8, offsets)
	})
	k.End()
}

func (k kernels) across() {
	p := k.Begin("across"+k.name, "func(dst, x *float32, ld, step, blocks int)",
		"writes 8·blocks values of each of four rows of x, `step` bytes apart, as columns of dst, whose rows are ld bytes apart.", "dst", "x", "ld", "step", "blocks")
	dst, x, ld := p[0], p[1], p[2]
	rows, columns := k.four(x, p[3]), k.four(dst, ld)
	k.Count("block", p[4], func() {
		block := k.transposed([4]reg.VecVirtual{k.load(rows[0]), k.load(rows[1]), k.load(rows[2]), k.load(rows[3])})
		for half := range 2 {
			for i, m := range columns {
				k.VEXTRACTF128(Imm(uint64(half)), block[i], m)
			}
			k.LEAQ(Mem{Base: dst, Index: ld, Scale: 4}, dst)
		}
		k.Advance(k.bytes(), x)
	})
	k.End()
}

// four returns the addresses of four rows, the first at p.
func (k kernels) four(p, step reg.GPVirtual) []Mem {
	return []Mem{at(p, 0), {Base: p, Index: step, Scale: 1}, {Base: p, Index: step, Scale: 2}, {Base: p, Index: k.multiple(3, step), Scale: 1}}
}

func (k kernels) copyRows() {
	p := k.Begin("copyRows"+k.name, "func(out, x *float32, outStep, step, after, rows, vectors int, pad float32)",
		"copies rows of whole registers and then sets a register, `after` the beginning of each, to pad. Distances are in bytes.",
		"out", "x", "outStep", "step", "after", "rows", "vectors")
	out, x, outStep, step, after, rows, n := p[0], p[1], p[2], p[3], p[4], p[5], p[6]
	pad := k.number("pad")
	k.Count("row", rows, func() {
		to, from, left := k.runAt(out, outStep), k.runAt(x, step), k.Part(n, 0, 0)
		k.Count("vector", left, func() {
			k.VMOVUPS(k.load(at(from.at, 0)), at(to.at, 0))
			k.Advance(k.bytes(), to.at, from.at)
		})
		k.VMOVUPS(pad, Mem{Base: out, Index: after, Scale: 1})
		k.ADDQ(outStep, out)
		k.ADDQ(step, x)
	})
	k.End()
}

func (l level) wideName(rows int) string {
	return fmt.Sprintf("wide%dx%d%s", rows, wideVectors*l.lanes/2, l.name)
}

const wideVectors = 3

// wide emits the kernel for a float64 tile: 4 rows of 3 registers take 7 loads
// for 12 operations.
func (k kernels) wide(rows int) {
	p := k.Begin(k.wideName(rows), "func(k int, a, b, c *float64, ldc int)", "", "k", "a", "b", "c", "ldc")
	n, a, b, c, ldc := p[0], p[1], p[2], p[3], p[4]
	row := k.GP64()
	k.MOVQ(c, row)
	acc := make([][]reg.VecVirtual, rows)
	k.eachRow(rows, row, ldc, func(r int) {
		for v := range wideVectors {
			acc[r] = append(acc[r], k.vec())
			k.VMOVUPD(at(row, v*k.bytes()), acc[r][v])
		}
	})
	k.Count("one", n, func() {
		var y []reg.VecVirtual
		for v := range wideVectors {
			y = append(y, k.vec())
			k.VMOVUPD(at(b, v*k.bytes()), y[v])
		}
		for r := range acc {
			x := k.vec()
			k.VBROADCASTSD(at(a, 8*r), x)
			for v := range acc[r] {
				k.VFMADD231PD(y[v], x, acc[r][v])
			}
		}
		k.PREFETCHT0(at(a, 2048))
		k.Advance(8*rows, a)
		k.Advance(wideVectors*k.bytes(), b)
	})
	k.eachRow(rows, c, ldc, func(r int) {
		for v := range acc[r] {
			k.VMOVUPD(acc[r][v], at(c, v*k.bytes()))
		}
	})
	k.End()
}
