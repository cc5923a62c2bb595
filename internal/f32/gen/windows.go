package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// windows emits a kernel of f32/windows.go. It reads a register of columns of a
// plane from top to bottom, and uses each row for all results that depend on
// it. These take turns in `acc`.
func (k kernels) windows(max bool, size, stride int) {
	name := map[bool]string{false: "products", true: "maxima"}[max]
	p := k.Begin(fmt.Sprintf("%s%dx%d%s", name, size, stride, k.name),
		"func(out, x, weights, padding *float32, masks *int32, from, first, rows, step, outStep, skip, groups, ahead int, start, lo, hi float32)",
		fmt.Sprintf("computes the %s of windows of %d×%[2]d values at stride %d, for a register of columns. A group has as many rows as the stride. The first begins with row first at "+
			"x + from. Rows outside 0 to rows are padding. Each group except the first skip ones completes a row of results.", name, size, stride),
		"out", "x", "weights", "padding", "masks", "from", "first", "rows", "step", "outStep", "skip", "groups", "ahead")
	out, x, padding, i, rows, step, outStep, skip, groups, ahead := p[0], p[1], p[3], p[6], p[7], p[8], p[9], p[10], p[11], p[12]
	k.ADDQ(p[5], x)
	acc := make([]reg.VecVirtual, (size-1)/stride+1)
	for n := range acc {
		acc[n] = k.number("start")
	}
	masks := make([]reg.Register, (size+stride-1)/stride*stride) // one for each register of a row
	free := 2*k.lanes - len(acc) - (2*stride - 1)
	for l := range masks {
		mask := k.load(at(p[4], l*k.bytes()))
		if masks[l] = mask; k.lanes == 16 {
			masks[l] = k.K()
			k.VPMOVD2M(mask, masks[l])
		}
	}
	if k.lanes == 8 {
		free -= len(masks)
	}
	combine := k.combination(max, size*size, free, p[2])
	var outside reg.VecVirtual
	if max {
		outside = k.load(at(padding, 0))
	}
	load := func(m Mem, l int) reg.VecVirtual {
		v := k.vec()
		if k.lanes == 16 {
			k.VMOVUPS_Z(m, masks[l], v)
		} else {
			k.VMASKMOVPS(m, masks[l], v)
		}
		if max {
			v = k.choose(masks[l], v, outside)
		}
		return v
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
			for dx := 0; dx < size; dx += stride {
				values := []reg.VecVirtual{load(at(line, 4*dx), dx)}
				if stride == 2 {
					x, y := values[0], load(at(line, 4*dx+k.bytes()), dx+1)
					values[0] = k.alternate(0, x, y)
					if dx+1 < size {
						values = append(values, k.alternate(1, x, y))
					}
				}
				for n, v := range values {
					for dy := row; dy < size; dy += stride {
						combine(dy*size+dx+n, v, acc[(g+len(acc)-dy/stride)%len(acc)])
					}
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

// combination returns a function that adds value v of a window, times weight t,
// to a result, or raises the result to v. It loads weights when it needs them
// unless they fit in the free registers.
func (k kernels) combination(max bool, taps, free int, weights reg.GPVirtual) func(t int, v, result reg.VecVirtual) {
	if max {
		return func(_ int, v, result reg.VecVirtual) { k.atLeast(v, result) }
	}
	var held []reg.VecVirtual
	weight := func(t int) reg.VecVirtual {
		if t < len(held) {
			return held[t]
		}
		w := k.vec()
		k.VBROADCASTSS(at(weights, 4*t), w)
		return w
	}
	if taps > free {
		free--
	}
	for t := range min(free, taps) {
		held = append(held, weight(t))
	}
	return func(t int, v, result reg.VecVirtual) { k.VFMADD231PS(weight(t), v, result) }
}

// alternate returns the even or the odd values of two registers.
func (k kernels) alternate(odd int, x, y reg.VecVirtual) reg.VecVirtual {
	if x.Size() == 64 {
		z := k.load(k.sequence(uint32(odd), 2))
		k.VPERMI2PS(y, x, z)
		return z
	}
	z := k.YMM()
	k.VSHUFPS(Imm(uint64(0x88+0x55*odd)), y, x, z) // takes pairs from groups of four lanes
	k.VPERMPD(Imm(0xd8), z, z)
	return z
}
