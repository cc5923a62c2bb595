package engine

import (
	"fmt"
	"math"

	"cpar/user/network/onnx"
)

// A window says how a kernel moves over an image: kernel, stride and the padding before
// and after, in rows and columns.
type window struct {
	kh, kw, sh, sw           int
	top, left, bottom, right int
	inH, inW, outH, outW     int
}

// window reads the attributes shared by convolutions and pools. kh and kw are those of
// the weights, or 0 if kernel_shape must provide them.
func (c *call) window(x *value, kh, kw int) (window, error) {
	w := window{kh: kh, kw: kw, inH: x.shape[2], inW: x.shape[3]}
	kernel, err := c.intsAttribute("kernel_shape", []int{kh, kw}, 2, 1, maxWindow)
	if err != nil {
		return w, err
	}
	if kh == 0 {
		w.kh, w.kw = kernel[0], kernel[1]
	}
	if w.kh != kernel[0] || w.kw != kernel[1] || w.kh < 1 || w.kw < 1 || w.kh > maxWindow || w.kw > maxWindow {
		return w, onnx.Unsupported("a kernel of %v over weights of %d×%d; 1×1 to %d×%[4]d is supported", kernel, kh, kw, maxWindow)
	}
	strides, err := c.intsAttribute("strides", []int{1, 1}, 2, 1, maxWindow)
	if err != nil {
		return w, err
	}
	w.sh, w.sw = strides[0], strides[1]
	if _, err := c.intsAttribute("dilations", nil, 2, 1, 1); err != nil {
		return w, err
	}
	pads, err := c.intsAttribute("pads", []int{0, 0, 0, 0}, 4, 0, maxWindow)
	if err != nil {
		return w, err
	}
	auto, err := c.stringAttribute("auto_pad", "NOTSET")
	if err != nil {
		return w, err
	}
	switch auto {
	case "NOTSET", "":
	case "VALID":
		pads = []int{0, 0, 0, 0}
	case "SAME_UPPER", "SAME_LOWER":
		// As many outputs as there are strides; an odd pad goes to the end or the start.
		h := max(0, (ceilDiv(w.inH, w.sh)-1)*w.sh+w.kh-w.inH)
		v := max(0, (ceilDiv(w.inW, w.sw)-1)*w.sw+w.kw-w.inW)
		pads = []int{h / 2, v / 2, h - h/2, v - v/2}
		if auto == "SAME_LOWER" {
			pads = []int{pads[2], pads[3], pads[0], pads[1]}
		}
	default:
		return w, onnx.Unsupported("auto_pad %.20q is not supported", auto)
	}
	w.top, w.left, w.bottom, w.right = pads[0], pads[1], pads[2], pads[3]
	ph, pw := w.inH+w.top+w.bottom, w.inW+w.left+w.right
	if ph < w.kh || pw < w.kw {
		return w, fmt.Errorf("a kernel of %d×%d does not fit into an image of %d×%d", w.kh, w.kw, ph, pw)
	}
	w.outH, w.outW = (ph-w.kh)/w.sh+1, (pw-w.kw)/w.sw+1
	return w, nil
}

func (w *window) pixels() int { return w.outH * w.outW }

// plain reports whether every window is a single pixel.
func (w *window) plain() bool {
	return w.kh*w.kw*w.sh*w.sw == 1 && w.top+w.left+w.bottom+w.right == 0
}

// A conv is a convolution with everything folded into it: per group, an m×k matrix of
// weights times k×n windows of the image, n = outH·outW, then a bias and bounds.
type conv struct {
	window
	inC, outC, groups int
	m, k              int
	weights           []float32 // groups × m × k; nil until it is packed
	by                []float32 // factor of each output channel, until it is packed
	dots              bool      // compute by dot products over k instead of additions over n
	bias              []float32 // outC
	lo, hi            float32
}

func compileConv(c *call) error {
	x, err := c.images()
	if err != nil {
		return err
	}
	w, err := c.weights(1, -1, -1, -1, -1)
	if err != nil {
		return err
	}
	groups, err := c.intAttribute("group", 1)
	if err != nil {
		return err
	}
	v := &conv{inC: x.shape[1], outC: w.shape[0], lo: float32(math.Inf(-1)), hi: float32(math.Inf(1))}
	if groups < 1 || groups > int64(v.inC) || v.inC%int(groups) != 0 || v.outC%int(groups) != 0 || w.shape[1] != v.inC/int(groups) {
		return fmt.Errorf("weights of shape %v do not fit %d channels in %d groups", w.shape, v.inC, groups)
	}
	v.groups = int(groups)
	if v.window, err = c.window(x, w.shape[2], w.shape[3]); err != nil {
		return err
	}
	v.m, v.k = v.outC/v.groups, w.shape[1]*v.kh*v.kw
	v.by, v.bias = make([]float32, v.outC), make([]float32, v.outC)
	fill(v.by, 1)
	if c.has(2) {
		bias, err := c.weights(2, v.outC)
		if err != nil {
			return err
		}
		if v.bias, err = c.finiteCopy(bias); err != nil {
			return err
		}
	}
	s := &step{in: []*value{x}, conv: v, run: v.run, pack: func() error { return v.pack(c.builder, w) }}
	switch {
	case v.depthwise():
		s.run, s.scratch = v.runDepthwise, v.phases().size()+v.pixelsPitched()
	default:
		if !v.plain() {
			if s.scratch, err = onnx.Volume([]int{v.k, v.pixels()}, c.limits.Elements); err != nil {
				return err
			}
		}
		if v.dots = v.k >= enoughForDots; v.dots {
			n, err := onnx.Volume([]int{v.k, v.pixels()}, c.limits.Elements)
			if err != nil {
				return err
			}
			s.scratch += n
		}
	}
	if int64(s.scratch)*4 > c.limits.Memory {
		return limitError("its windows take more than the %d bytes accepted", c.limits.Memory)
	}
	work := int64(count(w.shape)) * int64(v.pixels())
	if v.depthwise() {
		work += int64(v.inC) * int64(s.scratch)
	}
	return c.emit(s, []int{1, v.outC, v.outH, v.outW}, work)
}

func (v *conv) depthwise() bool { return v.groups == v.inC && v.m == 1 }

// scale folds in y·by + plus for an output channel, before packing.
func (v *conv) scale(channel int, by, plus float32) {
	v.by[channel] *= by
	v.bias[channel] = v.bias[channel]*by + plus
}

// pack takes a copy of the weights, with what was folded in.
func (v *conv) pack(b *builder, w *value) (err error) {
	if v.weights, err = b.finiteCopy(w); err != nil {
		return err
	}
	for i, by := range v.by {
		if by != 1 {
			row := v.weights[i*v.k:][:v.k]
			for j := range row {
				row[j] *= by
			}
		}
	}
	if !finite(v.weights) || !finite(v.bias) {
		return errNotFinite
	}
	return nil
}

func (v *conv) run(out []float32, in [][]float32, scratch []float32) {
	n := v.pixels()
	perGroup := v.inC / v.groups * v.inH * v.inW
	for g := range v.groups {
		columns := in[0][g*perGroup:][:perGroup]
		rest := scratch
		if !v.plain() {
			v.gather(scratch[:v.k*n], columns)
			columns, rest = scratch[:v.k*n], scratch[v.k*n:]
		}
		weights := v.weights[g*v.m*v.k:][:v.m*v.k]
		bias := v.bias[g*v.m:][:v.m]
		y := out[g*v.m*n:][:v.m*n]
		if v.dots {
			rows := rest[:n*v.k]
			transpose(rows, columns, v.k, n)
			dotProduct(y, weights, rows, bias, v.m, n, v.k)
			clamp(y, v.lo, v.hi)
			continue
		}
		for i, b := range bias {
			fill(y[i*n:][:n], b)
		}
		addProduct(y, weights, columns, v.m, n, v.k)
		clamp(y, v.lo, v.hi)
	}
}

// gather lays out the windows as columns: row (c, dy, dx) holds what tap (dy, dx) of
// channel c reads for each output pixel.
func (v *conv) gather(columns, x []float32) {
	n, i := v.pixels(), 0
	for c := range len(x) / (v.inH * v.inW) {
		plane := x[c*v.inH*v.inW:][:v.inH*v.inW]
		for dy := range v.kh {
			for dx := range v.kw {
				v.gatherTap(columns[i*n:][:n], plane, dy-v.top, dx-v.left)
				i++
			}
		}
	}
}

func (v *conv) gatherTap(row, plane []float32, dy, dx int) {
	for oy := range v.outH {
		to := row[oy*v.outW:][:v.outW]
		y := oy*v.sh + dy
		if y < 0 || y >= v.inH {
			clear(to)
			continue
		}
		from := plane[y*v.inW:][:v.inW]
		x := dx
		for i := range to {
			if uint(x) < uint(len(from)) {
				to[i] = from[x]
			} else {
				to[i] = 0
			}
			x += v.sw
		}
	}
}

// Depthwise. With stride s the padded plane is split into s×s phases, where phase (a, b)
// holds rows a, a+s, … and columns b, b+s, …. Each tap then reads a contiguous run of one
// phase, and nine additions of long rows are the whole convolution. The rows of the sum
// are as wide as those of a phase; whatever lies beyond outW is not copied out.
type phases struct{ sh, sw, rows, pitch int }

func (v *conv) phases() phases {
	return phases{v.sh, v.sw, ceilDiv(v.inH+v.top+v.bottom, v.sh), ceilDiv(v.inW+v.left+v.right, v.sw)}
}

func (p phases) size() int { return p.sh * p.sw * p.rows * p.pitch }

// pixelsPitched is the length of the sum.
func (v *conv) pixelsPitched() int { return (v.outH-1)*v.phases().pitch + v.outW }

func (v *conv) runDepthwise(out []float32, in [][]float32, scratch []float32) {
	p := v.phases()
	n, wide, size := v.pixels(), v.pixelsPitched(), p.rows*p.pitch
	planes, sum := scratch[:p.size()], scratch[p.size():][:wide]
	clear(planes) // the padding stays zero
	for c := range v.outC {
		x := in[0][c*v.inH*v.inW:][:v.inH*v.inW]
		for y := range v.inH {
			py := y + v.top
			row := planes[py%p.sh*p.sw*size+py/p.sh*p.pitch:]
			from := x[y*v.inW:][:v.inW]
			if p.sw == 1 {
				copy(row[v.left:], from)
				continue
			}
			for b := range p.sw {
				first := b - v.left%p.sw
				if first < 0 {
					first += p.sw
				}
				to := row[b*size+(first+v.left)/p.sw:]
				for i, j := first, 0; i < len(from); i, j = i+p.sw, j+1 {
					to[j] = from[i]
				}
			}
		}
		fill(sum, v.bias[c])
		for dy := range v.kh {
			for dx := range v.kw {
				phase := planes[(dy%p.sh*p.sw+dx%p.sw)*size:][:size]
				axpy(v.weights[c*v.k+dy*v.kw+dx], phase[dy/p.sh*p.pitch+dx/p.sw:][:wide], sum)
			}
		}
		for y := range v.outH {
			copy(out[c*n+y*v.outW:][:v.outW], sum[y*p.pitch:])
		}
		clamp(out[c*n:][:n], v.lo, v.hi)
	}
}
