package engine

import (
	"errors"
	"fmt"
	"slices"

	"cpar/encoder/onnx"
)

// This file implements operators that only move elements.

func compileFlatten(c *call) error {
	x := c.given(0)
	a := c.intAttribute("axis", 1)
	k := len(x.shape)
	if a != int64(k) { // an axis equal to the rank is valid and makes one column
		k = c.axis(a, k)
	}
	return c.setOutput(c.reshaped(x, []int{count(x.shape[:k]), count(x.shape[k:])}))
}

func compileReshape(c *call) error {
	x := c.given(0)
	target := c.constantInts(1)
	allowZero := c.flagAttribute("allowzero", false)
	shape, free, known := make([]int, len(target)), -1, 1
	for i, d := range target {
		switch {
		case d == -1 && free < 0:
			free = i
			continue
		case d == 0 && allowZero:
		case d == 0 && i < len(x.shape):
			shape[i] = x.shape[i]
		case d > 0 && d <= int64(c.limits.Elements):
			shape[i] = int(d)
		default:
			return fmt.Errorf("the target shape %v is not possible", target)
		}
		if shape[i] > 0 && known > c.limits.Elements/shape[i] {
			return fmt.Errorf("the target shape %v has more than the %d elements accepted", target, c.limits.Elements)
		}
		known *= shape[i]
	}
	total := count(x.shape)
	if free >= 0 && known > 0 {
		shape[free] = total / known
		known *= shape[free]
	}
	if known != total || free >= 0 && total == 0 {
		return fmt.Errorf("a tensor of shape %v cannot take the shape %v", x.shape, target)
	}
	return c.setOutput(c.reshaped(x, shape))
}

func compileSqueeze(c *call) error {
	x := c.given(0)
	axes := c.axesOf(c.listBefore(13, "axes", 1), len(x.shape))
	given := len(axes) > 0
	var shape []int
	for k, n := range x.shape {
		switch {
		case given && slices.Contains(axes, k):
			if n != 1 {
				return fmt.Errorf("axis %d of a tensor of shape %v is not 1", k, x.shape)
			}
		case given || n != 1:
			shape = append(shape, n)
		}
	}
	return c.setOutput(c.reshaped(x, shape))
}

func compileUnsqueeze(c *call) error {
	x := c.given(0)
	var raw []int64
	if c.opset < 13 {
		raw = c.rawInts("axes")
	} else {
		raw = c.constantInts(1)
	}
	rank := len(x.shape) + len(raw)
	if rank > maxRank {
		return onnx.Unsupported("a tensor of %d dimensions is not supported", rank)
	}
	shape, from := make([]int, rank), x.shape
	for _, k := range c.axesOf(raw, rank) {
		shape[k] = 1
	}
	if c.err != nil {
		return c.err
	}
	for k := range shape {
		if shape[k] == 0 {
			shape[k], from = from[0], from[1:]
		}
	}
	return c.setOutput(c.reshaped(x, shape))
}

func compileTranspose(c *call) error {
	x := c.given(0)
	rank := len(x.shape)
	backwards := allAxes(rank)
	slices.Reverse(backwards)
	perm := c.intsAttribute("perm", backwards, rank, 0, rank-1)
	return c.setOutput(c.transposed(x, perm))
}

func (c *call) transposed(x *value, perm []int) *value {
	if c.err != nil {
		return x
	}
	steps := rowMajor(x.shape)
	var v view
	for i, k := range perm {
		if slices.Contains(perm[:i], k) {
			return c.fail(fmt.Errorf("the permutation %v repeats an axis", perm))
		}
		v.shape, v.steps = append(v.shape, x.shape[k]), append(v.steps, steps[k])
	}
	return c.view(x, v)
}

// compileExpand implements Expand, which repeats elements along axes of length
// 1, as in numpy's broadcasting.
func compileExpand(c *call) error {
	x := c.given(0)
	spread, err := newBroadcast(x.shape, c.shapeOf(c.constantInts(1)))
	if err != nil {
		return err
	}
	return c.setOutput(c.view(x, view{shape: spread.shape, steps: spread.steps[0]}))
}

func compileTile(c *call) error {
	x := c.given(0)
	repeats := c.shapeOf(c.constantInts(1))
	if len(repeats) != len(x.shape) {
		return fmt.Errorf("%d repeat counts do not fit a tensor of shape %v", len(repeats), x.shape)
	}
	shape := make([]int, len(repeats))
	for k, n := range repeats {
		if n > 0 && x.shape[k] > c.limits.Elements/n {
			return limitError("a tensor of shape %v, repeated %v times, has more than the %d elements accepted", x.shape, repeats, c.limits.Elements)
		}
		shape[k] = x.shape[k] * n
	}
	if c.check(shape); c.err != nil {
		return c.err
	}
	// Each axis becomes two axes, and the first of them repeats elements. Only
	// this view may exceed the rank limit.
	var v view
	steps := rowMajor(x.shape)
	for k, n := range repeats {
		v.shape, v.steps = append(v.shape, n, x.shape[k]), append(v.steps, 0, steps[k])
	}
	if v.whole(count(x.shape)) {
		return c.setOutput(c.reshaped(x, shape))
	}
	if count(shape) == 0 {
		return c.setOutput(c.step(x.kind, &step{in: []*value{x}}, shape, 0))
	}
	return c.setOutput(c.reading(x, v, shape))
}

// compileIdentity implements Identity and Dropout. Dropout has no effect
// outside training.
func compileIdentity(c *call) error {
	if c.node.Op == "Dropout" {
		delete(c.attributes, "ratio")
		delete(c.attributes, "seed")
		if ratio := c.scalar(1, 0.5); ratio != 0 && c.has(2) && !c.falseConstant(2) {
			return errors.New("training mode is not supported")
		}
	}
	return c.setOutput(c.given(0))
}

func (c *call) falseConstant(i int) bool {
	v := c.in[i]
	if !v.constant() || v.kind != bools || count(v.shape) != 1 {
		return false
	}
	data, err := c.intsOf(v)
	return err == nil && data[0] == 0
}
