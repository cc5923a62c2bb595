package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// strips emits the kernels of f32/depthwise.go.
func (k kernels) strips() {
	for _, size := range []int{3, 5} {
		for stride := 1; stride <= 2; stride++ {
			k.strip(size, stride)
		}
	}
}

// strip emits a depthwise convolution of eight columns of a plane. It reads
// the rows from top to bottom. Each register of a row is used for all results
// that depend on it, whose sums take turns in `acc`.
func (k kernels) strip(size, stride int) {
	p := k.Begin(fmt.Sprintf("strip%dx%d%s", size, stride, k.name),
		"func(out, x, weights, zeros *float32, masks *int32, from, first, rows, step, outStep, skip, groups int, bias, lo, hi float32)", fmt.Sprintf(
			"convolves eight columns of a plane with %d×%[1]d weights at stride %d. Each group is %[2]d rows, from row first at x + from. Rows "+
				"outside 0 to rows are zeros. A row of results becomes complete in each group, except in the first skip ones. Steps are in bytes.", size, stride),
		"out", "x", "weights", "zeros", "masks", "from", "first", "rows", "step", "outStep", "skip", "groups")
	out, x, weights, zeros, i, rows, step, outStep, skip, groups := p[0], p[1], p[2], p[3], p[6], p[7], p[8], p[9], p[10], p[11]
	k.ADDQ(p[5], x)
	acc := make([]reg.VecVirtual, (size-1)/stride+1)
	for n := range acc {
		acc[n] = k.number("bias")
	}
	masks := make([]reg.VecVirtual, size+stride-1) // one for each register of a row
	for l := range masks {
		masks[l] = k.load(at(p[4], l*k.bytes()))
	}
	broadcast := func(t int) reg.VecVirtual {
		w := k.vec()
		k.VBROADCASTSS(at(weights, 4*t), w)
		return w
	}
	// Weights that do not fit in registers are loaded when they are used.
	free := 16 - len(acc) - len(masks) - (2*stride - 1)
	if free < size*size {
		free--
	}
	held := make([]reg.VecVirtual, min(free, size*size))
	for t := range held {
		held[t] = broadcast(t)
	}
	k.Label("group0")
	for g := range acc {
		for row := range stride {
			line := k.GP64()
			k.MOVQ(x, line)
			k.CMPQ(i, rows)
			k.CMOVQCC(zeros, line)
			k.ADDQ(step, x)
			k.ADDQ(Imm(1), i)
			k.columns(stride, line, masks, func(dx int, v reg.VecVirtual) {
				for dy := row; dy < size; dy += stride {
					var w reg.VecVirtual
					if t := dy*size + dx; t < len(held) {
						w = held[t]
					} else {
						w = broadcast(t)
					}
					k.VFMADD231PS(w, v, acc[(g+len(acc)-dy/stride)%len(acc)])
				}
			})
			if row > 0 {
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
			k.VBROADCASTSS(k.Address("bias"), done)
		}
		k.DECQ(groups)
		k.JZ(LabelRef("done"))
	}
	k.JMP(LabelRef("group0"))
	k.Label("done")
	k.End()
}

// columns loads a row and calls f for each column of weights with the values
// that it is multiplied by.
func (k kernels) columns(stride int, line reg.GPVirtual, masks []reg.VecVirtual, f func(dx int, v reg.VecVirtual)) {
	load := func(column, l int) reg.VecVirtual {
		v := k.vec()
		k.VMASKMOVPS(at(line, 4*column), masks[l], v)
		return v
	}
	for l := 0; l < len(masks); l += stride {
		if stride == 1 {
			f(l, load(l, l))
			continue
		}
		x, y := load(l, l), load(l+k.lanes, l+1)
		for half := range min(2, len(masks)-1-l) {
			f(l+half, k.alternate(half, x, y))
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
