package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// windows emits the kernels of f32/windows.go.
func (k kernels) windows() {
	for stride := 1; stride <= 2; stride++ {
		k.strip("dot", 3, stride)
		k.strip("dot", 5, stride)
		k.strip("max", 3, stride)
	}
	k.strip("sum", 3, 1)
	k.strip("sum", 2, 2)
}

// strip emits a kernel for eight columns of a plane. It reads the rows from top
// to bottom. Each register of a row is used for all results that depend on it,
// which take turns in `acc`.
func (k kernels) strip(name string, size, stride int) {
	p := k.Begin(fmt.Sprintf("%s%dx%d%s", name, size, stride, k.name),
		"func(out, x, weights, padding *float32, masks *int32, from, first, rows, step, outStep, skip, groups, ahead int, start, lo, hi float32)", fmt.Sprintf(
			"computes the %s of windows of %d×%[2]d values at stride %d, for eight columns. Each group is %[3]d rows, from row first at x + from. "+
				"Rows outside 0 to rows are padding. Each group except the first skip ones completes a row of results. Steps are in bytes. It "+
				"fetches the rows that begin ahead bytes later.", name, size, stride),
		"out", "x", "weights", "padding", "masks", "from", "first", "rows", "step", "outStep", "skip", "groups", "ahead")
	out, x, padding, i, rows, step, outStep, skip, groups, ahead := p[0], p[1], p[3], p[6], p[7], p[8], p[9], p[10], p[11], p[12]
	k.ADDQ(p[5], x)
	acc := make([]reg.VecVirtual, (size-1)/stride+1)
	for n := range acc {
		acc[n] = k.number("start")
	}
	masks := make([]reg.VecVirtual, (size+stride-1)/stride*stride) // one for each register of a row
	for l := range masks {
		masks[l] = k.load(at(p[4], l*k.bytes()))
	}
	load := func(m Mem, l int) reg.VecVirtual {
		v := k.vec()
		k.VMASKMOVPS(m, masks[l], v)
		return v
	}
	var use func(dx int, v reg.VecVirtual, targets []reg.VecVirtual, row int)
	switch name {
	case "dot":
		use = k.dots(size, stride, p[2], 16-len(acc)-len(masks)-(2*stride-1))
	case "sum":
		use = k.pooled(size, func(x, y reg.VecVirtual) { k.VADDPS(x, y, y) })
	case "max":
		use = k.pooled(size, k.atLeast)
		outside, masked := k.load(at(padding, 0)), load
		load = func(m Mem, l int) reg.VecVirtual { return k.choose(masks[l], masked(m, l), outside) }
	}
	k.Label("group0")
	for g := range acc {
		for row := range stride {
			line := k.GP64()
			k.MOVQ(x, line)
			k.CMPQ(i, rows)
			k.CMOVQCC(padding, line)
			k.PREFETCHT1(Mem{Base: x, Index: ahead, Scale: 1})
			k.ADDQ(step, x)
			k.ADDQ(Imm(1), i)
			var targets []reg.VecVirtual // by the row's place in their windows
			for dy := row; dy < size; dy += stride {
				targets = append(targets, acc[(g+len(acc)-dy/stride)%len(acc)])
			}
			for dx := 0; dx < size; dx += stride {
				v := load(at(line, 4*dx), dx)
				if stride == 1 {
					use(dx, v, targets, row)
					continue
				}
				w := load(at(line, 4*dx+k.bytes()), dx+1)
				for half := range min(2, size-dx) {
					use(dx+half, k.alternate(half, v, w), targets, row)
				}
			}
			if row != (size-1)%stride {
				continue
			}
			done, label := acc[(g+1)%len(acc)], fmt.Sprintf("skip%d", g)
			k.DECQ(skip)
			k.JPL(LabelRef(label))
			k.VMAXPS(done, k.number("lo"), done)
			k.VMINPS(done, k.number("hi"), done)
			k.VMOVUPS(done, at(out, 0))
			k.ADDQ(outStep, out)
			k.Label(label)
			k.VBROADCASTSS(k.Address("start"), done)
		}
		k.DECQ(groups)
		k.JZ(LabelRef("done"))
	}
	k.JMP(LabelRef("group0"))
	k.Label("done")
	k.End()
}

// dots adds products with weights. Those that do not fit in the free registers
// are loaded when they are used.
func (k kernels) dots(size, stride int, weights reg.GPVirtual, free int) func(dx int, v reg.VecVirtual, targets []reg.VecVirtual, row int) {
	if free < size*size {
		free--
	}
	broadcast := func(t int) reg.VecVirtual {
		w := k.vec()
		k.VBROADCASTSS(at(weights, 4*t), w)
		return w
	}
	held := make([]reg.VecVirtual, min(free, size*size))
	for t := range held {
		held[t] = broadcast(t)
	}
	return func(dx int, v reg.VecVirtual, targets []reg.VecVirtual, row int) {
		for n, sum := range targets {
			if t := (row+n*stride)*size + dx; t < len(held) {
				k.VFMADD231PS(held[t], v, sum)
			} else {
				k.VFMADD231PS(broadcast(t), v, sum)
			}
		}
	}
}

// pooled combines the values of a row, and then the row with the results.
func (k kernels) pooled(size int, combine func(x, y reg.VecVirtual)) func(dx int, v reg.VecVirtual, targets []reg.VecVirtual, row int) {
	var all reg.VecVirtual
	return func(dx int, v reg.VecVirtual, targets []reg.VecVirtual, _ int) {
		if dx == 0 {
			all = v
		} else {
			combine(v, all)
		}
		if dx == size-1 {
			for _, result := range targets {
				combine(all, result)
			}
		}
	}
}

// alternate returns the even or the odd values of two registers.
func (k kernels) alternate(odd int, x, y reg.VecVirtual) reg.VecVirtual {
	z := k.YMM()
	k.VSHUFPS(Imm(uint64(0x88+0x55*odd)), y, x, z) // takes pairs from groups of four lanes
	k.VPERMPD(Imm(0xd8), z, z)
	return z
}
