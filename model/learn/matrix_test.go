package learn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

func randomMatrix(rng *rand.Rand, rows, cols int) blas64.General {
	m := matrix(rows, cols)
	for i := range m.Data {
		m.Data[i] = rng.NormFloat64()
	}
	return m
}

func TestProduct(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 2}, {64, 31, 65}, {130, 250, 300}, {200, 1, 7}, {0, 3, 2}, {2, 0, 3}, {2, 3, 0}} {
		m, n, k := s[0], s[1], s[2]
		a := columns(randomMatrix(rng, m, k+5), min(3, m), k)
		for _, transB := range []bool{false, true} {
			b, how := randomMatrix(rng, k, n), blas.NoTrans
			if transB {
				b, how = transposed(b), blas.Trans
			}
			got, want := product(a, b, transB), matrix(m, n)
			if m*n*k > 0 {
				blas64.Gemm(blas.NoTrans, how, 1, a, b, 0, want)
			}
			if got.Rows != m || got.Cols != n {
				t.Fatalf("%v: %d×%d values", s, got.Rows, got.Cols)
			}
			for i, w := range want.Data {
				if !(math.Abs(got.Data[i]-w) <= 1e-13*float64(k+1)*(1+math.Abs(w))) {
					t.Fatalf("%v, transposed %v: value %d is %g, want %g", s, transB, i, got.Data[i], w)
				}
			}
		}
	}
}

func BenchmarkProduct(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, s := range [][3]int{{128, 1200, 4500}, {4500, 128, 1200}, {256, 3600, 96}} {
		x, y := randomMatrix(rng, s[0], s[2]), randomMatrix(rng, s[2], s[1])
		b.Run(fmt.Sprint(s), func(b *testing.B) {
			for b.Loop() {
				product(x, y, false)
			}
		})
		b.Run(fmt.Sprint(s, "gonum"), func(b *testing.B) {
			out := matrix(s[0], s[1])
			for b.Loop() {
				blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, x, y, 0, out)
			}
		})
	}
}
