package network

import (
	"errors"
	"fmt"
	"slices"
)

// input returns the i-th input, which must be a tensor of floats.
func (c *call) input(i int) (*value, error) {
	if !c.has(i) {
		return nil, fmt.Errorf("input %d is missing", i)
	}
	if c.in[i].isInt {
		return nil, fmt.Errorf("input %d holds integers", i)
	}
	if count(c.in[i].shape) == 0 {
		return nil, fmt.Errorf("input %d is empty", i)
	}
	return c.in[i], nil
}

// has reports whether the i-th input is given.
func (c *call) has(i int) bool { return i < len(c.in) && c.in[i] != nil }

// images returns input 0, which must have shape 1×C×H×W.
func (c *call) images() (*value, error) {
	x, err := c.input(0)
	if err == nil && (len(x.shape) != 4 || x.shape[0] != 1) {
		err = fmt.Errorf("its input has shape %v; 1×C×H×W is needed", x.shape)
	}
	return x, err
}

// weights returns the i-th input, which must be a constant of that shape; -1 stands for
// any length. It refuses values that are not finite, so that no image needs to check them
// again.
func (c *call) weights(i int, shape ...int) (*value, error) {
	v, err := c.input(i)
	if err != nil {
		return nil, err
	}
	if !v.constant() {
		return nil, unsupported("input %d is not a constant, which is not supported", i)
	}
	agrees := len(v.shape) == len(shape)
	for k := 0; agrees && k < len(shape); k++ {
		agrees = v.shape[k] == shape[k] || shape[k] == -1
	}
	if !agrees {
		return nil, fmt.Errorf("input %d has shape %v where %v is needed (-1: any)", i, v.shape, shape)
	}
	if len(v.floats) == 0 || !finite(v.floats) {
		return nil, fmt.Errorf("input %d is empty or holds a value that is not a finite number", i)
	}
	return v, nil
}

// scalar returns the i-th input, a constant with one element, or the default otherwise.
func (c *call) scalar(i int, otherwise float32) (float32, error) {
	if !c.has(i) {
		return otherwise, nil
	}
	v, err := c.input(i)
	if err != nil {
		return 0, err
	}
	if len(v.floats) != 1 || len(v.shape) > 1 {
		return 0, fmt.Errorf("input %d is not a constant number", i)
	}
	return v.floats[0], nil
}

// constantInts returns the i-th input, a constant list of integers.
func (c *call) constantInts(i int) ([]int64, error) {
	if !c.has(i) || !c.in[i].isInt || len(c.in[i].shape) != 1 || len(c.in[i].ints) > maxList {
		return nil, unsupported("input %d is not a constant list of integers, which is not supported", i)
	}
	return c.in[i].ints, nil
}

// copied returns a copy of constants, counted against the memory limit.
func (c *call) copied(x []float32) ([]float32, error) {
	c.bytes += 4 * int64(len(x))
	if c.bytes > c.limits.Memory {
		return nil, fmt.Errorf("the weights take more than the %d bytes accepted", c.limits.Memory)
	}
	return slices.Clone(x), nil
}

// The kinds of AttributeProto.
const (
	kindFloat  = 1
	kindInt    = 2
	kindString = 3
	kindTensor = 4
	kindInts   = 7
)

// attribute removes an attribute from the list of those not handled yet; nil if it is missing.
func (c *call) attribute(name string, kind int64) (*attributeProto, error) {
	a := c.attributes[name]
	if a == nil {
		return nil, nil
	}
	if a.kind != kind && a.kind != 0 {
		return nil, fmt.Errorf("attribute %s is of kind %d", name, a.kind)
	}
	delete(c.attributes, name)
	return a, nil
}

func (c *call) floatAttribute(name string, otherwise float32) (float32, error) {
	a, err := c.attribute(name, kindFloat)
	if a == nil {
		return otherwise, err
	}
	return a.f, nil
}

func (c *call) intAttribute(name string, otherwise int64) (int64, error) {
	a, err := c.attribute(name, kindInt)
	if a == nil {
		return otherwise, err
	}
	return a.i, nil
}

func (c *call) stringAttribute(name, otherwise string) (string, error) {
	a, err := c.attribute(name, kindString)
	if a == nil {
		return otherwise, err
	}
	return a.s, nil
}

// intsAttribute returns a list. Its entries must lie in lo … hi, and there must be n of
// them unless n is -1.
func (c *call) intsAttribute(name string, otherwise []int, n, lo, hi int) ([]int, error) {
	a, err := c.attribute(name, kindInts)
	if a == nil {
		return otherwise, err
	}
	list := make([]int, len(a.ints))
	for i, v := range a.ints {
		if v < int64(lo) || v > int64(hi) {
			return nil, unsupported("attribute %s holds %d; %d to %d is supported", name, v, lo, hi)
		}
		list[i] = int(v)
	}
	if n >= 0 && len(list) != n {
		return nil, fmt.Errorf("attribute %s has %d entries where %d are needed", name, len(list), n)
	}
	return list, nil
}

// axisAttribute returns an axis of a tensor with the given rank; negative ones count from the end.
func (c *call) axisAttribute(otherwise, rank int) (int, error) {
	a, err := c.intAttribute("axis", int64(otherwise))
	if err == nil && (a < int64(-rank) || a > int64(rank)) {
		err = fmt.Errorf("axis %d of a tensor of %d dimensions", a, rank)
	}
	if a < 0 {
		a += int64(rank)
	}
	return int(a), err
}

// emit adds a step that computes the node's first output. work is its number of multiply-adds.
func (c *call) emit(s *step, shape []int, work int64) error {
	if len(shape) > maxRank {
		return unsupported("its output has shape %v; up to %d dimensions are supported", shape, maxRank)
	}
	n, err := volume(shape, c.limits.Elements)
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("its output is empty")
	}
	// Every step costs at least a pass over its output. No sum can overflow, as work is a
	// product of at most two element counts.
	if c.work += work + int64(n); work < 0 || c.work > c.limits.Work {
		return fmt.Errorf("one image takes more than the %d multiply-adds accepted", c.limits.Work)
	}
	s.out = &value{name: c.node.out[0], shape: slices.Clone(shape), made: s}
	c.values[s.out.name] = s.out
	c.steps = append(c.steps, s)
	return nil
}

// foldable returns the convolution that makes input 0 if only this node reads it.
func (c *call) foldable() *conv {
	v := c.in[0]
	if v == nil || v.made == nil || v.made.conv == nil || c.readers[c.node.in[0]] != 1 {
		return nil
	}
	return v.made.conv
}

// fold gives the node's output name to its input, which already holds the output.
func (c *call) fold() {
	v := c.in[0]
	delete(c.values, v.name)
	v.name = c.node.out[0]
	c.values[v.name] = v
}
