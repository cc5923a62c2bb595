package learn

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

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
				blas64.Trsm(blas.Right, trans, 1, l, want)
				solveRight(trans, blas64.General{Rows: n, Cols: n, Stride: n, Data: a.Data}, right)
				near(t, right, want, 1e-12)
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

func TestFactoriseAgreesWithPotrf(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, solveBlock, solveBlock + 1, 3*solveBlock + 5} {
		x := randomMatrix(rng, n+3, n)
		got := product(transposed(x), x, false)
		want := clone(got)
		l, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Uplo: blas.Lower, Data: want.Data})
		if !ok || !factorise(got) {
			t.Fatalf("%d rows: no factor", n)
		}
		for i := range n {
			for j := range i + 1 {
				if g, w := got.Data[i*n+j], l.Data[i*n+j]; math.Abs(g-w) > 1e-9*(1+math.Abs(w)) {
					t.Fatalf("%d rows: row %d, column %d is %v, want %v", n, i, j, g, w)
				}
			}
		}
		if got.Data[0] = -1; factorise(got) {
			t.Fatalf("%d rows: a factor of an indefinite matrix", n)
		}
	}
}

func TestLargestAreInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 3, 4, 8, 9, 100, 1000} {
		x := make([]float32, n)
		var want []int
		for i := range x {
			x[i] = float32(rng.IntN(50) - 25) // many are equal
			if i%3 == 0 {
				x[i] = float32(math.Inf(-1))
			} else {
				want = append(want, i)
			}
		}
		slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(x[b], x[a]) })
		if got := largest(x, 4); !slices.Equal(got, want[:min(4, len(want))]) {
			t.Errorf("of %d values: %v, want %v", n, got, want)
		}
	}
}

func TestSelectedEqualsSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := 1; n < 60; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(rng.IntN(1 + n/2)) // some are equal
		}
		sorted := slices.Sorted(slices.Values(x))
		for k, want := range sorted {
			if got := selected(slices.Clone(x), k); got != want {
				t.Fatalf("value %d of %v is %g, want %g", k, x, got, want)
			}
		}
	}
}
