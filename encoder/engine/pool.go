package engine

import (
	"fmt"
	"math"

	"cpar/encoder/onnx"
	"cpar/internal/f32"
)

// A pool takes the maximum, the mean or the norm of each window of a plane.
type pool struct {
	layout
	planes       int
	op           string
	p            int64 // of LpPool
	countPadding bool  // as 0 in a mean
	counted      []int // columns that count in a window, for each of a row
}

func compilePool(c *call) error {
	x := c.input(0)
	rank := len(x.shape)
	if rank != 3 && rank != 4 {
		return fmt.Errorf("its input has shape %v; N×C×H×W or N×C×W is needed", x.shape)
	}
	if len(c.node.Out) > 1 && c.node.Out[1] != "" {
		return onnx.Unsupported("its second output is not supported")
	}
	w := c.window(x, 0, 0)
	if c.err != nil {
		return c.err
	}
	v := &pool{planes: x.shape[0] * x.shape[1], op: c.node.Op, p: 2}
	if c.flagAttribute("ceil_mode", false) {
		w.outH = ceiled(w.inH, w.top, w.bottom, w.high(), w.sh)
		w.outW = ceiled(w.inW, w.left, w.right, w.wide(), w.sw)
	}
	if w.top >= w.high() || w.bottom >= w.high() || w.left >= w.wide() || w.right >= w.wide() {
		return fmt.Errorf("padding as large as the kernel leaves windows without a pixel")
	}
	v.layout = w.layout()
	v.setOffsets(1)
	switch v.op {
	case "MaxPool":
		c.intAttribute("storage_order", 0) // concerns only the second output
	case "AveragePool":
		v.countPadding = c.flagAttribute("count_include_pad", false)
	default:
		if v.p = c.intAttribute("p", 2); v.p != 1 && v.p != 2 {
			return onnx.Unsupported("p = %d is not supported", v.p)
		}
	}
	shape := []int{x.shape[0], x.shape[1], v.outH, v.outW}
	if rank == 3 {
		shape = []int{x.shape[0], x.shape[1], v.outW}
	}
	if err := c.allocate(8 * int64(v.outW)); err != nil {
		return err
	}
	for ox := range v.outW {
		v.counted = append(v.counted, v.pixelsIn(ox, v.sw, v.kw, v.dw, v.left, v.right, v.inW))
	}
	s := &step{in: []*value{x}, scratch: int(v.size(1)) + v.columns() + v.inH*v.inW}
	s.run = func(out []float32, in [][]float32, scratch []float32) { v.run(out, in[0], scratch) }
	return c.emit(s, shape, int64(v.planes)*int64(v.pixels())*int64(v.kh*v.kw))
}

// ceiled returns the number of windows if the last may extend beyond the
// padding. It must begin before the padding at the end.
func ceiled(n, before, after, span, stride int) int {
	windows := ceilDiv(n+before+after-span, stride) + 1
	if (windows-1)*stride >= n+before {
		windows--
	}
	return windows
}

// run combines the runs of all taps, of which one covers a plane.
func (v *pool) run(out, in, scratch []float32) {
	size := int(v.size(1))
	plane, results, powers := scratch[:size], scratch[size:][:v.columns()], scratch[size+v.columns():]
	start := float32(0)
	if v.op == "MaxPool" {
		start = -infinity
	}
	fill(plane, start)
	for range v.planes {
		x := v.powers(powers, in[:v.inH*v.inW])
		if !v.direct {
			v.layPlane(plane, x)
			x = plane
		}
		copy(results, x[v.offsets[0]:])
		for _, at := range v.offsets[1:] {
			v.add(results, x[at:][:len(results)])
		}
		y := out[:v.pixels()]
		v.collect(y, results)
		v.finish(y)
		in, out = in[v.inH*v.inW:], out[len(y):]
	}
}

// finish turns sums into means and norms.
func (v *pool) finish(out []float32) {
	switch {
	case v.op == "AveragePool":
		for y := range v.outH {
			rows := v.pixelsIn(y, v.sh, v.kh, v.dh, v.top, v.bottom, v.inH)
			for x, columns := range v.counted {
				out[y*v.outW+x] /= float32(rows * columns)
			}
		}
	case v.op == "LpPool" && v.p == 2:
		for i, sum := range out {
			out[i] = float32(math.Sqrt(float64(sum)))
		}
	}
}

// add combines x with to.
func (v *pool) add(to, x []float32) {
	if v.op == "MaxPool" {
		f32.Larger(to, to, x)
	} else {
		f32.Axpy(1, x, to)
	}
}

func (v *pool) powers(own, x []float32) []float32 {
	switch {
	case v.op != "LpPool":
		return x
	case v.p == 2:
		f32.Times(own, x, x)
	default:
		f32.Line(own, x, -1, 0, -infinity, infinity)
		f32.Larger(own, own, x)
	}
	return own[:len(x)]
}

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
