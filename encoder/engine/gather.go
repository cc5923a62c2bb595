package engine

import (
	"fmt"
	"slices"

	"cpar/encoder/onnx"
)

// compileGather selects slices along an axis by index. Negative indices count
// from the end. Indices may depend on the network's input, for example if they
// are text tokens.
func compileGather(c *call) error {
	x, index := c.given(0), c.given(1)
	k := c.axisAttribute(0, len(x.shape))
	if c.err != nil {
		return c.err
	}
	if index.kind != ints {
		return fmt.Errorf("its indices are %s", index.kind)
	}
	shape := slices.Concat(x.shape[:k], index.shape, x.shape[k+1:])
	if c.check(shape); c.err != nil {
		return c.err
	}
	if count(index.shape) == 1 && index.constant() { // the result is one slice, a view of x
		list, err := c.intsOf(index)
		if err != nil {
			return err
		}
		v := view{shape: slices.Clone(x.shape), steps: rowMajor(x.shape)}
		v.shape[k], v.offset = 1, c.axis(list[0], x.shape[k])*v.steps[k]
		return c.setOutput(c.reshaped(c.view(x, v), shape))
	}
	outer, n, inner := count(x.shape[:k]), x.shape[k], count(x.shape[k+1:])
	s := &step{in: []*value{x, index}, sizes: []int{n}}
	return c.setOutput(c.moving(s, x.kind, shape, gather[float32](outer, n, inner), gather[int64](outer, n, inner)))
}

func gather[T float32 | int64](outer, n, inner int) mover[T] {
	return func(out []T, in [][]T) {
		x := in[0]
		for range outer {
			for _, i := range in[1] {
				copy(out[:inner], x[resolved(i, n)*inner:])
				out = out[inner:]
			}
			x = x[n*inner:]
		}
	}
}

// resolved returns the position that index i denotes on an axis of length n. A
// negative i counts from the end.
func resolved[T float32 | int64](i T, n int) int {
	if k := int(i); k >= 0 {
		return k
	}
	return int(i) + n
}

// within checks that indices are in range. The indices form rows with one index
// for each axis length in `sizes`.
func within[T float32 | int64](index []T, sizes []int) error {
	for k, i := range index {
		if n := sizes[k%len(sizes)]; !(i >= T(-n) && i < T(n)) || T(int(i)) != i {
			return fmt.Errorf("index %v is out of range for an axis of length %d", i, n)
		}
	}
	return nil
}

// rows describes how a row of indices selects a slice of a tensor.
type rows struct {
	sizes []int // lengths of the indexed axes
	run   int   // number of elements of a slice
}

func position[T float32 | int64](r rows, index []T, i int) int {
	at := 0
	for j, n := range r.sizes {
		at = at*n + resolved(index[i*len(r.sizes)+j], n)
	}
	return at * r.run
}

// compileGatherND selects slices by rows of indices into the leading axes.
// Before these, tensor and indices have batch_dims axes in common.
func compileGatherND(c *call) error {
	x, index := c.given(0), c.given(1)
	b := c.intAttribute("batch_dims", 0)
	rank := len(index.shape)
	if rank == 0 || index.kind != ints || b < 0 || b >= int64(rank) || b > int64(len(x.shape)) || !slices.Equal(x.shape[:b], index.shape[:b]) {
		return fmt.Errorf("indices of shape %v do not fit a tensor of shape %v", index.shape, x.shape)
	}
	batch, deep := int(b), index.shape[rank-1]
	if deep < 1 || batch+deep > len(x.shape) {
		return fmt.Errorf("indices of shape %v do not fit a tensor of shape %v", index.shape, x.shape)
	}
	r := rows{x.shape[batch : batch+deep], count(x.shape[batch+deep:])}
	shape := slices.Concat(index.shape[:rank-1], x.shape[batch+deep:])
	perBatch, many := count(x.shape[batch:]), count(index.shape[batch:rank-1])
	s := &step{in: []*value{x, index}, sizes: r.sizes}
	return c.setOutput(c.moving(s, x.kind, shape, gatherND[float32](r, perBatch, many), gatherND[int64](r, perBatch, many)))
}

// gatherND selects slices from batches of perBatch elements. `many` is the
// number of slices per batch.
func gatherND[T float32 | int64](r rows, perBatch, many int) mover[T] {
	return func(out []T, in [][]T) {
		for i := 0; len(out) > 0; i++ {
			from := in[0][i/many*perBatch:]
			copy(out[:r.run], from[position(r, in[1], i):])
			out = out[r.run:]
		}
	}
}

func compileScatterND(c *call) error {
	x, index, updates := c.given(0), c.given(1), c.given(2)
	if how := c.stringAttribute("reduction", "none"); how != "none" {
		return onnx.Unsupported("the reduction %.20q is not supported", how)
	}
	if updates.kind != x.kind {
		return fmt.Errorf("updates of %s for %s", updates.kind, x.kind)
	}
	rank := len(index.shape)
	if rank == 0 || index.kind != ints {
		return fmt.Errorf("indices of shape %v do not fit a tensor of shape %v", index.shape, x.shape)
	}
	deep := index.shape[rank-1]
	if deep < 1 || deep > len(x.shape) || !slices.Equal(updates.shape, slices.Concat(index.shape[:rank-1], x.shape[deep:])) {
		return fmt.Errorf("indices of shape %v and updates of shape %v do not fit a tensor of shape %v", index.shape, updates.shape, x.shape)
	}
	r := rows{x.shape[:deep], count(x.shape[deep:])}
	s := &step{in: []*value{x, index, updates}, sizes: r.sizes}
	s.moves(scatterND[float32](r), scatterND[int64](r))
	return c.setOutput(c.step(x.kind, s, x.shape, int64(count(updates.shape))))
}

func scatterND[T float32 | int64](r rows) mover[T] {
	return func(out []T, in [][]T) {
		copy(out, in[0])
		for i := range len(in[1]) / len(r.sizes) {
			copy(out[position(r, in[1], i):], in[2][i*r.run:][:r.run])
		}
	}
}

func compileTrilu(c *call) error {
	x := c.given(0)
	upper := c.flagAttribute("upper", true)
	diagonal := int64(0)
	if c.has(1) {
		diagonal = c.oneInt(1, "diagonals")
	}
	rank := len(x.shape)
	if rank < 2 {
		return fmt.Errorf("its input has shape %v", x.shape)
	}
	rows, columns := x.shape[rank-2], x.shape[rank-1]
	if diagonal < -int64(rows+columns) || diagonal > int64(rows+columns) {
		return fmt.Errorf("the diagonal %d lies outside a tensor of shape %v", diagonal, x.shape)
	}
	m := triangle{rows, columns, int(diagonal), upper}
	return c.setOutput(c.moving(&step{in: []*value{x}, inPlace: true}, x.kind, x.shape, trilu[float32](m), trilu[int64](m)))
}

type triangle struct {
	rows, columns, diagonal int
	upper                   bool
}

func trilu[T float32 | int64](m triangle) mover[T] {
	return func(out []T, in [][]T) {
		for i, v := range in[0] {
			r, k := i/m.columns%m.rows, i%m.columns
			if m.upper != (k-r >= m.diagonal) && (m.upper || k-r != m.diagonal) {
				v = 0
			}
			out[i] = v
		}
	}
}
