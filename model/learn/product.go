package learn

import (
	"gonum.org/v1/gonum/blas/blas64"

	"cpar/internal/f32"
	"cpar/internal/parallel"
)

// productRows rows of a product are one task.
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

// transposed returns mᵀ, a copy.
func transposed(m blas64.General) blas64.General {
	t := matrix(m.Cols, m.Rows)
	for i := range m.Rows {
		for j := range m.Cols {
			t.Data[j*t.Stride+i] = m.Data[i*m.Stride+j]
		}
	}
	return t
}
