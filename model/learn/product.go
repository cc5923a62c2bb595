package learn

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"cpar/internal/f32"
	"cpar/internal/parallel"
)

// product returns a·b, or a·bᵀ with transB, on all cores. The values do not
// depend on the number of cores.
const productRows = 64

// product returns a·b, or a·bᵀ, on all cores. A value does not depend on how many there are.
func product(a, b blas64.General, transB bool) blas64.General {
	n := b.Cols
	if transB {
		n = b.Rows
	}
	c := matrix(a.Rows, n)
	if a.Rows == 0 || n == 0 || a.Cols == 0 {
		return c
	}
	parallel.Each((a.Rows+productRows-1)/productRows, func() func(int) {
		scratch := make([]float64, f32.Scratch64(productRows, n, a.Cols))
		return func(task int) {
			from := task * productRows
			rows := min(productRows, a.Rows-from)
			f32.Mul64(c.Data[from*c.Stride:], c.Stride, a.Data[from*a.Stride:], a.Stride, b.Data, b.Stride, rows, n, a.Cols, transB, scratch)
		}
	})
	return c
}

// transposed returns a copy of mᵀ.
func transposed(m blas64.General) blas64.General {
	if m.Rows == 0 || m.Cols == 0 {
		return matrix(m.Cols, m.Rows)
	}
	var in, t mat.Dense
	in.SetRawMatrix(m)
	t.CloneFrom(in.T())
	return t.RawMatrix()
}
