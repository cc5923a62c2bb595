package engine

import (
	"fmt"
	"math"

	"cpar/encoder/onnx"
	"cpar/internal/f32"
)

// A pool takes the maximum, the mean or the norm of each window of a plane.
type pool struct {
	window
	planes       int
	op           string
	p            int64 // of LpPool
	countPadding bool  // as 0 in a mean
	columns      []int // that count in a window, for each of a row
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
	v := &pool{planes: x.shape[0] * x.shape[1], op: c.node.Op, p: 2}
	if v.window = c.window(x, 0, 0); c.err != nil {
		return c.err
	}
	if c.flagAttribute("ceil_mode", false) {
		v.outH = ceiled(v.inH, v.top, v.bottom, v.high(), v.sh)
		v.outW = ceiled(v.inW, v.left, v.right, v.wide(), v.sw)
	}
	if v.top >= v.high() || v.bottom >= v.high() || v.left >= v.wide() || v.right >= v.wide() {
		return fmt.Errorf("padding as large as the kernel leaves windows without a pixel")
	}
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
		v.columns = append(v.columns, v.pixelsIn(ox, v.sw, v.kw, v.dw, v.left, v.right, v.inW))
	}
	s := &step{in: []*value{x}, scratch: v.scratch()}
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

// laid returns the rows and pitch of a padded plane, and the extent of the
// results with a column stride of 1.
func (v *pool) laid() (rows, pitch, ends int) {
	rows = (v.outH-1)*v.sh + v.high()
	pitch = (v.outW-1)*v.sw + v.wide()
	return rows, pitch, (v.outH-1)*pitch + (v.outW-1)*v.sw + 1
}

// register is the longest of the kernels, to which lengths round up.
const register = 16

func rounded(n int) int { return ceilDiv(n, register) * register }

func (v *pool) scratch() int {
	rows, pitch, ends := v.laid()
	return rows*pitch + v.outH*pitch + 2*register + rounded(ends) + v.inW
}

// run combines whole rows, then adjacent columns, and selects every sw-th
// result. Long runs are faster than single windows of a few values.
func (v *pool) run(out, in, scratch []float32) {
	rows, pitch, ends := v.laid()
	take := func(n int) (part []float32) {
		part, scratch = scratch[:n], scratch[n:]
		return part
	}
	image, down, across := take(rows*pitch+register), take(v.outH*pitch+register), take(rounded(ends))
	start := float32(0)
	if v.op == "MaxPool" {
		start = -infinity
	}
	fill(image, start)
	seen := min(v.inW, pitch-v.left)
	for range v.planes {
		for y := range min(v.inH, rows-v.top) {
			copy(image[(y+v.top)*pitch+v.left:], v.powers(scratch, in[y*v.inW:][:seen]))
		}
		if v.sh == 1 {
			v.taps(down[:rounded(v.outH*pitch)], image, v.kh, v.dh*pitch)
		} else {
			for y := range v.outH {
				v.taps(down[y*pitch:][:pitch], image[y*v.sh*pitch:], v.kh, v.dh*pitch)
			}
		}
		v.taps(across, down, v.kw, v.dw)
		for y := range v.outH {
			copyStrided(out[y*v.outW:][:v.outW], across[y*pitch:][:(v.outW-1)*v.sw+1], v.sw)
		}
		v.finish(out[:v.pixels()])
		in, out = in[v.inH*v.inW:], out[v.pixels():]
	}
}

func (v *pool) taps(to, x []float32, many, distance int) {
	copy(to, x)
	for i := 1; i < many; i++ {
		v.add(to, x[i*distance:][:len(to)])
	}
}

// finish turns sums into means and norms.
func (v *pool) finish(out []float32) {
	switch {
	case v.op == "AveragePool":
		for y := range v.outH {
			rows := v.pixelsIn(y, v.sh, v.kh, v.dh, v.top, v.bottom, v.inH)
			for x, columns := range v.columns {
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
