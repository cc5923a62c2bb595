package engine

import (
	"errors"
	"fmt"
	"slices"

	"cpar/user/network/onnx"
)

func copyKernel(out []float32, in [][]float32, _ []float32) { copy(out, in[0]) }

// reshaped gives x another shape; nothing moves in memory if x is not needed afterwards.
func (c *call) reshaped(x *value, shape []int) error {
	return c.emit(&step{in: []*value{x}, run: copyKernel, inPlace: true}, shape, 0)
}

func compileFlatten(c *call) error {
	x, err := c.input(0)
	if err != nil {
		return err
	}
	axis, err := c.axisAttribute(1, len(x.shape))
	if err != nil {
		return err
	}
	return c.reshaped(x, []int{count(x.shape[:axis]), count(x.shape[axis:])})
}

func compileReshape(c *call) error {
	x, err := c.input(0)
	if err != nil {
		return err
	}
	target, err := c.constantInts(1)
	if err != nil {
		return err
	}
	allowZero, err := c.intAttribute("allowzero", 0)
	if err != nil {
		return err
	}
	if len(target) > maxRank || allowZero != 0 {
		return onnx.Unsupported("a target shape %v is not supported", target)
	}
	shape, free, known := make([]int, len(target)), -1, 1
	for i, d := range target {
		switch {
		case d == -1 && free < 0:
			free = i
			continue
		case d == 0 && i < len(x.shape):
			shape[i] = x.shape[i]
		case d > 0 && d <= int64(c.limits.Elements):
			shape[i] = int(d)
		default:
			return fmt.Errorf("a target shape %v", target)
		}
		if known > c.limits.Elements/shape[i] {
			return fmt.Errorf("a target shape %v has more than the %d elements accepted", target, c.limits.Elements)
		}
		known *= shape[i]
	}
	total := count(x.shape)
	if free >= 0 {
		shape[free] = total / known
		known *= shape[free]
	}
	if known != total {
		return fmt.Errorf("a tensor of shape %v cannot take the shape %v", x.shape, target)
	}
	return c.reshaped(x, shape)
}

func compileConcat(c *call) error {
	first, err := c.input(0)
	if err != nil {
		return err
	}
	if c.attributes["axis"] == nil {
		return errors.New("it names no axis")
	}
	axis, err := c.axisAttribute(0, len(first.shape))
	if err != nil {
		return err
	}
	if axis >= len(first.shape) {
		return fmt.Errorf("axis %d of a tensor of %d dimensions", axis, len(first.shape))
	}
	shape := slices.Clone(first.shape)
	shape[axis] = 0
	s := &step{}
	var runs []int // per input, consecutive elements from axis on
	for i := range c.in {
		v, err := c.input(i)
		if err != nil {
			return err
		}
		fits := len(v.shape) == len(shape)
		for k := 0; fits && k < len(shape); k++ {
			fits = k == axis || v.shape[k] == shape[k]
		}
		if !fits {
			return fmt.Errorf("tensors of shapes %v and %v do not fit along axis %d", first.shape, v.shape, axis)
		}
		if shape[axis] += v.shape[axis]; shape[axis] > c.limits.Elements {
			return errors.New("its output is too large")
		}
		s.in = append(s.in, v)
		runs = append(runs, count(v.shape[axis:]))
	}
	rows := count(shape[:axis])
	s.run = func(out []float32, in [][]float32, _ []float32) {
		for r := range rows {
			for i, n := range runs {
				out = out[copy(out, in[i][r*n:][:n]):]
			}
		}
	}
	return c.emit(s, shape, 0)
}

// compileIdentity implements Identity, and Dropout, which does nothing after training.
func compileIdentity(c *call) error {
	if c.node.Op == "Dropout" {
		delete(c.attributes, "ratio")
		delete(c.attributes, "seed")
		if c.has(2) {
			return errors.New("a training mode is not supported")
		}
	}
	if !c.has(0) {
		return errors.New("input 0 is missing")
	}
	// The same tensor has another name; fusing sees through it.
	c.values[c.node.Out[0]] = c.in[0]
	return nil
}

func compileConstant(c *call) error {
	name := c.node.Out[0]
	set := func(t *onnx.Tensor, shape []int) error {
		c.values[name] = constantOf(name, t)
		c.values[name].shape = shape
		return nil
	}
	if a, err := c.attribute("value", onnx.KindTensor); err != nil {
		return err
	} else if a != nil && a.Tensor != nil {
		return set(a.Tensor, a.Tensor.Dims)
	}
	for _, kind := range []onnx.Kind{onnx.KindFloat, onnx.KindFloats, onnx.KindInt, onnx.KindInts} {
		a, err := c.attribute(map[onnx.Kind]string{onnx.KindFloat: "value_float", onnx.KindFloats: "value_floats",
			onnx.KindInt: "value_int", onnx.KindInts: "value_ints"}[kind], kind)
		if err != nil {
			return err
		}
		switch {
		case a == nil:
		case kind == onnx.KindFloat:
			return set(onnx.NewFloats([]float32{a.F}), []int{})
		case kind == onnx.KindFloats:
			return set(onnx.NewFloats(a.Floats), []int{len(a.Floats)})
		case kind == onnx.KindInt:
			return set(onnx.NewInts([]int64{a.I}), []int{})
		default:
			return set(onnx.NewInts(a.Ints), []int{len(a.Ints)})
		}
	}
	return onnx.Unsupported("it holds no tensor that is supported")
}
