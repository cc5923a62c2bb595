package engine

import (
	"fmt"

	"cpar/internal/f32"
)

// A conv is a convolution with later operators folded into it (fuse.go). For
// each group of channels, it multiplies an m×k matrix of weights by a k×n
// matrix of image windows, adds a bias, and clips the result.
type conv struct {
	layout
	batch     int          // number of images
	inC, outC int          // numbers of input and output channels
	groups    int          // number of groups of channels that are convolved separately
	m         int          // output channels per group
	k         int          // weights per output channel
	by        []float32    // factor for each output channel, applied by `pack`
	bias      []float32    // bias of each output channel
	bounds                 // to which results are clipped
	weights   []*f32.Left  // packed weights of each group
	row       *f32.Right   // packed weights if one window covers the image (see single)
	taps      []float32    // weights of a depthwise convolution
	windows   *f32.Windows // its kernel, if there is one
	fast      *f32.Winograd
}

func compileConv(c *call) error {
	x := c.input(0)
	// Treat a 1-D convolution as a 2-D convolution of images with one row.
	rank := len(x.shape)
	if rank != 3 && rank != 4 {
		return fmt.Errorf("its input has shape %v; N×C×H×W or N×C×W is needed", x.shape)
	}
	shape := []int{-1, -1, -1, -1}
	w := c.weights(1, shape[:rank]...)
	groups := c.intAttribute("group", 1)
	if c.err != nil {
		return c.err
	}
	v := &conv{batch: x.shape[0], inC: x.shape[1], outC: w.shape[0], bounds: bounds{-infinity, infinity}}
	if groups < 1 || groups > int64(v.inC) || v.inC%int(groups) != 0 || v.outC%int(groups) != 0 || w.shape[1] != v.inC/int(groups) {
		return fmt.Errorf("weights of shape %v do not fit %d channels in %d groups", w.shape, v.inC, groups)
	}
	v.groups = int(groups)
	kh := 1
	if rank == 4 {
		kh = w.shape[2]
	}
	moved := c.window(x, kh, w.shape[rank-1])
	if c.err != nil {
		return c.err
	}
	v.m = v.outC / v.groups
	v.layout = moved.layout(v.m >= 16)
	v.k = w.shape[1] * v.kh * v.kw
	v.by, v.bias = make([]float32, v.outC), make([]float32, v.outC)
	fill(v.by, 1)
	if c.has(2) {
		if v.bias = c.finiteWeights(2, v.outC); c.err != nil {
			return c.err
		}
	}
	s := &step{in: []*value{x}, conv: v, clip: &v.bounds, pack: func() error { return v.pack(c.builder, w) }}
	var scratch int64
	if s.run, scratch = v.runs(c); scratch*4 > c.limits.Memory {
		return limitError("its windows take more than the %d bytes accepted", c.limits.Memory)
	}
	s.scratch = int(scratch)
	work := int64(v.batch) * (int64(count(w.shape))*int64(v.columns()) + v.size(v.inC))
	out := []int{v.batch, v.outC, v.outH, v.outW}
	if rank == 3 {
		out = []int{v.batch, v.outC, v.outW}
	}
	return c.emit(s, out, work)
}

func (v *conv) runs(c *call) (kernel, int64) {
	switch {
	case v.single():
		return v.runRow, int64(f32.Scratch(1, 1, v.k))
	case v.depthwise():
		if v.windows = c.windows(&v.window, false); v.windows != nil {
			return v.runWindows, int64(v.windows.Scratch())
		}
		return v.runDepthwise, v.planeScratch()
	case v.winograd():
		return v.runWinograd, int64(f32.WinogradScratch(v.image(), v.m, v.inC))
	}
	scratch := int64(f32.LeftScratch(v.columns(), v.k))
	if !v.direct {
		scratch += v.size(v.inC / v.groups)
	}
	if v.collects() {
		scratch += int64(v.m) * int64(v.span(v.rowsAtOnce()))
	}
	return v.runProduct, scratch
}

// winograd reports whether to use f32.Winograd. Small images and few channels
// do not repay its transforms.
func (v *conv) winograd() bool {
	w := &v.window
	return f32.HasWinograd() && v.groups == 1 && w.kh == 3 && w.kw == 3 && w.sh*w.sw*w.dh*w.dw == 1 &&
		min(v.inC, v.outC) >= 16 && min(v.outH, v.outW) >= 9
}

func (v *conv) depthwise() bool { return v.groups == v.inC && v.m == 1 }

// single reports whether one window covers the whole image. All results of an
// image then form one row of a matrix product.
func (v *conv) single() bool {
	return v.pixels() == 1 && v.groups == 1 && v.inH == v.kh && v.inW == v.kw && v.top+v.left+v.bottom+v.right == 0
}

// scale folds y·by + plus into the results y of an output channel, before
// `pack` is called.
func (v *conv) scale(channel int, by, plus float32) {
	v.by[channel] *= by
	v.bias[channel] = v.bias[channel]*by + plus
}

func (v *conv) pack(b *builder, w *value) error {
	weights, err := b.finiteCopy(w)
	if err != nil {
		return err
	}
	for i, by := range v.by {
		if by != 1 {
			row := weights[i*v.k:][:v.k]
			for j := range row {
				row[j] *= by
			}
		}
	}
	if !finite(weights) || !finite(v.bias) {
		return errNotFinite
	}
	if err := b.allocate(8 * int64(v.k)); err != nil {
		return err
	}
	v.setOffsets(v.inC / v.groups)
	switch {
	case v.single():
		v.row = f32.PackRight(weights, v.k, v.k, v.m, true)
	case v.depthwise():
		v.taps = weights
	case v.winograd():
		v.fast = f32.PackWinograd(weights, v.m, v.inC)
	default:
		for g := range v.groups {
			v.weights = append(v.weights, f32.PackLeft(weights[g*v.m*v.k:], v.k, v.m, v.k))
		}
	}
	return nil
}

func (v *conv) epilogue(first, channels int) *f32.Epilogue {
	return &f32.Epilogue{Bias: v.bias[first:][:channels], Clip: !v.unbounded(), Lo: v.lo, Hi: v.hi}
}

func (v *conv) runRow(out []float32, in [][]float32, scratch []float32) {
	v.row.Mul(out, v.m, in[0], v.k, v.batch, v.epilogue(0, v.m), scratch)
}

func (v *conv) runWinograd(out []float32, in [][]float32, scratch []float32) {
	x, y := len(in[0])/v.batch, len(out)/v.batch
	for i := range v.batch {
		v.fast.Convolve(out[i*y:][:y], in[0][i*x:][:x], v.image(), v.epilogue(0, v.m), scratch)
	}
}

// rowsAtOnce returns the number of image rows per product, for about 512
// columns.
func (v *conv) rowsAtOnce() int { return min(v.outH, max(1, 512/v.pitch)) }

// collects reports whether several rows are multiplied at once, because they
// are short or do not fill whole registers.
func (v *conv) collects() bool {
	return !v.contiguous() && (v.outW < 96 || v.outW%maxLanes != 0)
}

func (v *conv) span(rows int) int { return (rows-1)*v.pitch + v.outW }

func (v *conv) runProduct(out []float32, in [][]float32, scratch []float32) {
	n, perGroup := v.pixels(), v.inC/v.groups*v.inH*v.inW
	for g := range v.batch * v.groups {
		x, rest := in[0][g*perGroup:][:perGroup], scratch
		if !v.direct {
			size := int(v.size(v.inC / v.groups))
			clear(rest[:size])
			for c := range v.inC / v.groups {
				v.layPlane(rest[c*int(v.plane()):], x[c*v.inH*v.inW:], 0)
			}
			x, rest = rest[:size], rest[size:]
		}
		y, group := out[g*v.m*n:][:v.m*n], g%v.groups
		e := v.epilogue(group*v.m, v.m)
		if !v.collects() {
			rows, columns := 1, n
			if !v.contiguous() {
				rows, columns = v.outH, v.outW
			}
			for r := range rows {
				v.weights[group].MulRows(y[r*v.outW:], n, x[r*v.pitch:], v.offsets, columns, e, rest)
			}
			continue
		}
		own, rest := rest[:v.m*v.span(v.rowsAtOnce())], rest[v.m*v.span(v.rowsAtOnce()):]
		for first := 0; first < v.outH; first += v.rowsAtOnce() {
			rows := min(v.rowsAtOnce(), v.outH-first)
			span := v.span(rows)
			v.weights[group].MulRows(own, span, x[first*v.pitch:], v.offsets, span, e, rest)
			for i := range v.m {
				v.collect(y[i*n+first*v.outW:][:rows*v.outW], own[i*span:], rows)
			}
		}
	}
}

func (v *conv) runWindows(out []float32, in [][]float32, scratch []float32) {
	v.windows.Compute(out, in[0], v.taps, v.epilogue(0, v.outC), scratch)
}

func (v *conv) runDepthwise(out []float32, in [][]float32, scratch []float32) {
	e := v.epilogue(0, 0)
	v.eachPlane(out, in[0], scratch, 0, func(c int, own, plane []float32) {
		c %= v.outC
		f32.Taps(own, plane, v.offsets, v.taps[c*v.k:][:v.k], v.bias[c], e)
	})
}
