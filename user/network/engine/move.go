package engine

import (
	"errors"
	"fmt"
	"slices"

	"cpar/user/network/onnx"
)

// Operators that only move elements.

func compileFlatten(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	a, err := c.intAttribute("axis", 1)
	if err != nil {
		return err
	}
	k := len(x.shape)
	if a != int64(k) { // everything may be in the rows
		if k, err = axis(a, k); err != nil {
			return err
		}
	}
	return c.give(c.reshaped(x, []int{count(x.shape[:k]), count(x.shape[k:])}))
}

func compileReshape(c *call) error {
	x, err := c.given(0)
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
	shape, free, known := make([]int, len(target)), -1, 1
	for i, d := range target {
		switch {
		case d == -1 && free < 0:
			free = i
			continue
		case d == 0 && allowZero != 0:
		case d == 0 && i < len(x.shape):
			shape[i] = x.shape[i]
		case d > 0 && d <= int64(c.limits.Elements):
			shape[i] = int(d)
		default:
			return fmt.Errorf("a target shape %v", target)
		}
		if shape[i] > 0 && known > c.limits.Elements/shape[i] {
			return fmt.Errorf("a target shape %v has more than the %d elements accepted", target, c.limits.Elements)
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
	return c.give(c.reshaped(x, shape))
}

func compileSqueeze(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	axes, given, err := c.axes("axes", 13, 1, len(x.shape))
	if err != nil {
		return err
	}
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
	return c.give(c.reshaped(x, shape))
}

func compileUnsqueeze(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	var raw []int64
	if c.opset < 13 {
		a, err := c.attribute("axes", onnx.KindInts)
		if err != nil {
			return err
		}
		if a != nil {
			raw = a.Ints
		}
	} else if raw, err = c.constantInts(1); err != nil {
		return err
	}
	rank := len(x.shape) + len(raw)
	if rank > maxRank {
		return onnx.Unsupported("a tensor of %d dimensions is not supported", rank)
	}
	shape, from := make([]int, rank), x.shape
	for _, a := range raw {
		k, err := axis(a, rank)
		if err != nil {
			return err
		}
		if shape[k] != 0 {
			return fmt.Errorf("axis %d is named twice", a)
		}
		shape[k] = 1
	}
	for k := range shape {
		if shape[k] == 0 {
			shape[k], from = from[0], from[1:]
		}
	}
	return c.give(c.reshaped(x, shape))
}

func compileTranspose(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	rank := len(x.shape)
	backwards := make([]int, rank)
	for k := range backwards {
		backwards[k] = rank - 1 - k
	}
	perm, err := c.intsAttribute("perm", backwards, rank, 0, rank-1)
	if err != nil {
		return err
	}
	return c.give(c.transposed(x, perm))
}

func (c *call) transposed(x *value, perm []int) (*value, error) {
	steps := rowMajor(x.shape)
	var v view
	for i, k := range perm {
		if slices.Contains(perm[:i], k) {
			return nil, fmt.Errorf("a permutation %v", perm)
		}
		v.shape, v.steps = append(v.shape, x.shape[k]), append(v.steps, steps[k])
	}
	return c.view(x, v)
}

// compileExpand repeats along axes of length 1, as numpy's broadcasting.
func compileExpand(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	list, err := c.constantInts(1)
	if err != nil {
		return err
	}
	target, err := c.shapeOf(list)
	if err != nil {
		return err
	}
	spread, err := newSpread(x.shape, target)
	if err != nil {
		return err
	}
	return c.give(c.view(x, view{shape: spread.shape, steps: spread.steps[0]}))
}

func compileTile(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	list, err := c.constantInts(1)
	if err != nil {
		return err
	}
	repeats, err := c.shapeOf(list)
	if err != nil {
		return err
	}
	if len(repeats) != len(x.shape) {
		return fmt.Errorf("%d repetitions of a tensor of shape %v", len(repeats), x.shape)
	}
	shape := make([]int, len(repeats))
	for k, n := range repeats {
		if n > 0 && x.shape[k] > c.limits.Elements/n {
			return limitError("a tensor of shape %v, repeated %v times, has more than the %d elements accepted", x.shape, repeats, c.limits.Elements)
		}
		shape[k] = x.shape[k] * n
	}
	if _, err := c.check(shape); err != nil {
		return err
	}
	// Each axis becomes two, of which the first repeats; only for the step, whatever the rank.
	var v view
	steps := rowMajor(x.shape)
	for k, n := range repeats {
		v.shape, v.steps = append(v.shape, n, x.shape[k]), append(v.steps, 0, steps[k])
	}
	if v.whole(count(x.shape)) {
		return c.give(c.reshaped(x, shape))
	}
	if count(shape) == 0 {
		return c.give(c.step(x.kind, &step{in: []*value{x}}, shape, 0))
	}
	m := v.merged()
	return c.give(c.step(x.kind, &step{
		in:  []*value{x},
		run: func(out []float32, in [][]float32, _ []float32) { read(m, out, in[0]) },
		exact: func(out []int64, in [][]int64) error {
			read(m, out, in[0])
			return nil
		},
	}, shape, 0))
}

// compileSlice: starts, ends, axes and steps are attributes up to opset 9, then inputs.
func compileSlice(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	var lists [4][]int64 // starts, ends, axes, steps
	for i, name := range []string{"starts", "ends", "axes", "steps"} {
		if c.opset >= 10 {
			if i < 2 || c.has(i+1) {
				lists[i], err = c.constantInts(i + 1)
			}
		} else if i < 3 {
			var a *onnx.Attribute
			if a, err = c.attribute(name, onnx.KindInts); a != nil {
				lists[i] = a.Ints
			}
		}
		if err != nil {
			return err
		}
	}
	starts, ends, axes, steps := lists[0], lists[1], lists[2], lists[3]
	if len(starts) != len(ends) || axes != nil && len(axes) != len(starts) || steps != nil && len(steps) != len(starts) {
		return errors.New("its lists have different lengths")
	}
	v := view{shape: slices.Clone(x.shape), steps: rowMajor(x.shape)}
	done := make([]bool, len(x.shape))
	for i := range starts {
		k, step := int64(i), int64(1)
		if axes != nil {
			k = axes[i]
		}
		if steps != nil {
			step = steps[i]
		}
		a, err := axis(k, len(x.shape))
		if err != nil {
			return err
		}
		if done[a] {
			return fmt.Errorf("axis %d is named twice", k)
		}
		done[a] = true
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
	return c.give(c.view(x, v))
}

// sliced returns the first index of a slice of n elements, and how many it has.
func sliced(start, end, step, n int64) (first, many int, err error) {
	if step == 0 {
		return 0, 0, errors.New("a step of 0")
	}
	// Negative positions count from the end; then all are clamped. The lowest int64 and
	// its like mean "as far as possible".
	lo, hi := int64(0), n
	if step < 0 {
		lo, hi = -1, n-1
	}
	clamped := func(i int64) int64 {
		if i < 0 {
			i += n // cannot overflow: i is negative
		}
		return min(max(i, lo), hi)
	}
	start, end = clamped(start), clamped(end)
	if step > 0 && start < end {
		return int(start), int((end-start-1)/step) + 1, nil
	}
	if step < 0 && start > end {
		// A step of −2⁶³ has no opposite; no slice is longer than its distance.
		if step < -n {
			return int(start), 1, nil
		}
		return int(start), int((start-end-1)/-step) + 1, nil
	}
	return 0, 0, nil
}

// compileSplit: sizes are an attribute up to opset 12, then an input; without them the
// parts are equal, but perhaps for the last one.
func compileSplit(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	k, err := c.axisAttribute(0, len(x.shape))
	if err != nil {
		return err
	}
	var sizes []int64
	if c.opset < 13 {
		list, err := c.attribute("split", onnx.KindInts)
		if err != nil {
			return err
		}
		if list != nil {
			sizes = list.Ints
		}
	} else if c.has(1) {
		if sizes, err = c.constantInts(1); err != nil {
			return err
		}
	}
	parts := int64(len(c.node.Out))
	if c.opset >= 18 {
		if parts, err = c.intAttribute("num_outputs", parts); err != nil {
			return err
		}
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
			return fmt.Errorf("parts of %v from an axis of %d", sizes, n)
		}
		v := view{shape: slices.Clone(x.shape), steps: rowMajor(x.shape)}
		v.shape[k], v.offset = int(size), int(at)*v.steps[k]
		at += size
		part, err := c.view(x, v)
		if err != nil {
			return err
		}
		if name := c.node.Out[i]; name != "" {
			c.values[name] = part
		}
	}
	if at != n {
		return fmt.Errorf("parts of %v from an axis of %d", sizes, n)
	}
	return nil
}

func compileConcat(c *call) error {
	first, err := c.given(0)
	if err != nil {
		return err
	}
	a, err := c.attribute("axis", onnx.KindInt)
	if err != nil {
		return err
	}
	if a == nil {
		return errors.New("it names no axis")
	}
	axis, err := axis(a.I, len(first.shape))
	if err != nil {
		return err
	}
	shape := slices.Clone(first.shape)
	shape[axis] = 0
	s := &step{}
	var runs []int // per input, consecutive elements from axis on
	for i := range c.in {
		v, err := c.given(i)
		if err != nil {
			return err
		}
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
	if _, err := c.check(shape); err != nil {
		return err
	}
	rows := count(shape[:axis])
	s.run = func(out []float32, in [][]float32, _ []float32) { concatenate(out, in, rows, runs) }
	s.exact = func(out []int64, in [][]int64) error {
		concatenate(out, in, rows, runs)
		return nil
	}
	return c.give(c.step(first.kind, s, shape, 0))
}

func concatenate[T any](out []T, in [][]T, rows int, runs []int) {
	for r := range rows {
		for i, n := range runs {
			out = out[copy(out, in[i][r*n:][:n]):]
		}
	}
}

// compileSpaceDepth implements DepthToSpace and SpaceToDepth: a block of pixels becomes
// channels, or the other way round.
func compileSpaceDepth(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	size, err := c.intAttribute("blocksize", 0)
	if err != nil {
		return err
	}
	mode, err := c.stringAttribute("mode", "DCR")
	if err != nil {
		return err
	}
	if len(x.shape) != 4 || size < 1 || size > maxWindow || mode != "DCR" && mode != "CRD" {
		return fmt.Errorf("blocks of %d in the order %.20q of a tensor of shape %v", size, mode, x.shape)
	}
	n, ch, h, w, b := x.shape[0], x.shape[1], x.shape[2], x.shape[3], int(size)
	var split, perm, shape []int
	switch {
	case c.node.Op == "SpaceToDepth" && h%b == 0 && w%b == 0:
		split, perm, shape = []int{n, ch, h / b, b, w / b, b}, []int{0, 3, 5, 1, 2, 4}, []int{n, ch * b * b, h / b, w / b}
	case c.node.Op == "SpaceToDepth" || ch%(b*b) != 0:
		return fmt.Errorf("blocks of %d of a tensor of shape %v", size, x.shape)
	case mode == "DCR":
		split, perm, shape = []int{n, b, b, ch / b / b, h, w}, []int{0, 3, 4, 1, 5, 2}, []int{n, ch / b / b, h * b, w * b}
	default:
		split, perm, shape = []int{n, ch / b / b, b, b, h, w}, []int{0, 1, 4, 2, 5, 3}, []int{n, ch / b / b, h * b, w * b}
	}
	if x, err = c.reshaped(x, split); err != nil {
		return err
	}
	if x, err = c.transposed(x, perm); err != nil {
		return err
	}
	return c.give(c.reshaped(x, shape))
}

// compileIdentity implements Identity, and Dropout, which does nothing after training.
func compileIdentity(c *call) error {
	if c.node.Op == "Dropout" {
		delete(c.attributes, "ratio")
		delete(c.attributes, "seed")
		ratio, err := c.scalar(1, 0.5)
		if err != nil {
			return err
		}
		if ratio != 0 && c.has(2) && !c.falseConstant(2) {
			return errors.New("a training mode is not supported")
		}
	}
	// The same tensor has another name; fusing sees through it.
	return c.give(c.given(0))
}

// falseConstant reports whether the i-th input is a constant that is false.
func (c *call) falseConstant(i int) bool {
	v := c.in[i]
	if !v.constant() || v.kind != bools || count(v.shape) != 1 {
		return false
	}
	data, err := c.intsOf(v)
	return err == nil && data[0] == 0
}
