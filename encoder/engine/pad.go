package engine

import (
	"fmt"
	"slices"

	"cpar/encoder/onnx"
)

// compilePad adds elements before and after each axis. A negative number
// removes elements. The numbers are an attribute up to opset 10, and an input
// from opset 11.
func compilePad(c *call) error {
	x := c.given(0)
	mode := c.stringAttribute("mode", "constant")
	rank := len(x.shape)
	var pads, axes []int64
	plain := number(0)
	if c.opset < 11 {
		pads = c.rawInts("pads")
		plain = number(c.floatAttribute("value", 0))
	} else {
		pads = c.constantInts(1)
		if c.has(2) && count(c.in[2].shape) > 0 {
			if plain = c.in[2]; count(plain.shape) != 1 || !plain.constant() {
				return onnx.Unsupported("a value that is not a constant number is not supported")
			}
		} else if x.kind != floats {
			plain = &value{kind: x.kind, ints: []int64{0}}
		}
		if c.has(3) {
			axes = c.constantInts(3)
		}
	}
	if axes == nil {
		for k := range rank {
			axes = append(axes, int64(k))
		}
	}
	if len(pads) != 2*len(axes) || plain.kind != x.kind {
		return fmt.Errorf("pads %v do not fit a tensor of shape %v", pads, x.shape)
	}
	before, after := make([]int64, rank), make([]int64, rank)
	for i, a := range axes {
		k := c.axis(a, rank)
		if c.err != nil {
			return c.err
		}
		before[k], after[k] = pads[i], pads[len(axes)+i]
	}
	return c.setOutput(c.padded(x, before, after, mode, plain))
}

func (c *call) padded(x *value, before, after []int64, mode string, plain *value) *value {
	sizes := make([]int64, len(x.shape))
	most := int64(c.limits.Elements)
	for k, n := range x.shape {
		if before[k] < -most || after[k] < -most || before[k] > most || after[k] > most {
			return c.fail(limitError("pads %v and %v are too large", before, after))
		}
		if sizes[k] = before[k] + int64(n) + after[k]; sizes[k] < 0 {
			return c.fail(fmt.Errorf("pads %v and %v remove more than a tensor of shape %v holds", before, after, x.shape))
		}
	}
	if !slices.ContainsFunc(slices.Concat(before, after), func(n int64) bool { return n != 0 }) {
		return x
	}
	shape := c.shapeOf(sizes)
	if c.err != nil {
		return &value{}
	}
	from, steps := make([][]int, len(shape)), rowMajor(x.shape)
	for k, n := range shape {
		if err := c.allocate(8 * int64(n)); err != nil {
			return c.fail(err)
		}
		from[k] = make([]int, n)
		for i := range from[k] {
			at, ok := padSource(i-int(before[k]), x.shape[k], mode)
			switch {
			case !ok:
				return c.fail(fmt.Errorf("pads %v and %v do not fit a tensor of shape %v in mode %.20q", before, after, x.shape, mode))
			case at < 0:
				from[k][i] = -1
			default:
				from[k][i] = at * steps[k]
			}
		}
	}
	by, err := c.floatsOf(plain)
	if err != nil {
		return c.fail(err)
	}
	s := &step{in: []*value{x}}
	if mode == "constant" && by[0] == 0 {
		s.zeros = slices.Concat(before, after)
	}
	return c.moving(s, x.kind, shape,
		func(out []float32, in [][]float32) { pad(out, in[0], from, by[0]) },
		func(out []int64, in [][]int64) { pad(out, in[0], from, int64(by[0])) })
}

func padSource(i, n int, mode string) (at int, ok bool) {
	if i >= 0 && i < n {
		return i, true
	}
	switch mode {
	case "constant":
		return -1, true
	case "edge":
		return min(max(i, 0), n-1), n > 0
	case "reflect": // mirrors without repeating the border
		if n < 2 {
			return 0, false
		}
		i %= 2 * (n - 1)
		if i < 0 {
			i += 2 * (n - 1)
		}
		return min(i, 2*(n-1)-i), true
	case "wrap":
		if n < 1 {
			return 0, false
		}
		return ((i % n) + n) % n, true
	}
	return 0, false
}

// pad writes a padded tensor. For each axis, `from` holds each position's
// offset in the input, or −1 for padding with `plain`.
func pad[T any](out, in []T, from [][]int, plain T) {
	if len(from) == 0 {
		out[0] = in[0]
		return
	}
	last := len(from) - 1
	n := len(from[last])
	first := max(0, slices.IndexFunc(from[last], func(p int) bool { return p >= 0 }))
	run := 0
	for first+run < n && from[last][first+run] == from[last][first]+run {
		run++
	}
	var index [maxRank]int
	for ; len(out) > 0; out = out[n:] {
		at := 0
		for k := range last {
			if p := from[k][index[k]]; p >= 0 && at >= 0 {
				at += p
			} else {
				at = -1
			}
		}
		for i := 0; i < n; i++ {
			p := from[last][i]
			switch {
			case p < 0 || at < 0:
				out[i] = plain
			case i == first:
				copy(out[i:][:run], in[at+p:])
				i += run - 1
			default:
				out[i] = in[at+p]
			}
		}
		for k := last - 1; k >= 0; k-- {
			if index[k]++; index[k] < len(from[k]) {
				break
			}
			index[k] = 0
		}
	}
}
