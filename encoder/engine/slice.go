package engine

import (
	"errors"
	"fmt"
	"slices"

	"cpar/encoder/onnx"
)

// This file implements operators that split tensors and join them.

// compileSlice reads starts, ends and axes from attributes up to opset 9. From
// opset 10, it reads these and the steps from inputs.
func compileSlice(c *call) error {
	x := c.given(0)
	var lists [4][]int64 // starts, ends, axes, steps
	for i, name := range []string{"starts", "ends", "axes", "steps"} {
		switch {
		case c.opset < 10 && i < 3:
			lists[i] = c.rawInts(name)
		case c.opset >= 10 && (i < 2 || c.has(i+1)):
			lists[i] = c.constantInts(i + 1)
		}
	}
	starts, ends, axes, steps := lists[0], lists[1], lists[2], lists[3]
	if len(starts) != len(ends) || axes != nil && len(axes) != len(starts) || steps != nil && len(steps) != len(starts) {
		return errors.New("its lists have different lengths")
	}
	if axes == nil {
		for i := range starts {
			axes = append(axes, int64(i))
		}
	}
	v := view{shape: slices.Clone(x.shape), steps: rowMajor(x.shape)}
	for i, a := range c.axesOf(axes, len(x.shape)) {
		if c.err != nil {
			return c.err
		}
		step := int64(1)
		if steps != nil {
			step = steps[i]
		}
		first, n, err := sliced(starts[i], ends[i], step, int64(x.shape[a]))
		if err != nil {
			return err
		}
		v.offset += first * v.steps[a]
		v.shape[a] = n
		if n > 1 {
			v.steps[a] *= int(step)
		}
	}
	return c.setOutput(c.view(x, v))
}

func sliced(start, end, step, n int64) (first, many int, err error) {
	if step == 0 {
		return 0, 0, errors.New("a step of 0")
	}
	// Negative positions count from the end, and all positions are clamped.
	// Exporters use extreme values, such as the lowest int64, for "as far as
	// possible".
	lo, hi := int64(0), n
	if step < 0 {
		lo, hi = -1, n-1
	}
	clamped := func(i int64) int64 {
		if i < 0 {
			i += n // cannot overflow, because i is negative
		}
		return min(max(i, lo), hi)
	}
	start, end = clamped(start), clamped(end)
	if step > 0 && start < end {
		return int(start), int((end-start-1)/step) + 1, nil
	}
	if step < 0 && start > end {
		// −2⁶³ cannot be negated. A step below −n selects one element.
		if step < -n {
			return int(start), 1, nil
		}
		return int(start), int((start-end-1)/-step) + 1, nil
	}
	return 0, 0, nil
}

// compileSplit reads sizes from an attribute up to opset 12, and from an input
// later. Without sizes, the parts are equal, but the last may be smaller.
func compileSplit(c *call) error {
	x := c.given(0)
	k := c.axisAttribute(0, len(x.shape))
	sizes := c.listBefore(13, "split", 1)
	parts := int64(len(c.node.Out))
	if c.opset >= 18 {
		parts = c.intAttribute("num_outputs", parts)
	}
	if c.err != nil {
		return c.err
	}
	n := int64(x.shape[k])
	if sizes == nil {
		if parts != int64(len(c.node.Out)) {
			return fmt.Errorf("%d parts for %d outputs", parts, len(c.node.Out))
		}
		each := (n + parts - 1) / parts
		for i := range parts {
			sizes = append(sizes, min(each, max(0, n-i*each)))
		}
	}
	if len(sizes) != len(c.node.Out) {
		return fmt.Errorf("%d sizes for %d outputs", len(sizes), len(c.node.Out))
	}
	at := int64(0)
	for i, size := range sizes {
		if size < 0 || size > n-at {
			return fmt.Errorf("parts of %v do not add up to an axis of %d", sizes, n)
		}
		v := view{shape: slices.Clone(x.shape), steps: rowMajor(x.shape)}
		v.shape[k], v.offset = int(size), int(at)*v.steps[k]
		at += size
		part := c.view(x, v)
		if name := c.node.Out[i]; name != "" {
			c.values[name] = part
		}
	}
	if at != n {
		return fmt.Errorf("parts of %v do not add up to an axis of %d", sizes, n)
	}
	return c.err
}

func compileConcat(c *call) error {
	first := c.given(0)
	a := c.attribute("axis", onnx.KindInt)
	if a == nil {
		return errors.New("it names no axis")
	}
	axis := c.axis(a.I, len(first.shape))
	if c.err != nil {
		return c.err
	}
	shape := slices.Clone(first.shape)
	shape[axis] = 0
	s := &step{}
	var runs []int // for each input, the number of consecutive elements per run
	for i := range c.in {
		v := c.given(i)
		fits := len(v.shape) == len(shape) && v.kind == first.kind
		for k := 0; fits && k < len(shape); k++ {
			fits = k == axis || v.shape[k] == shape[k]
		}
		if !fits {
			return fmt.Errorf("tensors of shapes %v and %v, of %s and %s, do not fit along axis %d", first.shape, v.shape, first.kind, v.kind, axis)
		}
		if shape[axis] += v.shape[axis]; shape[axis] > c.limits.Elements {
			return limitError("its output has more than the %d elements accepted", c.limits.Elements)
		}
		if n := count(v.shape[axis:]); n > 0 {
			s.in, runs = append(s.in, v), append(runs, n)
		}
	}
	if c.check(shape); c.err != nil {
		return c.err
	}
	rows := count(shape[:axis])
	s.joins = rows == 1
	return c.setOutput(c.moving(s, first.kind, shape, concatenate[float32](rows, runs), concatenate[int64](rows, runs)))
}

func concatenate[T float32 | int64](rows int, runs []int) mover[T] {
	return func(out []T, in [][]T) {
		for r := range rows {
			for i, n := range runs {
				if from := in[i][r*n:][:n]; &out[0] != &from[0] { // see plan.place
					copy(out, from)
				}
				out = out[n:]
			}
		}
	}
}
