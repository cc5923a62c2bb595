package pca

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"

	"cpar/internal/f32"
	"cpar/internal/parallel"
)

func matrix(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]float64, rows*cols)}
}

func rowsOf(m blas64.General, start, end int) blas64.General {
	return blas64.General{Rows: end - start, Cols: m.Cols, Stride: m.Stride, Data: m.Data[start*m.Stride : end*m.Stride]}
}

const productCols = 120

func addProduct(c, a, b blas64.General, transB bool) {
	parallel.Each((c.Cols+productCols-1)/productCols, func() func(int) {
		scratch := make([]float64, f32.Scratch64(c.Rows, productCols, a.Cols))
		return func(task int) {
			start := task * productCols
			cols, from := min(productCols, c.Cols-start), b.Data[start:]
			if transB {
				from = b.Data[start*b.Stride:]
			}
			f32.Mul64(c.Data[start:], c.Stride, a.Data, a.Stride, from, b.Stride, c.Rows, cols, a.Cols, transB, scratch)
		}
	})
}

// subspace is a growing set of orthonormal rows.
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

// minRemainder is the share of a row's length below which its part outside the
// space is rounding error of float32 products.
const minRemainder = 1e-6

// extend adds the directions of the rows of m, which it overwrites. Random
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

// remove subtracts from the rows of m their components along rows start to
// end−1 of the space. Twice is enough (Kahan, Parlett).
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
// the rows before start. It returns false if less than minRemainder·norm of v
// is new.
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
