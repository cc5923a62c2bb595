package engine

import (
	"fmt"
	"slices"

	"cpar/encoder/onnx"
)

// compileGather takes slices along an axis by index. Negative indices count
// from the end. They may depend on the input, such as tokens.
func compileGather(c *call) error {
	if err := c.inputs(2, 2); err != nil {
		return err
	}
	x, err := c.given(0)
	if err != nil {
		return err
	}
	index, err := c.given(1)
	if err != nil {
		return err
	}
	k, err := c.axisAttribute(0, len(x.shape))
	if err != nil {
		return err
	}
	if index.kind != ints {
		return fmt.Errorf("its indices are %s", index.kind)
	}
	shape := slices.Concat(x.shape[:k], index.shape, x.shape[k+1:])
	if _, err := c.check(shape); err != nil {
		return err
	}
	if count(index.shape) == 1 && index.constant() { // a slice
		list, err := c.intsOf(index)
		if err != nil {
			return err
		}
		at, err := axis(list[0], x.shape[k])
		if err != nil {
			return err
		}
		v := view{shape: slices.Clone(x.shape), steps: rowMajor(x.shape)}
		v.shape[k], v.offset = 1, at*v.steps[k]
		part, err := c.view(x, v)
		if err != nil {
			return err
		}
		return c.setOutput(c.reshaped(part, shape))
	}
	outer, n, inner := count(x.shape[:k]), x.shape[k], count(x.shape[k+1:])
	s := &step{in: []*value{x, index}}
	s.run = func(out []float32, in [][]float32, _ []float32) { gather(out, in[0], in[1], outer, n, inner) }
	s.exact = func(out []int64, in [][]int64) error {
		if err := within(in[1], n); err != nil {
			return err
		}
		gather(out, in[0], in[1], outer, n, inner)
		return nil
	}
	s.check = func(in [][]float32) error { return within(in[1], n) }
	return c.setOutput(c.step(x.kind, s, shape, 0))
}

func gather[T float32 | int64](out, in, index []T, outer, n, inner int) {
	for range outer {
		for _, i := range index {
			k := int(i)
			if k < 0 {
				k += n
			}
			copy(out[:inner], in[k*inner:])
			out = out[inner:]
		}
		in = in[n*inner:]
	}
}

func within[T float32 | int64](index []T, n int) error {
	for _, i := range index {
		if !(i >= T(-n) && i < T(n)) || T(int(i)) != i {
			return fmt.Errorf("an index of %v in an axis of %d", i, n)
		}
	}
	return nil
}

// compileGatherElements takes one element for each index, along an axis.
func compileGatherElements(c *call) error {
	x, index, k, err := c.elements(1)
	if err != nil {
		return err
	}
	n := x.shape[k]
	steps := rowMajor(x.shape)
	walk := view{shape: index.shape, steps: slices.Clone(steps)}
	walk.steps[k] = 0
	s := &step{in: []*value{x, index}}
	s.run = func(out []float32, in [][]float32, _ []float32) { gatherElements(walk, out, in[0], in[1], n, steps[k]) }
	s.exact = func(out []int64, in [][]int64) error {
		if err := within(in[1], n); err != nil {
			return err
		}
		gatherElements(walk, out, in[0], in[1], n, steps[k])
		return nil
	}
	s.check = func(in [][]float32) error { return within(in[1], n) }
	return c.setOutput(c.step(x.kind, s, index.shape, 0))
}

func (c *call) elements(i int) (x, index *value, k int, err error) {
	if x, err = c.given(0); err != nil {
		return
	}
	if index, err = c.given(i); err != nil {
		return
	}
	if k, err = c.axisAttribute(0, len(x.shape)); err != nil {
		return
	}
	fits := len(x.shape) == len(index.shape) && index.kind == ints
	for j := 0; fits && j < len(x.shape); j++ {
		fits = j == k || index.shape[j] <= x.shape[j]
	}
	if !fits {
		err = fmt.Errorf("indices of shape %v for a tensor of shape %v", index.shape, x.shape)
	}
	return
}

func gatherElements[T float32 | int64](walk view, out, in, index []T, n, step int) {
	at := 0
	position := make([]int, len(walk.shape))
	for i, v := range index {
		k := int(v)
		if k < 0 {
			k += n
		}
		out[i] = in[at+k*step]
		at = walk.next(position, at, len(walk.shape))
	}
}

// compileGatherND takes slices by rows of indices into the leading axes, after
// batch_dims common axes.
func compileGatherND(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	index, err := c.given(1)
	if err != nil {
		return err
	}
	b, err := c.intAttribute("batch_dims", 0)
	if err != nil {
		return err
	}
	rank := len(index.shape)
	if rank == 0 || index.kind != ints || b < 0 || b >= int64(rank) || b > int64(len(x.shape)) || !slices.Equal(x.shape[:b], index.shape[:b]) {
		return fmt.Errorf("indices of shape %v for a tensor of shape %v", index.shape, x.shape)
	}
	batch, deep := int(b), index.shape[rank-1]
	if deep < 1 || batch+deep > len(x.shape) {
		return fmt.Errorf("indices of shape %v for a tensor of shape %v", index.shape, x.shape)
	}
	sizes, run := x.shape[batch:batch+deep], count(x.shape[batch+deep:])
	shape := slices.Concat(index.shape[:rank-1], x.shape[batch+deep:])
	perBatch, rows := count(x.shape[batch:]), count(index.shape[batch:rank-1])
	s := &step{in: []*value{x, index}}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		gatherND(out, in[0], in[1], sizes, run, rows, perBatch)
	}
	s.exact = func(out []int64, in [][]int64) error {
		if err := withinAll(in[1], sizes); err != nil {
			return err
		}
		gatherND(out, in[0], in[1], sizes, run, rows, perBatch)
		return nil
	}
	s.check = func(in [][]float32) error { return withinAll(in[1], sizes) }
	return c.setOutput(c.step(x.kind, s, shape, 0))
}

func withinAll[T float32 | int64](index []T, sizes []int) error {
	for i := range index {
		if err := within(index[i:i+1], sizes[i%len(sizes)]); err != nil {
			return err
		}
	}
	return nil
}

func position[T float32 | int64](row []T, sizes []int, run int) int {
	at := 0
	for j, v := range row {
		k := int(v)
		if k < 0 {
			k += sizes[j]
		}
		at = at*sizes[j] + k
	}
	return at * run
}

func gatherND[T float32 | int64](out, in, index []T, sizes []int, run, rows, perBatch int) {
	for i := 0; len(out) > 0; i++ {
		from := in[i/rows*perBatch:]
		row := index[i*len(sizes):][:len(sizes)]
		copy(out[:run], from[position(row, sizes, run):])
		out = out[run:]
	}
}

func compileScatterND(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	index, err := c.given(1)
	if err != nil {
		return err
	}
	updates, err := c.given(2)
	if err != nil {
		return err
	}
	how, err := c.stringAttribute("reduction", "none")
	if err != nil {
		return err
	}
	if how != "none" {
		return onnx.Unsupported("the reduction %.20q is not supported", how)
	}
	rank := len(index.shape)
	if rank == 0 || index.kind != ints || updates.kind != x.kind {
		return fmt.Errorf("indices of shape %v for a tensor of shape %v", index.shape, x.shape)
	}
	deep := index.shape[rank-1]
	if deep < 1 || deep > len(x.shape) || !slices.Equal(updates.shape, slices.Concat(index.shape[:rank-1], x.shape[deep:])) {
		return fmt.Errorf("indices of shape %v and updates of shape %v for a tensor of shape %v", index.shape, updates.shape, x.shape)
	}
	sizes, run := x.shape[:deep], count(x.shape[deep:])
	s := &step{in: []*value{x, index, updates}}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		copyKernel(out, in, nil)
		scatterND(out, in[1], in[2], sizes, run)
	}
	s.exact = func(out []int64, in [][]int64) error {
		if err := withinAll(in[1], sizes); err != nil {
			return err
		}
		copy(out, in[0])
		scatterND(out, in[1], in[2], sizes, run)
		return nil
	}
	s.check = func(in [][]float32) error { return withinAll(in[1], sizes) }
	return c.setOutput(c.step(x.kind, s, x.shape, int64(count(updates.shape))))
}

func scatterND[T float32 | int64](out, index, updates []T, sizes []int, run int) {
	for i := 0; i < len(index); i += len(sizes) {
		copy(out[position(index[i:][:len(sizes)], sizes, run):], updates[:run])
		updates = updates[run:]
	}
}

func compileScatterElements(c *call) error {
	x, index, k, err := c.elements(1)
	if err != nil {
		return err
	}
	updates, err := c.given(2)
	if err != nil {
		return err
	}
	how, err := c.stringAttribute("reduction", "none")
	if err != nil {
		return err
	}
	if how != "none" || updates.kind != x.kind || !slices.Equal(updates.shape, index.shape) {
		return onnx.Unsupported("updates of shape %v by the reduction %.20q are not supported", updates.shape, how)
	}
	n := x.shape[k]
	steps := rowMajor(x.shape)
	walk := view{shape: index.shape, steps: slices.Clone(steps)}
	walk.steps[k] = 0
	s := &step{in: []*value{x, index, updates}}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		copyKernel(out, in, nil)
		scatterElements(walk, out, in[1], in[2], n, steps[k])
	}
	s.exact = func(out []int64, in [][]int64) error {
		if err := within(in[1], n); err != nil {
			return err
		}
		copy(out, in[0])
		scatterElements(walk, out, in[1], in[2], n, steps[k])
		return nil
	}
	s.check = func(in [][]float32) error { return within(in[1], n) }
	return c.setOutput(c.step(x.kind, s, x.shape, int64(count(index.shape))))
}

func scatterElements[T float32 | int64](walk view, out, index, updates []T, n, step int) {
	at := 0
	position := make([]int, len(walk.shape))
	for i, v := range index {
		k := int(v)
		if k < 0 {
			k += n
		}
		out[at+k*step] = updates[i]
		at = walk.next(position, at, len(walk.shape))
	}
}

func compileTrilu(c *call) error {
	x, err := c.given(0)
	if err != nil {
		return err
	}
	upper, err := c.intAttribute("upper", 1)
	if err != nil {
		return err
	}
	diagonal := int64(0)
	if c.has(1) {
		list, err := c.constantInts(1)
		if err != nil {
			return err
		}
		if len(list) != 1 {
			return fmt.Errorf("%d diagonals", len(list))
		}
		diagonal = list[0]
	}
	rank := len(x.shape)
	if rank < 2 {
		return fmt.Errorf("its input has shape %v", x.shape)
	}
	rows, columns := x.shape[rank-2], x.shape[rank-1]
	if diagonal < -int64(rows+columns) || diagonal > int64(rows+columns) {
		return fmt.Errorf("the diagonal %d of a tensor of shape %v", diagonal, x.shape)
	}
	s := &step{in: []*value{x}, inPlace: true}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		trilu(out, in[0], rows, columns, int(diagonal), upper != 0)
	}
	s.exact = func(out []int64, in [][]int64) error {
		trilu(out, in[0], rows, columns, int(diagonal), upper != 0)
		return nil
	}
	return c.setOutput(c.step(x.kind, s, x.shape, 0))
}

func trilu[T any](out, in []T, rows, columns, diagonal int, upper bool) {
	var zero T
	for i := range out {
		r, k := i/columns%rows, i%columns
		if upper == (k-r >= diagonal) || !upper && k-r == diagonal {
			out[i] = in[i]
		} else {
			out[i] = zero
		}
	}
}

func compileOneHot(c *call) error {
	if err := c.inputs(3, 3); err != nil {
		return err
	}
	index, err := c.any(0)
	if err != nil {
		return err
	}
	depth, err := c.constantInts(1)
	if err != nil {
		return err
	}
	values, err := c.any(2)
	if err != nil {
		return err
	}
	k, err := c.axisAttribute(-1, len(index.shape)+1)
	if err != nil {
		return err
	}
	if len(depth) != 1 || depth[0] < 1 || depth[0] > int64(c.limits.Elements) || count(values.shape) != 2 || index.kind != ints {
		return fmt.Errorf("a depth of %v for values of shape %v", depth, values.shape)
	}
	n := int(depth[0])
	shape := slices.Insert(slices.Clone(index.shape), k, n)
	inner := count(index.shape[k:])
	s := &step{in: []*value{index, values}}
	s.run = func(out []float32, in [][]float32, _ []float32) { oneHot(out, in[0], in[1], n, inner) }
	s.exact = func(out []int64, in [][]int64) error { oneHot(out, in[0], in[1], n, inner); return nil }
	return c.setOutput(c.step(values.kind, s, shape, 0))
}

func oneHot[T float32 | int64](out, index, values []T, n, inner int) {
	for i := range out {
		out[i] = values[0]
	}
	for i, v := range index {
		if k := int(v); k >= -n && k < n {
			if k < 0 {
				k += n
			}
			out[(i/inner*n+k)*inner+i%inner] = values[1]
		}
	}
}
