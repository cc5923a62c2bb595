package engine

import (
	"fmt"
	"slices"

	"cpar/encoder/onnx"
)

func (c *call) has(i int) bool { return i < len(c.in) && c.in[i] != nil }

// given returns the i-th input, which may be empty and of any kind.
func (c *call) given(i int) (*value, error) {
	if !c.has(i) {
		return nil, fmt.Errorf("input %d is missing", i)
	}
	return c.in[i], nil
}

func (c *call) any(i int) (*value, error) {
	v, err := c.given(i)
	if err == nil && count(v.shape) == 0 {
		return nil, fmt.Errorf("input %d is empty", i)
	}
	return v, err
}

// input returns the i-th input, which must be a tensor of floats.
func (c *call) input(i int) (*value, error) {
	if c.has(i) && c.in[i].kind != floats {
		return nil, fmt.Errorf("input %d holds %s", i, c.in[i].kind)
	}
	return c.any(i)
}

func (c *call) inputs(from, to int) error {
	if len(c.in) < from || len(c.in) > to {
		return fmt.Errorf("it has %d inputs", len(c.in))
	}
	return nil
}

// weights returns the i-th input, which must be a constant of this shape, with
// -1 for any length.
func (c *call) weights(i int, shape ...int) (*value, error) {
	v, err := c.input(i)
	if err != nil {
		return nil, err
	}
	if !v.constant() {
		return nil, onnx.Unsupported("input %d is not a constant, which is not supported", i)
	}
	agrees := len(v.shape) == len(shape)
	for k := 0; agrees && k < len(shape); k++ {
		agrees = v.shape[k] == shape[k] || shape[k] == -1
	}
	if !agrees {
		return nil, fmt.Errorf("input %d has shape %v where %v is needed (-1: any)", i, v.shape, shape)
	}
	return v, nil
}

// scalar returns the i-th input, a constant of one element, or the default if
// omitted.
func (c *call) scalar(i int, otherwise float32) (float32, error) {
	if !c.has(i) {
		return otherwise, nil
	}
	v, err := c.input(i)
	if err != nil {
		return 0, err
	}
	if !v.constant() || len(v.shape) > 1 || count(v.shape) != 1 {
		return 0, fmt.Errorf("input %d is not a constant number", i)
	}
	data, err := c.floatsOf(v)
	if err != nil {
		return 0, err
	}
	return data[0], nil
}

func (c *call) constantInts(i int) ([]int64, error) {
	if !c.has(i) || !c.in[i].constant() || c.in[i].kind != ints || len(c.in[i].shape) > 1 || count(c.in[i].shape) > maxList {
		return nil, onnx.Unsupported("input %d is not a constant list of integers, which is not supported", i)
	}
	return c.intsOf(c.in[i])
}

func (b *builder) intsOf(v *value) ([]int64, error) {
	if v.ints == nil && v.tensor != nil {
		if err := b.allocate(8 * int64(count(v.shape))); err != nil {
			return nil, err
		}
		data, err := v.tensor.Ints()
		if err != nil {
			return nil, err
		}
		v.ints = data
	}
	return v.ints, nil
}

func (b *builder) floatsOf(v *value) ([]float32, error) {
	if v.floats != nil {
		return v.floats, nil
	}
	data, err := b.copyOf(v)
	if err == nil {
		v.floats = data
	}
	return data, err
}

func (b *builder) copyOf(v *value) ([]float32, error) {
	if err := b.allocate(4 * int64(count(v.shape))); err != nil {
		return nil, err
	}
	switch {
	case v.floats != nil:
		return slices.Clone(v.floats), nil
	case v.ints != nil:
		return exactFloats(v.ints)
	case v.tensor != nil:
		return v.tensor.Floats()
	}
	return []float32{}, nil
}

// finiteCopy is copyOf for weights, checked once for all images.
func (b *builder) finiteCopy(v *value) ([]float32, error) {
	data, err := b.copyOf(v)
	if err == nil && !finite(data) {
		err = fmt.Errorf("the constant %.80q holds a value that is not a finite number", v.name)
	}
	return data, err
}

func exactFloats(whole []int64) ([]float32, error) {
	out := make([]float32, len(whole))
	for i, v := range whole {
		if v < -maxExact || v > maxExact {
			return nil, fmt.Errorf("the integer %d, beyond the %d accepted where the input matters", v, maxExact)
		}
		out[i] = float32(v)
	}
	return out, nil
}

// maxExact is the largest n for which float32 holds all integers up to n.
const maxExact = 1 << 24

func (b *builder) allocate(bytes int64) error {
	if b.bytes += bytes; b.bytes > b.limits.Memory {
		return limitError("the constants take more than the %d bytes accepted", b.limits.Memory)
	}
	return nil
}

// attribute returns an attribute, or nil if absent, and removes it from those
// not yet handled.
func (c *call) attribute(name string, kind onnx.Kind) (*onnx.Attribute, error) {
	a := c.attributes[name]
	if a == nil {
		return nil, nil
	}
	if a.Kind != kind && a.Kind != 0 {
		return nil, fmt.Errorf("attribute %s is of kind %d", name, a.Kind)
	}
	delete(c.attributes, name)
	return a, nil
}

func (c *call) floatAttribute(name string, otherwise float32) (float32, error) {
	a, err := c.attribute(name, onnx.KindFloat)
	if a == nil {
		return otherwise, err
	}
	return a.F, nil
}

func (c *call) intAttribute(name string, otherwise int64) (int64, error) {
	a, err := c.attribute(name, onnx.KindInt)
	if a == nil {
		return otherwise, err
	}
	return a.I, nil
}

func (c *call) stringAttribute(name, otherwise string) (string, error) {
	a, err := c.attribute(name, onnx.KindString)
	if a == nil {
		return otherwise, err
	}
	return a.S, nil
}

// intsAttribute returns a list with entries in lo … hi, of length n unless n is
// -1.
func (c *call) intsAttribute(name string, otherwise []int, n, lo, hi int) ([]int, error) {
	a, err := c.attribute(name, onnx.KindInts)
	if a == nil {
		return otherwise, err
	}
	list := make([]int, len(a.Ints))
	for i, v := range a.Ints {
		if v < int64(lo) || v > int64(hi) {
			return nil, onnx.Unsupported("attribute %s holds %d; %d to %d is supported", name, v, lo, hi)
		}
		list[i] = int(v)
	}
	if n >= 0 && len(list) != n {
		return nil, fmt.Errorf("attribute %s has %d entries where %d are needed", name, len(list), n)
	}
	return list, nil
}

func (c *call) axisAttribute(otherwise int64, rank int) (int, error) {
	a, err := c.intAttribute("axis", otherwise)
	if err != nil {
		return 0, err
	}
	return axis(a, rank)
}

// emit adds a step that computes the node's first output, of floats. work is
// its number of multiply-adds.
func (c *call) emit(s *step, shape []int, work int64) error {
	return c.setOutput(c.step(floats, s, shape, work))
}

func (c *call) setOutput(v *value, err error) error {
	if err == nil {
		c.values[c.node.Out[0]] = v
	}
	return err
}

// step adds a step and returns its output, folded if all inputs are constants.
func (c *call) step(k kind, s *step, shape []int, work int64) (*value, error) {
	n, err := c.check(shape)
	if err != nil {
		return nil, err
	}
	// Every step traverses its output at least once.
	if s.work = work + int64(n); s.work < 0 || s.work > c.limits.Work {
		return nil, limitError("it takes more than the %d multiply-adds accepted", c.limits.Work)
	}
	s.label = c.node.Label()
	if s.op == "" {
		s.op = c.node.Op
	}
	s.out = &value{name: c.node.Out[0], kind: k, shape: slices.Clone(shape), producer: s}
	if n == 0 { // nothing to compute
		s.out.producer = nil
		return s.out, nil
	}
	if !slices.ContainsFunc(s.in, func(v *value) bool { return !v.constant() }) {
		return s.out, c.fold(s)
	}
	c.steps = append(c.steps, s)
	return s.out, nil
}

func (c *call) check(shape []int) (int, error) {
	if len(shape) > maxRank {
		return 0, onnx.Unsupported("a tensor has shape %v; up to %d dimensions are supported", shape, maxRank)
	}
	n, err := onnx.Volume(shape, c.limits.Elements)
	if err != nil {
		return 0, limitError("%w", err)
	}
	return n, nil
}

func (c *call) shapeOf(list []int64) ([]int, error) {
	shape := make([]int, len(list))
	for i, d := range list {
		if d < 0 || d > int64(c.limits.Elements) {
			return nil, fmt.Errorf("a shape of %v", list)
		}
		shape[i] = int(d)
	}
	_, err := c.check(shape)
	return shape, err
}

func (c *call) constantOf(k kind, shape []int, data []int64) (*value, error) {
	if err := c.allocate(8 * int64(len(data))); err != nil {
		return nil, err
	}
	return &value{name: c.node.Out[0], kind: k, shape: shape, ints: data}, nil
}

// axis returns an axis of a tensor of this rank. Negative axes count from the
// end.
func axis(a int64, rank int) (int, error) {
	if a < int64(-rank) || a >= int64(rank) {
		return 0, fmt.Errorf("axis %d of a tensor of %d dimensions", a, rank)
	}
	if a < 0 {
		a += int64(rank)
	}
	return int(a), nil
}

// axes reads a list of axes in ascending order, an attribute before opset since
// and then the i-th input. given is false if it is absent or empty.
func (c *call) axes(name string, since int64, i, rank int) (list []int, given bool, err error) {
	var raw []int64
	if c.opset < since {
		a, err := c.attribute(name, onnx.KindInts)
		if err != nil || a == nil {
			return nil, false, err
		}
		raw = a.Ints
	} else if c.has(i) {
		if raw, err = c.constantInts(i); err != nil {
			return nil, false, err
		}
	}
	for _, a := range raw {
		k, err := axis(a, rank)
		if err != nil {
			return nil, false, err
		}
		if slices.Contains(list, k) {
			return nil, false, fmt.Errorf("axis %d is named twice", a)
		}
		list = append(list, k)
	}
	slices.Sort(list)
	return list, len(list) > 0, nil
}
