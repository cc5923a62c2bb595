package engine

import (
	"fmt"
	"math"

	"cpar/encoder/onnx"
)

// This file implements operators whose output is constant for known shapes.

func compileConstant(c *call) error {
	v := &value{name: c.node.Out[0]}
	if a := c.attribute("value", onnx.KindTensor); a != nil && a.Tensor != nil {
		v = constantOf(v.name, a.Tensor)
	} else if a := c.attribute("value_float", onnx.KindFloat); a != nil {
		v.floats, v.shape = []float32{a.F}, []int{}
	} else if a := c.attribute("value_floats", onnx.KindFloats); a != nil {
		v.floats, v.shape = a.Floats, []int{len(a.Floats)}
	} else if a := c.attribute("value_int", onnx.KindInt); a != nil {
		v.kind, v.ints, v.shape = ints, []int64{a.I}, []int{}
	} else if a := c.attribute("value_ints", onnx.KindInts); a != nil {
		v.kind, v.ints, v.shape = ints, a.Ints, []int{len(a.Ints)}
	} else {
		return onnx.Unsupported("it holds no tensor that is supported")
	}
	return c.setOutput(v)
}

func compileShape(c *call) error {
	x := c.given(0)
	rank := int64(len(x.shape))
	start := c.intAttribute("start", 0)
	end := c.intAttribute("end", rank)
	clamped := func(a int64) int64 {
		if a < 0 {
			a += rank
		}
		return min(max(a, 0), rank)
	}
	var list []int64
	for k := clamped(start); k < clamped(end); k++ {
		list = append(list, int64(x.shape[k]))
	}
	return c.setOutput(c.constantOf(ints, []int{len(list)}, list))
}

func compileSize(c *call) error {
	x := c.given(0)
	return c.setOutput(c.constantOf(ints, []int{}, []int64{int64(count(x.shape))}))
}

func compileConstantOfShape(c *call) error {
	shape := c.shapeOf(c.constantInts(0))
	a := c.attribute("value", onnx.KindTensor)
	one := number(0)
	if a != nil && a.Tensor != nil {
		if a.Tensor.Count() != 1 {
			return fmt.Errorf("its value of shape %v is not one element", a.Tensor.Dims)
		}
		one = constantOf("value", a.Tensor)
		one.shape = []int{}
	}
	return c.setOutput(c.view(one, view{shape: shape, steps: make([]int, len(shape))}))
}

func compileRange(c *call) error {
	for i := range 3 {
		if !c.has(i) || !c.in[i].constant() || count(c.in[i].shape) != 1 || c.in[i].kind != c.in[0].kind {
			return onnx.Unsupported("a range whose bounds are not constant is not supported")
		}
	}
	if c.in[0].kind == floats {
		of, err := rangeOf(c, c.floatsOf)
		if err != nil {
			return err
		}
		first, each := float64(of[0]), float64(of[2])
		n := math.Ceil((float64(of[1]) - first) / each)
		if !(n <= float64(c.limits.Elements)) {
			return limitError("a range of more than the %d elements accepted", c.limits.Elements)
		}
		s := &step{run: func(out []float32, _ [][]float32, _ []float32) {
			for i := range out {
				out[i] = float32(first + float64(i)*each)
			}
		}}
		return c.setOutput(c.step(floats, s, []int{int(max(0, n))}, 0))
	}
	of, err := rangeOf(c, c.intsOf)
	if err != nil {
		return err
	}
	if of[2] == 0 || of[2] == math.MinInt64 {
		return fmt.Errorf("a step of %d", of[2])
	}
	distance, each := of[1]-of[0], of[2]
	if of[2] < 0 {
		distance, each = -distance, -each
	}
	n := int64(0)
	if (of[1] > of[0]) == (of[2] > 0) && of[1] != of[0] {
		if distance <= 0 || (distance-1)/each >= int64(c.limits.Elements) { // distance <= 0 means that the difference overflowed
			return limitError("a range of more than the %d elements accepted", c.limits.Elements)
		}
		n = (distance-1)/each + 1
	}
	s := &step{exact: func(out []int64, _ [][]int64) error {
		for i := range out {
			out[i] = of[0] + int64(i)*of[2]
		}
		return nil
	}}
	return c.setOutput(c.step(ints, s, []int{int(n)}, 0))
}

func rangeOf[T any](c *call, read func(*value) ([]T, error)) (of [3]T, err error) {
	for i := range of {
		data, err := read(c.in[i])
		if err != nil {
			return of, err
		}
		of[i] = data[0]
	}
	return of, nil
}

// compileCast implements Cast and CastLike. It does not round to narrower float
// types, because all values are float32 at run time. Integer constants wrap
// around as in the target type.
func compileCast(c *call) error {
	x := c.given(0)
	var to onnx.Type
	if c.node.Op == "CastLike" {
		like := c.given(1)
		to = map[kind]onnx.Type{floats: onnx.Float, ints: onnx.Int64, bools: onnx.Bool}[like.kind]
		if like.tensor != nil {
			to = like.tensor.Type
		}
	} else {
		t := c.intAttribute("to", 0)
		if to = onnx.Type(t); int64(to) != t {
			return fmt.Errorf("type %d is unknown", t)
		}
	}
	for _, name := range []string{"saturate", "round_mode"} { // these attributes affect only float8
		delete(c.attributes, name)
	}
	k := kindOf(to)
	if k == ints && (to == onnx.String || to < onnx.Uint8 || to > onnx.Uint64) {
		return onnx.Unsupported("a cast to %s is not supported", to)
	}
	s := &step{in: []*value{x}, inPlace: true}
	switch {
	case k == floats && x.constant() && x.kind == ints:
		data, err := c.intsOf(x) // integers that float32 cannot hold are rounded
		if err != nil {
			return err
		}
		s.in = nil
		s.run = func(out []float32, _ [][]float32, _ []float32) {
			for i, v := range data {
				out[i] = float32(v)
			}
		}
	case k == x.kind && (k != ints || !x.constant()) || k == floats || k == ints && x.kind == bools:
		if k == x.kind {
			return c.setOutput(x)
		}
		s.run = copyKernel
		s.exact = func(out []int64, in [][]int64) error { copy(out, in[0]); return nil }
		if k == floats {
			s.exact = nil
		}
	case k == bools:
		s.moves(mapped(func(v float32) float32 { return truth(v != 0) }),
			mapped(func(v int64) int64 { return int64(truth(v != 0)) }))
	default: // to integers
		s.moves(mapped(func(v float32) float32 { return float32(math.Trunc(float64(v))) }),
			mapped(func(v int64) int64 { return wrapped(v, to) }))
		if x.constant() && x.kind == floats { // keeps integers beyond 2²⁴ exact
			data, err := c.floatsOf(x)
			if err != nil {
				return err
			}
			s.in = nil
			s.exact = func(out []int64, _ [][]int64) error {
				for i, v := range data {
					if !(v >= -1<<63 && v < 1<<63) {
						return fmt.Errorf("%g is not a 64-bit integer", v)
					}
					out[i] = wrapped(int64(v), to)
				}
				return nil
			}
		}
	}
	return c.setOutput(c.step(k, s, x.shape, 0))
}

func truth(v bool) float32 {
	if v {
		return 1
	}
	return 0
}

func wrapped(v int64, to onnx.Type) int64 {
	switch to {
	case onnx.Int8:
		return int64(int8(v))
	case onnx.Uint8:
		return int64(uint8(v))
	case onnx.Int16:
		return int64(int16(v))
	case onnx.Uint16:
		return int64(uint16(v))
	case onnx.Int32:
		return int64(int32(v))
	case onnx.Uint32:
		return int64(uint32(v))
	}
	return v
}

// compileDequantize computes y = (x − zero)·scale for weights x that a file
// stores as integers. It refuses an x computed from the image, because the
// engine has no integer arithmetic at run time.
func compileDequantize(c *call) error {
	x, scales := c.any(0), c.any(1)
	block := c.intAttribute("block_size", 0)
	delete(c.attributes, "output_dtype") // the engine always uses float32
	switch {
	case c.err != nil:
		return c.err
	case !x.constant():
		return onnx.Unsupported("it computes with 8-bit integers, which only ONNX Runtime supports; the same network in float32 or float16 runs here")
	case x.kind != ints:
		return fmt.Errorf("input 0 holds %s, not integers", x.kind)
	case block != 0:
		return onnx.Unsupported("scales for blocks of an axis are not supported")
	}
	// The index of the scale of element i is i/along modulo channels.
	along, channels := count(x.shape), 1
	if count(scales.shape) == 1 {
		delete(c.attributes, "axis") // the axis has no effect with a single scale
	} else {
		axis := c.axisAttribute(1, len(x.shape))
		if c.err != nil {
			return c.err
		}
		along, channels = rowMajor(x.shape)[axis], x.shape[axis]
	}
	scale := c.perChannel(1, channels)
	zero := make([]float32, channels)
	if c.has(2) {
		zero = c.perChannel(2, channels)
	}
	data, err := c.copyOf(x)
	if c.fail(err); c.err != nil {
		return c.err
	}
	s := &step{run: func(out []float32, _ [][]float32, _ []float32) {
		for i, v := range data {
			channel := i / along % channels
			out[i] = (v - zero[channel]) * scale[channel]
		}
	}}
	return c.emit(s, x.shape, int64(len(data)))
}

// perChannel returns the i-th input, a constant with a finite value per
// channel.
func (c *call) perChannel(i, channels int) []float32 {
	v := c.any(i)
	if !v.constant() || len(v.shape) > 1 || count(v.shape) != channels {
		c.fail(fmt.Errorf("input %d of shape %v is not a constant of %d values", i, v.shape, channels))
		return nil
	}
	data, err := c.finiteCopy(v)
	c.fail(err)
	return data
}
