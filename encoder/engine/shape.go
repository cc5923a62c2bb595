package engine

import (
	"errors"
	"fmt"
	"slices"
)

// A broadcast maps several tensors to a common shape by numpy's rules.
type broadcast struct {
	shape []int
	// steps holds, for each tensor, the distance in elements between neighbours
	// along each axis. It is 0 along an axis where the tensor's elements repeat.
	steps [][]int
}

func newBroadcast(shapes ...[]int) (broadcast, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	b := broadcast{shape: make([]int, rank)}
	for k := range b.shape {
		b.shape[k] = 1
	}
	for _, s := range shapes {
		for i, n := range s {
			k := rank - len(s) + i
			if n != 1 && b.shape[k] != 1 && b.shape[k] != n {
				return b, fmt.Errorf("tensors of shapes %v do not fit", shapes)
			}
			if n != 1 {
				b.shape[k] = n
			}
		}
	}
	for _, s := range shapes {
		own, steps := rowMajor(s), make([]int, rank)
		for i, n := range s {
			if n != 1 {
				steps[rank-len(s)+i] = own[i]
			}
		}
		b.steps = append(b.steps, steps)
	}
	return b, nil
}

// merged returns an equivalent broadcast with the fewest axes, at least one.
func (b broadcast) merged() broadcast {
	m := broadcast{steps: make([][]int, len(b.steps))}
	for k, n := range b.shape {
		last := len(m.shape) - 1
		joins := last >= 0
		for i := range b.steps {
			joins = joins && m.steps[i][last] == b.steps[i][k]*n
		}
		switch {
		case n == 1:
		case joins:
			m.shape[last] *= n
			for i := range b.steps {
				m.steps[i][last] = b.steps[i][k]
			}
		default:
			m.shape = append(m.shape, n)
			for i := range b.steps {
				m.steps[i] = append(m.steps[i], b.steps[i][k])
			}
		}
	}
	if len(m.shape) == 0 {
		m.shape = []int{1}
		for i := range m.steps {
			m.steps[i] = []int{0}
		}
	}
	return m
}

// rows calls f for each row along the last axis, with the row's offsets in the
// output and in the inputs. Broadcast b must be merged.
func (b broadcast) rows(f func(at int, from []int)) {
	last := len(b.shape) - 1
	outer, from := b.shape[:last], make([]int, len(b.steps))
	each := rowMajor(outer)
	for row := range count(outer) {
		for i, steps := range b.steps {
			from[i] = 0
			for k, n := range outer {
				from[i] += row / each[k] % n * steps[k]
			}
		}
		f(row*b.shape[last], from)
	}
}

func pairs[T any](b broadcast, out, x, y []T, f func(out, x, y []T, dx, dy int)) {
	last := len(b.shape) - 1
	n, dx, dy := b.shape[last], b.steps[0][last], b.steps[1][last]
	b.rows(func(at int, from []int) { f(out[at:][:n], x[from[0]:], y[from[1]:], dx, dy) })
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

var errNotFinite = errors.New("weights are not finite numbers after folding")

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func finite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// A view reads a tensor in another order. The element with a given index is at
// `offset` plus the dot product of index and `steps`. A step may be negative,
// or 0 to repeat elements.
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

// read copies elements of `in` to `out` in the order of v, a merged view.
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
	pitch := rowMajor(v.shape)[k]    // distance of rows in out
	others := view{offset: v.offset} // the other axes, in the input
	to := view{}                     // the other axes, in out
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

// reading adds a step that reads x in the order of view v. The result has the
// given shape, whatever the shape of v.
func (c *call) reading(x *value, v view, shape []int) *value {
	m := v.merged()
	return c.moving(&step{in: []*value{x}}, x.kind, shape,
		func(out []float32, in [][]float32) { read(m, out, in[0]) },
		func(out []int64, in [][]int64) { read(m, out, in[0]) })
}

// reshaped returns x with another shape. It copies x only if x is still needed.
func (c *call) reshaped(x *value, shape []int) *value {
	if slices.Equal(x.shape, shape) {
		return x
	}
	if x.constant() { // shares the data
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
