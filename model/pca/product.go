package pca

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"

	"cpar/internal/f32"
	"cpar/internal/parallel"
)

const (
	// panel is the number of products summed in float32 before they are added
	// to a float64.
	panel = 128
	// forwardRows is the number of rows of X multiplied at a time.
	forwardRows  = 128
	backwardCols = 512
)

// forward returns q·Xᵀ, l × n, for the l rows of q.
func (c *centred) forward(ctx context.Context, q blas64.General) ([]float32, error) {
	n, in, l := len(c.rows), len(c.mean), q.Rows
	narrow := make([]float32, l*in)
	for i := range l {
		for j, v := range row(q, i).Data {
			narrow[i*in+j] = float32(v)
		}
	}
	var directions []*f32.Right // one matrix of panel × l values per panel
	for k := 0; k < in; k += panel {
		directions = append(directions, f32.PackRight(narrow[k:], in, min(panel, in-k), l, true))
	}
	p := make([]float32, l*n)
	err := parallel.Until(ctx, (n+forwardRows-1)/forwardRows, func() func(int) {
		x, sums, part := make([]float32, forwardRows*in), make([]float64, forwardRows*l), make([]float32, forwardRows*l)
		scratch := make([]float32, directions[0].Scratch(forwardRows))
		return func(task int) {
			start := task * forwardRows
			rows := min(forwardRows, n-start)
			for r := range rows {
				f32.Centre(x[r*in:], c.rows[start+r], c.mean, c.scale)
			}
			clear(sums)
			for k, d := range directions {
				d.Mul(part, l, x[k*panel:], in, rows, nil, scratch)
				f32.AddTo64(sums, part[:rows*l])
			}
			for i := range l {
				for r := range rows {
					p[i*n+start+r] = float32(sums[r*l+i])
				}
			}
		}
	})
	return p, err
}

// backward writes p·X, l × in, to z, for the result p of forward.
func (c *centred) backward(ctx context.Context, z blas64.General, p []float32) error {
	n, in, l := len(c.rows), len(c.mean), z.Rows
	var panels []*f32.Left // l × panel
	for k := 0; k < n; k += panel {
		panels = append(panels, f32.PackLeft(p[k:], n, l, min(panel, n-k)))
	}
	return parallel.Until(ctx, (in+backwardCols-1)/backwardCols, func() func(int) {
		x, sums := make([]float32, panel*backwardCols), make([]float64, l*backwardCols)
		part, scratch := make([]float32, l*backwardCols), make([]float32, f32.LeftScratch(backwardCols, panel))
		return func(task int) {
			start := task * backwardCols
			cols := min(backwardCols, in-start)
			clear(sums)
			for k, left := range panels {
				first := k * panel
				for r := range min(panel, n-first) {
					f32.Centre(x[r*cols:], c.rows[first+r][start:start+cols], c.mean[start:], c.scale)
				}
				left.Mul(part, cols, x, cols, cols, scratch)
				f32.AddTo64(sums, part[:l*cols])
			}
			for i := range l {
				copy(z.Data[i*z.Stride+start:i*z.Stride+start+cols], sums[i*cols:])
			}
		}
	})
}

func matrix(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]float64, rows*cols)}
}

func rowsOf(m blas64.General, start, end int) blas64.General {
	return blas64.General{Rows: end - start, Cols: m.Cols, Stride: m.Stride, Data: m.Data[start*m.Stride : end*m.Stride]}
}

const productCols = 120

func addProduct(c, a, b blas64.General, transB bool) {
	parallel.For((c.Cols+productCols-1)/productCols, func(task int) {
		start := task * productCols
		cols, from := min(productCols, c.Cols-start), b.Data[start:]
		if transB {
			from = b.Data[start*b.Stride:]
		}
		f32.Mul64(c.Data[start:], c.Stride, a.Data, a.Stride, from, b.Stride, c.Rows, cols, a.Cols, transB)
	})
}

type subspace struct {
	blas64.General
	rng *rand.Rand
}

func newSubspace(size, in int, rng *rand.Rand) *subspace {
	s := &subspace{General: matrix(size, in), rng: rng}
	s.Rows = 0
	return s
}

func (s *subspace) randomise(m blas64.General) {
	for i := range m.Data {
		m.Data[i] = s.rng.NormFloat64()
	}
}

// minRemainder is the share of a row's length up to which its part outside the
// space may be rounding error of float32 products.
const minRemainder = 1e-6

// extend adds the directions of the rows of m and overwrites m. Random
// directions replace rows that already lie in the space.
func (s *subspace) extend(m blas64.General) {
	before := make([]float64, m.Rows)
	for i := range before {
		before[i] = blas64.Nrm2(row(m, i))
	}
	start := s.Rows
	s.remove(m, 0, start)
	for i := range m.Rows {
		v := rowsOf(m, i, i+1)
		for norm := before[i]; !s.add(v, start, norm); norm = blas64.Nrm2(row(v, 0)) {
			s.randomise(v)
			s.remove(v, 0, start)
		}
	}
}

// remove subtracts from the rows of m their components along rows `start` to
// `end`−1 of the space. It subtracts twice, which suffices for orthogonality
// (Kahan, Parlett).
func (s *subspace) remove(m blas64.General, start, end int) {
	if start == end {
		return
	}
	known := rowsOf(s.General, start, end)
	for range 2 {
		inner := matrix(m.Rows, known.Rows)
		addProduct(inner, m, known, true)
		for i := range inner.Data {
			inner.Data[i] = -inner.Data[i]
		}
		addProduct(m, inner, known, false)
	}
}

// add adds the direction of the single row of v, which is already orthogonal to
// the rows before `start`. It returns false if the new part of v is at most
// minRemainder·norm.
func (s *subspace) add(v blas64.General, start int, norm float64) bool {
	s.remove(v, start, s.Rows)
	left := blas64.Nrm2(row(v, 0))
	if left <= minRemainder*norm {
		return false
	}
	blas64.Scal(1/left, row(v, 0))
	copy(s.Data[s.Rows*s.Cols:], v.Data)
	s.Rows++
	return true
}

func row(m blas64.General, i int) blas64.Vector {
	return blas64.Vector{N: m.Cols, Inc: 1, Data: m.Data[i*m.Stride : i*m.Stride+m.Cols]}
}
