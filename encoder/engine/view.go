package engine

import "slices"

// A view reads a tensor in another order: an index is at offset plus its
// product with steps. Steps may be negative, or zero to repeat.
type view struct {
	shape, steps []int
	offset       int
}

func rowMajor(shape []int) []int {
	steps, n := make([]int, len(shape)), 1
	for k := len(shape) - 1; k >= 0; k-- {
		steps[k] = n
		n *= shape[k]
	}
	return steps
}

func (v view) whole(n int) bool {
	if v.offset != 0 || count(v.shape) != n {
		return false
	}
	next := 1
	for k := len(v.shape) - 1; k >= 0; k-- {
		if v.shape[k] > 1 && v.steps[k] != next {
			return false
		}
		next *= v.shape[k]
	}
	return true
}

func (v view) merged() view {
	m := broadcast{v.shape, [][]int{v.steps}}.merged()
	return view{m.shape, m.steps[0], v.offset}
}

// read writes the view of in to out. v must be merged.
func read[T any](v view, out, in []T) {
	rank := len(v.shape)
	n, step := v.shape[rank-1], v.steps[rank-1]
	if rank > 1 && step != 1 && step != 0 {
		if k := slices.Index(v.steps, 1); k >= 0 {
			readTiles(v, k, out, in)
			return
		}
	}
	index := make([]int, rank)
	at := v.offset
	for ; len(out) >= n && n > 0; out = out[n:] {
		readRow(out[:n], in, at, step)
		at = v.next(index, at, rank-1)
	}
}

func readRow[T any](out, in []T, at, step int) {
	switch step {
	case 1:
		copy(out, in[at:])
	case 0:
		x := in[at]
		for i := range out {
			out[i] = x
		}
	default:
		for i := range out {
			out[i] = in[at]
			at += step
		}
	}
}

func (v view) next(index []int, at, axes int) int {
	for k := axes - 1; k >= 0; k-- {
		index[k]++
		at += v.steps[k]
		if index[k] < v.shape[k] {
			break
		}
		at -= v.shape[k] * v.steps[k]
		index[k] = 0
	}
	return at
}

func readTiles[T any](v view, k int, out, in []T) {
	const tile = 16
	last := len(v.shape) - 1
	rows, columns := v.shape[k], v.shape[last]
	pitch := rowMajor(v.shape)[k]    // of rows in out
	others := view{offset: v.offset} // all but the two axes
	to := view{}                     // their positions in out
	for i, step := range rowMajor(v.shape) {
		if i != k && i != last {
			others.shape, others.steps = append(others.shape, v.shape[i]), append(others.steps, v.steps[i])
			to.shape, to.steps = append(to.shape, v.shape[i]), append(to.steps, step)
		}
	}
	index, toIndex := make([]int, len(to.shape)), make([]int, len(to.shape))
	at, toAt := others.offset, 0
	for range count(others.shape) {
		for r0 := 0; r0 < rows; r0 += tile {
			for c0 := 0; c0 < columns; c0 += tile {
				for r := r0; r < min(r0+tile, rows); r++ {
					line := out[toAt+r*pitch+c0:][:min(tile, columns-c0)]
					from := at + r + c0*v.steps[last]
					for c := range line {
						line[c] = in[from]
						from += v.steps[last]
					}
				}
			}
		}
		at = others.next(index, at, len(others.shape))
		toAt = to.next(toIndex, toAt, len(to.shape))
	}
}

func (c *call) view(x *value, v view) *value {
	if v.whole(count(x.shape)) {
		return c.reshaped(x, v.shape)
	}
	if c.check(v.shape); c.err != nil {
		return &value{}
	}
	return c.reading(x, v, v.shape)
}

// reading adds a step that reads x in the order of a view, into this shape.
func (c *call) reading(x *value, v view, shape []int) *value {
	m := v.merged()
	return c.moving(&step{in: []*value{x}}, x.kind, shape,
		func(out []float32, in [][]float32) { read(m, out, in[0]) },
		func(out []int64, in [][]int64) { read(m, out, in[0]) })
}

// reshaped changes the shape of x, in place if x is not needed afterwards.
func (c *call) reshaped(x *value, shape []int) *value {
	if slices.Equal(x.shape, shape) {
		return x
	}
	if x.constant() { // the same data
		c.check(shape)
		v := *x
		v.shape = slices.Clone(shape)
		return &v
	}
	return c.step(x.kind, &step{in: []*value{x}, run: copyKernel, inPlace: true}, shape, 0)
}

func copyKernel(out []float32, in [][]float32, _ []float32) {
	if &out[0] != &in[0][0] {
		copy(out, in[0])
	}
}
