package learn

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// The twin of the blocked solvers is gonum's Trsm.
func TestSolversAgreeWithTrsm(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(rows, cols int) blas64.General {
		m := matrix(rows, cols)
		for i := range m.Data {
			m.Data[i] = rng.NormFloat64()
		}
		return m
	}
	for _, n := range []int{1, 2, solveBlock - 1, solveBlock, solveBlock + 1, 3*solveBlock + 5} {
		for _, rows := range []int{1, 3, 70} {
			a := random(n, n)
			for i := range n {
				a.Data[i*n+i] = 3 * math.Sqrt(float64(n))
			}
			l := blas64.Triangular{N: n, Stride: n, Uplo: blas.Lower, Diag: blas.NonUnit, Data: a.Data}
			for _, trans := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				right := random(rows, n)
				want := slice(right, 0, rows)
				want.Data = append([]float64(nil), want.Data...)
				left := transposed(right)
				blas64.Trsm(blas.Right, trans, 1, l, want)
				solveRight(trans, l, right)
				near(t, right, want, 1e-12)
				got := solveLeft(trans, l, left)
				blas64.Trsm(blas.Left, trans, 1, l, left)
				near(t, got, left, 1e-12)
			}
		}
	}
}

func near(t *testing.T, got, want blas64.General, within float64) {
	t.Helper()
	for i := range want.Rows {
		for j := range want.Cols {
			if g, w := got.Data[i*got.Stride+j], want.Data[i*want.Stride+j]; !(math.Abs(g-w) <= within*(1+math.Abs(w))) {
				t.Fatalf("%d × %d: row %d, column %d is %v, want %v", want.Rows, want.Cols, i, j, g, w)
			}
		}
	}
}
