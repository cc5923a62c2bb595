package engine

import (
	"fmt"
	"slices"

	"cpar/encoder/onnx"
)

// fail records the first failure of a node in c.err and returns an empty value.
// A compile function can therefore read several inputs and attributes, and
// check c.err once before it relies on a shape.
func (c *call) fail(err error) *value {
	if c.err == nil {
		c.err = err
	}
	return &value{}
}

func (c *call) has(i int) bool { return i < len(c.in) && c.in[i] != nil }

// given returns the i-th input of any kind and shape.
func (c *call) given(i int) *value {
	if !c.has(i) {
		return c.fail(fmt.Errorf("input %d is missing", i))
	}
	return c.in[i]
}

func (c *call) any(i int) *value {
	v := c.given(i)
	if count(v.shape) == 0 {
		return c.fail(fmt.Errorf("input %d is empty", i))
	}
	return v
}

// input returns the i-th input. It fails if the input does not hold floats or
// has no element.
func (c *call) input(i int) *value {
	if c.has(i) && c.in[i].kind != floats {
		return c.fail(fmt.Errorf("input %d holds %s", i, c.in[i].kind))
	}
	return c.any(i)
}

// weights returns the i-th input, which must be a constant of the given shape.
// In `shape`, -1 stands for any length.
func (c *call) weights(i int, shape ...int) *value {
	v := c.input(i)
	if !v.constant() {
		return c.fail(onnx.Unsupported("input %d is not a constant, which is not supported", i))
	}
	fits := func(have, want int) bool { return have == want || want == -1 }
	if !slices.EqualFunc(v.shape, shape, fits) {
		return c.fail(fmt.Errorf("input %d has shape %v where %v is needed (-1: any)", i, v.shape, shape))
	}
	return v
}

// finiteWeights returns a copy of the elements of the i-th input (see weights).
// It fails, and returns nil, if an element is not finite.
func (c *call) finiteWeights(i int, shape ...int) []float32 {
	v := c.weights(i, shape...)
	if c.err != nil {
		return nil
	}
	data, err := c.finiteCopy(v)
	c.fail(err)
	return data
}

// scalar returns the i-th input, a constant of one element, or `otherwise` if
// the input is omitted.
func (c *call) scalar(i int, otherwise float32) float32 {
	if !c.has(i) {
		return otherwise
	}
	v := c.input(i)
	if !v.constant() || len(v.shape) > 1 || count(v.shape) != 1 {
		c.fail(fmt.Errorf("input %d is not a constant number", i))
		return 0
	}
	data, err := c.floatsOf(v)
	if err != nil || c.err != nil {
		c.fail(err)
		return 0
	}
	return data[0]
}

func (c *call) constantInts(i int) []int64 {
	if !c.has(i) || !c.in[i].constant() || c.in[i].kind != ints || len(c.in[i].shape) > 1 || count(c.in[i].shape) > maxList {
		c.fail(onnx.Unsupported("input %d is not a constant list of integers, which is not supported", i))
		return nil
	}
	list, err := c.intsOf(c.in[i])
	c.fail(err)
	return list
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

// finiteCopy is like copyOf, but fails if an element is not finite. Checking
// constants here avoids checking them for every image.
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
			return nil, fmt.Errorf("the integer %d is beyond %d, up to which float32 is exact", v, maxExact)
		}
		out[i] = float32(v)
	}
	return out, nil
}

// maxExact is the largest n such that float32 represents all integers −n to n.
const maxExact = 1 << 24

func (b *builder) allocate(bytes int64) error {
	if b.bytes += bytes; b.bytes > b.limits.Memory {
		return limitError("the constants take more than the %d bytes accepted", b.limits.Memory)
	}
	return nil
}

// attribute returns an attribute, or nil if absent. It deletes the attribute
// from c.attributes, so that unsupported ones remain there.
func (c *call) attribute(name string, kind onnx.Kind) *onnx.Attribute {
	a := c.attributes[name]
	if a == nil {
		return nil
	}
	if a.Kind != kind && a.Kind != 0 {
		c.fail(fmt.Errorf("attribute %s is of kind %d", name, a.Kind))
		return nil
	}
	delete(c.attributes, name)
	return a
}

func attributeOf[T any](c *call, name string, kind onnx.Kind, otherwise T, of func(*onnx.Attribute) T) T {
	if a := c.attribute(name, kind); a != nil {
		return of(a)
	}
	return otherwise
}

func (c *call) floatAttribute(name string, otherwise float32) float32 {
	return attributeOf(c, name, onnx.KindFloat, otherwise, func(a *onnx.Attribute) float32 { return a.F })
}

func (c *call) intAttribute(name string, otherwise int64) int64 {
	return attributeOf(c, name, onnx.KindInt, otherwise, func(a *onnx.Attribute) int64 { return a.I })
}

func (c *call) flagAttribute(name string, otherwise bool) bool {
	return attributeOf(c, name, onnx.KindInt, otherwise, func(a *onnx.Attribute) bool { return a.I != 0 })
}

func (c *call) stringAttribute(name, otherwise string) string {
	return attributeOf(c, name, onnx.KindString, otherwise, func(a *onnx.Attribute) string { return a.S })
}

// rawInts returns an attribute that is a list of integers, or nil if absent.
func (c *call) rawInts(name string) []int64 {
	return attributeOf(c, name, onnx.KindInts, nil, func(a *onnx.Attribute) []int64 { return a.Ints })
}

func (c *call) intsAttribute(name string, otherwise []int, n, lo, hi int) []int {
	a := c.attribute(name, onnx.KindInts)
	if a == nil {
		return otherwise
	}
	list := make([]int, len(a.Ints))
	for i, v := range a.Ints {
		if v < int64(lo) || v > int64(hi) {
			c.fail(onnx.Unsupported("attribute %s holds %d; %d to %d is supported", name, v, lo, hi))
			return otherwise
		}
		list[i] = int(v)
	}
	if len(list) != n {
		c.fail(fmt.Errorf("attribute %s has %d entries where %d are needed", name, len(list), n))
		return otherwise
	}
	return list
}

func (c *call) axisAttribute(otherwise int64, rank int) int {
	return c.axis(c.intAttribute("axis", otherwise), rank)
}

// emit adds a step that computes the node's first output, a tensor of floats of
// the given shape. `work` is the number of multiply-adds.
func (c *call) emit(s *step, shape []int, work int64) error {
	return c.setOutput(c.step(floats, s, shape, work))
}

func (c *call) setOutput(v *value) error {
	if c.err == nil {
		c.values[c.node.Out[0]] = v
	}
	return c.err
}

// step adds step s and returns its output. If all inputs are constants, it
// computes the output immediately instead of adding s.
func (c *call) step(k kind, s *step, shape []int, work int64) *value {
	n := c.check(shape)
	if c.err != nil {
		return &value{}
	}
	// Every step traverses its output at least once.
	if s.work = work + int64(n); s.work < 0 || s.work > c.limits.Work {
		return c.fail(limitError("it takes more than the %d multiply-adds accepted", c.limits.Work))
	}
	s.label = c.node.Label()
	if s.op == "" {
		s.op = c.node.Op
	}
	s.out = &value{name: c.node.Out[0], kind: k, shape: slices.Clone(shape), producer: s}
	if n == 0 { // the output is empty
		s.out.producer = nil
		return s.out
	}
	if !slices.ContainsFunc(s.in, func(v *value) bool { return !v.constant() }) {
		if err := c.fold(s); err != nil {
			return c.fail(err)
		}
		return s.out
	}
	c.steps = append(c.steps, s)
	return s.out
}

// A mover arranges, selects or maps elements, float32 or 64-bit integers.
type mover[T float32 | int64] func(out []T, in [][]T)

func mapped[T float32 | int64](f func(T) T) mover[T] {
	return func(out []T, in [][]T) {
		for i, v := range in[0] {
			out[i] = f(v)
		}
	}
}

// moves sets both kernels of a step that needs no scratch and cannot fail.
func (s *step) moves(run mover[float32], exact mover[int64]) {
	s.run = func(out []float32, in [][]float32, _ []float32) { run(out, in) }
	s.exact = func(out []int64, in [][]int64) error {
		exact(out, in)
		return nil
	}
}

func (c *call) moving(s *step, k kind, shape []int, run mover[float32], exact mover[int64]) *value {
	s.moves(run, exact)
	return c.step(k, s, shape, 0)
}

// check returns the number of elements of a shape. It fails if the shape
// exceeds a limit.
func (c *call) check(shape []int) int {
	if len(shape) > maxRank {
		c.fail(onnx.Unsupported("a tensor has shape %v; up to %d dimensions are supported", shape, maxRank))
		return 0
	}
	n, err := onnx.Volume(shape, c.limits.Elements)
	if err != nil {
		c.fail(limitError("%w", err))
	}
	return n
}

func (c *call) shapeOf(list []int64) []int {
	shape := make([]int, len(list))
	for i, d := range list {
		if d < 0 || d > int64(c.limits.Elements) {
			c.fail(fmt.Errorf("the shape %v is out of range", list))
			return nil
		}
		shape[i] = int(d)
	}
	c.check(shape)
	return shape
}

func (c *call) constantOf(k kind, shape []int, data []int64) *value {
	c.fail(c.allocate(8 * int64(len(data))))
	return &value{name: c.node.Out[0], kind: k, shape: shape, ints: data}
}

// axis returns the non-negative number of axis a for a tensor of the given
// rank. A negative a counts from the end.
func (c *call) axis(a int64, rank int) int {
	if a < int64(-rank) || a >= int64(rank) {
		c.fail(fmt.Errorf("axis %d is out of range for a tensor of %d dimensions", a, rank))
		return 0
	}
	if a < 0 {
		a += int64(rank)
	}
	return int(a)
}

// listBefore reads a list of integers: the named attribute in opsets before
// `since`, and the i-th input in later opsets. An absent list is nil.
func (c *call) listBefore(since int64, name string, i int) []int64 {
	switch {
	case c.opset < since:
		return c.rawInts(name)
	case c.has(i):
		return c.constantInts(i)
	}
	return nil
}

func (c *call) oneInt(i int, what string) int64 {
	list := c.constantInts(i)
	if len(list) != 1 {
		c.fail(fmt.Errorf("%d %s where one is needed", len(list), what))
		return 0
	}
	return list[0]
}

func (c *call) axesOf(raw []int64, rank int) (list []int) {
	for _, a := range raw {
		k := c.axis(a, rank)
		if slices.Contains(list, k) {
			c.fail(fmt.Errorf("axis %d is named twice", a))
		}
		list = append(list, k)
	}
	return list
}
