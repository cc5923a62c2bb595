package engine

import (
	"fmt"
	"math"

	"cpar/encoder/onnx"
)

// compileResize implements Resize, and Upsample, its older name. It resamples
// one axis after the other with weighted sources (taps).
func compileResize(c *call) error {
	x := c.input(0)
	r := c.resizing()
	scales, sizes := c.resizeTo(x, r)
	if c.err != nil {
		return c.err
	}
	for k, n := range x.shape {
		if sizes[k] == n && scales[k] == 1 {
			continue
		}
		// Before allocating the taps, count their memory from an upper bound on
		// the number of taps per position.
		each := 6 + 4*max(1, 1/scales[k])
		if !(each < float64(c.limits.Elements)) {
			return fmt.Errorf("a scale of %g is too small", scales[k])
		}
		if err := c.allocate(int64(sizes[k]) * int64(24+16*each)); err != nil {
			return err
		}
		taps, err := r.taps(n, sizes[k], scales[k])
		if err != nil {
			return err
		}
		x = c.resampled(x, k, taps)
	}
	return c.setOutput(x)
}

type resizing struct {
	mode, coordinates, nearest string
	cubic                      float64 // coefficient a of cubic convolution
	antialias                  bool    // whether to widen the filter when shrinking
	axes                       []int64 // the axes to resize, or nil for all
}

func (c *call) resizing() (r resizing) {
	r.mode = c.stringAttribute("mode", "nearest")
	r.coordinates = c.stringAttribute("coordinate_transformation_mode", "half_pixel")
	r.nearest = c.stringAttribute("nearest_mode", "round_prefer_floor")
	policy := c.stringAttribute("keep_aspect_ratio_policy", "stretch")
	if c.node.Op == "Upsample" || c.opset < 11 {
		r.coordinates, r.nearest = "asymmetric", "floor"
	}
	r.cubic = float64(c.floatAttribute("cubic_coeff_a", -0.75))
	if c.flagAttribute("exclude_outside", false) {
		c.fail(onnx.Unsupported("exclude_outside is not supported"))
	}
	r.antialias = c.flagAttribute("antialias", false)
	c.floatAttribute("extrapolation_value", 0)
	r.axes = c.rawInts("axes")
	if policy != "stretch" || r.coordinates == "tf_crop_and_resize" {
		c.fail(onnx.Unsupported("%.40q is not supported", policy+", "+r.coordinates))
	}
	if r.mode == "bilinear" {
		r.mode = "linear"
	}
	return r
}

// resizeTo returns the scale and the new size of every axis. The node gives
// either the scales or the sizes.
func (c *call) resizeTo(x *value, r resizing) (scales []float64, sizes []int) {
	rank := len(x.shape)
	scales, sizes = make([]float64, rank), make([]int, rank)
	for k, n := range x.shape {
		scales[k], sizes[k] = 1, n
	}
	axes := allAxes(rank)
	if r.axes != nil {
		axes = axes[:0]
		for _, a := range r.axes {
			axes = append(axes, c.axis(a, rank))
		}
	}
	if c.err != nil {
		return nil, nil
	}
	at := 2 // input 1 is a region, which no supported mode uses
	if c.node.Op == "Upsample" || c.opset < 11 {
		at = 1
	}
	if c.opset >= 11 && c.has(3) && count(c.in[3].shape) > 0 {
		to := c.shapeOf(c.constantInts(3))
		if len(to) != len(axes) {
			c.fail(fmt.Errorf("sizes %v do not fit a tensor of shape %v", to, x.shape))
			return nil, nil
		}
		for i, k := range axes {
			sizes[k], scales[k] = to[i], float64(to[i])/float64(x.shape[k])
		}
	} else {
		var list []float32
		if a := c.attribute("scales", onnx.KindFloats); a != nil {
			list = a.Floats
		} else {
			var err error
			list, err = c.floatsOf(c.weights(at, -1))
			c.fail(err)
		}
		fits := len(list) == len(axes)
		for i := 0; fits && i < len(axes); i++ {
			k := axes[i]
			n := math.Floor(float64(x.shape[k]) * float64(list[i]))
			fits = n >= 1 && n <= float64(c.limits.Elements)
			sizes[k], scales[k] = int(n), float64(list[i])
		}
		if !fits {
			c.fail(fmt.Errorf("scales %v do not fit a tensor of shape %v", list, x.shape))
		}
	}
	if n, err := onnx.Volume(sizes, c.limits.Elements); err != nil || n == 0 {
		c.fail(fmt.Errorf("sizes %v are empty or too large", sizes))
	}
	return scales, sizes
}

// A tap is a position on an axis and its weight in a resampled value.
type tap struct {
	at     int
	weight float32
}

// taps returns the weighted sources of each new position of an axis that is
// resampled from length n to length m.
func (r resizing) taps(n, m int, scale float64) ([][]tap, error) {
	all := make([][]tap, m)
	for i := range all {
		x := float64(i)
		switch r.coordinates {
		case "half_pixel":
			x = (x+0.5)/scale - 0.5
		case "pytorch_half_pixel":
			if x = (x+0.5)/scale - 0.5; m == 1 {
				x = 0
			}
		case "align_corners":
			if x = x * float64(n-1) / float64(m-1); m == 1 {
				x = 0
			}
		case "asymmetric":
			x /= scale
		default:
			return nil, onnx.Unsupported("the coordinates %.40q are not supported", r.coordinates)
		}
		var err error
		if all[i], err = r.around(x, n, scale); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (r resizing) around(x float64, n int, scale float64) ([]tap, error) {
	stretch := 1.0
	if r.antialias && scale < 1 {
		stretch = 1 / scale
	}
	reach, weight := 1.0, func(d float64) float64 { return max(0, 1-d) }
	switch r.mode {
	case "nearest":
		var at float64
		switch r.nearest {
		case "round_prefer_floor":
			at = math.Ceil(x - 0.5)
		case "floor":
			at = math.Floor(x)
		default:
			return nil, onnx.Unsupported("rounding by %.40q is not supported", r.nearest)
		}
		return []tap{{int(min(max(at, 0), float64(n-1))), 1}}, nil
	case "linear":
	case "cubic": // cubic convolution (R. Keys, 1981)
		reach = 2
		weight = func(d float64) float64 {
			a := r.cubic
			if d <= 1 {
				return ((a+2)*d-(a+3))*d*d + 1
			}
			return ((a*d-5*a)*d+8*a)*d - 4*a
		}
	default:
		return nil, onnx.Unsupported("the mode %.40q is not supported", r.mode)
	}
	first, last := math.Floor(x-reach*stretch)+1, math.Ceil(x+reach*stretch)-1
	if first > last {
		first, last = math.Floor(x), math.Floor(x)
	}
	var list []tap
	sum := 0.0
	for p := first; p <= last; p++ {
		w := weight(min(math.Abs(p-x)/stretch, reach))
		at := int(min(max(p, 0), float64(n-1)))
		sum += w
		if len(list) > 0 && list[len(list)-1].at == at { // positions beyond the border count as the border
			list[len(list)-1].weight += float32(w)
			continue
		}
		list = append(list, tap{at, float32(w)})
	}
	if r.antialias {
		for i := range list {
			list[i].weight /= float32(sum)
		}
	}
	return list, nil
}

func (c *call) resampled(x *value, k int, taps [][]tap) *value {
	shape := append([]int(nil), x.shape...)
	shape[k] = len(taps)
	n, inner := x.shape[k], count(x.shape[k+1:])
	var work int64
	for _, list := range taps {
		work += int64(len(list))
	}
	s := &step{in: []*value{x}}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		for from := in[0]; len(from) > 0; from = from[n*inner:] {
			for _, list := range taps {
				to := out[:inner]
				clear(to)
				for _, t := range list {
					for i, v := range from[t.at*inner:][:inner] {
						to[i] += v * t.weight
					}
				}
				out = out[inner:]
			}
		}
	}
	return c.step(floats, s, shape, work*int64(count(x.shape)/n))
}
