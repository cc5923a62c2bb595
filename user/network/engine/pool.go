package engine

import (
	"fmt"
	"math"

	"cpar/user/network/onnx"
)

// A pool takes the largest value, the mean or the length of each window of a plane.
type pool struct {
	window
	planes       int
	op           string
	p            int64 // of LpPool
	countPadding bool  // as nought in a mean
}

// compilePool implements AveragePool, MaxPool and LpPool.
func compilePool(c *call) error {
	x, err := c.input(0)
	if err != nil {
		return err
	}
	rank := len(x.shape)
	if rank != 3 && rank != 4 {
		return fmt.Errorf("its input has shape %v; N×C×H×W or N×C×W is needed", x.shape)
	}
	if len(c.node.Out) > 1 && c.node.Out[1] != "" {
		return onnx.Unsupported("its second output is not supported")
	}
	v := &pool{planes: x.shape[0] * x.shape[1], op: c.node.Op, p: 2}
	if v.window, err = c.window(x, 0, 0); err != nil {
		return err
	}
	ceil, err := c.intAttribute("ceil_mode", 0)
	if err != nil {
		return err
	}
	if ceil != 0 {
		v.outH = ceiled(v.inH, v.top, v.bottom, v.high(), v.sh)
		v.outW = ceiled(v.inW, v.left, v.right, v.wide(), v.sw)
	}
	if v.top >= v.high() || v.bottom >= v.high() || v.left >= v.wide() || v.right >= v.wide() {
		return fmt.Errorf("padding as large as the kernel leaves windows without a pixel")
	}
	counting := int64(0)
	switch v.op {
	case "MaxPool":
		_, err = c.intAttribute("storage_order", 0) // concerns only the second output
	case "AveragePool":
		counting, err = c.intAttribute("count_include_pad", 0)
	default:
		if v.p, err = c.intAttribute("p", 2); err == nil && v.p != 1 && v.p != 2 {
			err = onnx.Unsupported("p = %d is not supported", v.p)
		}
	}
	if err != nil {
		return err
	}
	v.countPadding = counting != 0
	shape := []int{x.shape[0], x.shape[1], v.outH, v.outW}
	if rank == 3 {
		shape = []int{x.shape[0], x.shape[1], v.outW}
	}
	s := &step{in: []*value{x}}
	s.run = func(out []float32, in [][]float32, _ []float32) { v.run(out, in[0]) }
	return c.emit(s, shape, int64(v.planes)*int64(v.pixels())*int64(v.kh*v.kw))
}

// ceiled returns how many windows there are if the last one may reach beyond the padding;
// it must begin before the padding at the end.
func ceiled(n, before, after, span, stride int) int {
	windows := ceilDiv(n+before+after-span, stride) + 1
	if (windows-1)*stride >= n+before {
		windows--
	}
	return windows
}

func (v *pool) run(out, in []float32) {
	for range v.planes {
		for oy := range v.outH {
			v.row(out[oy*v.outW:][:v.outW], in, oy)
		}
		in, out = in[v.inH*v.inW:], out[v.pixels():]
	}
}

// row pools one row of a plane, tap by tap.
func (v *pool) row(out, plane []float32, oy int) {
	start := float32(0)
	if v.op == "MaxPool" {
		start = float32(math.Inf(-1))
	}
	fill(out, start)
	for dy := range v.kh {
		y := oy*v.sh - v.top + dy*v.dh
		if y < 0 || y >= v.inH {
			continue
		}
		from := plane[y*v.inW:][:v.inW]
		for dx := range v.kw {
			shift := dx*v.dw - v.left
			if first, end := inside(shift, v.sw, v.inW, v.outW); first < end {
				v.tap(out[first:end], from[first*v.sw+shift:])
			}
		}
	}
	switch v.op {
	case "AveragePool":
		rows := v.pixelsIn(oy, v.sh, v.kh, v.dh, v.top, v.bottom, v.inH)
		for ox := range out {
			out[ox] /= float32(rows * v.pixelsIn(ox, v.sw, v.kw, v.dw, v.left, v.right, v.inW))
		}
	case "LpPool":
		if v.p == 2 {
			for i, sum := range out {
				out[i] = float32(math.Sqrt(float64(sum)))
			}
		}
	}
}

// inside returns the windows whose tap is inside a row: 0 ≤ i·stride + shift < n.
func inside(shift, stride, n, windows int) (first, end int) {
	first = max(0, ceilDiv(-shift, stride))
	end = min(windows, ceilDiv(max(0, n-shift), stride))
	return first, end
}

func (v *pool) tap(out, from []float32) {
	x := 0
	switch {
	case v.op == "MaxPool":
		for i := range out {
			out[i] = max(out[i], from[x])
			x += v.sw
		}
	case v.op == "AveragePool":
		for i := range out {
			out[i] += from[x]
			x += v.sw
		}
	case v.p == 1:
		for i := range out {
			out[i] += max(from[x], -from[x])
			x += v.sw
		}
	default:
		for i := range out {
			out[i] += from[x] * from[x]
			x += v.sw
		}
	}
}

// pixelsIn returns how many taps of a window count along one side.
func (v *pool) pixelsIn(at, stride, kernel, distance, before, after, n int) (many int) {
	lo, hi := 0, n
	if v.countPadding {
		lo, hi = -before, n+after
	}
	for k := range kernel {
		if p := at*stride - before + k*distance; p >= lo && p < hi {
			many++
		}
	}
	return many
}
