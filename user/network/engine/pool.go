package engine

import (
	"fmt"
	"math"
	"slices"

	"cpar/user/network/onnx"
)

func compileGlobalAverage(c *call) error {
	x, err := c.images()
	if err != nil {
		return err
	}
	return c.average(x, []int{1, x.shape[1], 1, 1})
}

// compileReduceMean takes the mean over rows and columns: another form of
// GlobalAveragePool. The axes are an attribute up to opset 17, then an input.
func compileReduceMean(c *call) error {
	x, err := c.images()
	if err != nil {
		return err
	}
	keep, err := c.intAttribute("keepdims", 1)
	if err != nil {
		return err
	}
	axes, err := c.intsAttribute("axes", nil, -1, -4, 3)
	if err != nil {
		return err
	}
	if c.opset >= 18 {
		list, err := c.constantInts(1)
		if err != nil {
			return err
		}
		for _, a := range list {
			axes = append(axes, int(max(-5, min(a, 4))))
		}
		if _, err := c.intAttribute("noop_with_empty_axes", 0); err != nil {
			return err
		}
	}
	for i, a := range axes {
		if a < 0 {
			axes[i] += 4
		}
	}
	slices.Sort(axes)
	if !slices.Equal(axes, []int{2, 3}) {
		return onnx.Unsupported("axes %v are not supported, rows and columns (2, 3) are", axes)
	}
	if keep == 0 {
		return c.average(x, []int{1, x.shape[1]})
	}
	return c.average(x, []int{1, x.shape[1], 1, 1})
}

func (c *call) average(x *value, shape []int) error {
	n := x.shape[2] * x.shape[3]
	s := &step{in: []*value{x}}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		for ch := range out {
			var sum float64
			for _, v := range in[0][ch*n:][:n] {
				sum += float64(v)
			}
			out[ch] = float32(sum / float64(n))
		}
	}
	return c.emit(s, shape, int64(count(x.shape)))
}

func compilePool(c *call) error {
	x, err := c.images()
	if err != nil {
		return err
	}
	if len(c.node.Out) > 1 && c.node.Out[1] != "" {
		return onnx.Unsupported("its second output is not supported")
	}
	w, err := c.window(x, 0, 0)
	if err != nil {
		return err
	}
	if w.dh != 1 || w.dw != 1 {
		return onnx.Unsupported("dilations are not supported")
	}
	ceil, err := c.intAttribute("ceil_mode", 0)
	if err != nil {
		return err
	}
	// Writers set it needlessly; it is refused only if it would add a window.
	if ceil != 0 && ((w.inH+w.top+w.bottom-w.kh)%w.sh != 0 || (w.inW+w.left+w.right-w.kw)%w.sw != 0) {
		return onnx.Unsupported("ceil_mode is not supported")
	}
	if w.top >= w.kh || w.bottom >= w.kh || w.left >= w.kw || w.right >= w.kw {
		return fmt.Errorf("padding as large as the kernel leaves windows without a pixel")
	}
	isMax := c.node.Op == "MaxPool"
	countPadding := int64(0)
	if isMax {
		_, err = c.intAttribute("storage_order", 0) // concerns only the second output
	} else {
		countPadding, err = c.intAttribute("count_include_pad", 0)
	}
	if err != nil {
		return err
	}
	s := &step{in: []*value{x}}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		size := w.inH * w.inW
		for ch := range x.shape[1] {
			plane := in[0][ch*size:][:size]
			to := out[ch*w.pixels():][:w.pixels()]
			for i := range to {
				to[i] = w.pool(plane, i/w.outW, i%w.outW, isMax, countPadding != 0)
			}
		}
	}
	return c.emit(s, []int{1, x.shape[1], w.outH, w.outW}, int64(x.shape[1])*int64(w.pixels())*int64(w.kh*w.kw))
}

// pool returns the largest or the mean value of one window; padding does not count unless
// requested.
func (w *window) pool(plane []float32, oy, ox int, isMax, countPadding bool) float32 {
	y0, x0 := oy*w.sh-w.top, ox*w.sw-w.left
	top, sum := float32(math.Inf(-1)), float32(0)
	yFrom, yTo := max(0, y0), min(w.inH, y0+w.kh)
	xFrom, xTo := max(0, x0), min(w.inW, x0+w.kw)
	for y := yFrom; y < yTo; y++ {
		for _, v := range plane[y*w.inW+xFrom : y*w.inW+xTo] {
			top = max(top, v)
			sum += v
		}
	}
	if isMax {
		return top
	}
	n := (yTo - yFrom) * (xTo - xFrom)
	if countPadding {
		n = w.kh * w.kw
	}
	return sum / float32(n)
}
