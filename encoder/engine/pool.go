package engine

import (
	"fmt"
	"slices"

	"cpar/encoder/onnx"
	"cpar/internal/f32"
)

// A pool takes the maximum or the mean of each window of a plane (a channel).
type pool struct {
	layout
	isMax        bool         // whether to take the maximum, otherwise the mean
	countPadding bool         // whether a mean includes the padding, as zeros
	shares       []float32    // for each window, the share of each of its values in its mean
	windows      *f32.Windows // kernel for maxima or sums, if there is one
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
	v := &pool{isMax: c.node.Op == "MaxPool"}
	if v.isMax {
		c.intAttribute("storage_order", 0) // affects only the second output
	} else {
		v.countPadding = c.flagAttribute("count_include_pad", false)
	}
	if c.flagAttribute("ceil_mode", false) {
		w.outH = ceiled(w.inH, w.top, w.bottom, w.high(), w.sh)
		w.outW = ceiled(w.inW, w.left, w.right, w.wide(), w.sw)
	}
	if x.producer != nil && !v.isMax && !c.noFusion && v.unpad(x.producer.zeros, &w) {
		x = x.producer.in[0]
	}
	if w.top >= w.high() || w.bottom >= w.high() || w.left >= w.wide() || w.right >= w.wide() {
		return fmt.Errorf("padding as large as the kernel leaves windows without a pixel")
	}
	v.layout = w.layout(false)
	v.setOffsets(1)
	shape := []int{x.shape[0], x.shape[1], v.outH, v.outW}
	if rank == 3 {
		shape = []int{x.shape[0], x.shape[1], v.outW}
	}
	if err := c.allocate(4 * int64(v.pixels())); err != nil {
		return err
	}
	for y := range v.outH {
		rows := v.pixelsIn(y, v.sh, v.kh, v.dh, v.top, v.bottom, v.inH)
		for x := range v.outW {
			v.shares = append(v.shares, 1/float32(rows*v.pixelsIn(x, v.sw, v.kw, v.dw, v.left, v.right, v.inW)))
		}
	}
	s := &step{in: []*value{x}, scratch: int(v.planeScratch())}
	if v.windows = c.windows(&v.window, v.isMax); v.windows != nil {
		s.scratch = v.windows.Scratch()
	}
	s.run = func(out []float32, in [][]float32, scratch []float32) { v.run(out, in[0], scratch) }
	return c.emit(s, shape, int64(count(shape))*int64(v.kh*v.kw))
}

// unpad turns the zeros that an earlier step adds to the image (step.zeros) into
// padding of the mean, if possible, and reports whether it did.
func (v *pool) unpad(zeros []int64, w *window) bool {
	if len(zeros) != 8 || zeros[0]|zeros[1]|zeros[4]|zeros[5] != 0 || slices.Min(zeros) < 0 || w.top+w.left+w.bottom+w.right != 0 ||
		max(zeros[2], zeros[6]) >= int64(w.high()) || max(zeros[3], zeros[7]) >= int64(w.wide()) {
		return false
	}
	w.top, w.left, w.bottom, w.right = int(zeros[2]), int(zeros[3]), int(zeros[6]), int(zeros[7])
	w.inH, w.inW, v.countPadding = w.inH-w.top-w.bottom, w.inW-w.left-w.right, true
	return true
}

// ceiled returns the number of windows along an axis if the last window may
// extend beyond the padding (ceil_mode). The last window must still begin
// before the padding at the end.
func ceiled(n, before, after, span, stride int) int {
	windows := ceilDiv(n+before+after-span, stride) + 1
	if (windows-1)*stride >= n+before {
		windows--
	}
	return windows
}

func (v *pool) run(out, in, scratch []float32) {
	if v.windows != nil {
		v.windows.Compute(out, in, ones[:v.kh*v.kw], nil, scratch)
	} else if v.isMax {
		v.eachPlane(out, in, scratch, -infinity, func(_ int, own, plane []float32) {
			copy(own, plane[v.offsets[0]:])
			for _, at := range v.offsets[1:] {
				f32.Larger(own, own, plane[at:])
			}
		})
	} else {
		v.eachPlane(out, in, scratch, 0, func(_ int, own, plane []float32) { f32.Taps(own, plane, v.offsets, ones[:len(v.offsets)], 0, nil) })
	}
	for ; !v.isMax && len(out) > 0; out = out[len(v.shares):] {
		f32.Times(out, v.shares, out)
	}
}

var ones = slices.Repeat([]float32{1}, maxWindow*maxWindow)

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
