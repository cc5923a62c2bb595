package pca

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
)

// Whatever rows are added, the space stays orthonormal and grows.
func TestSpaceExtend(t *testing.T) {
	const in = 12
	s := newSubspace(in, in, rand.New(rand.NewPCG(1, 1)))
	first := matrix(3, in)
	s.randomise(first)
	again := slices.Clone(first.Data)
	unit := matrix(2, in)
	unit.Data[4], unit.Data[in+4] = 1e-200, 5 // one direction, twice
	s.extend(first)
	s.extend(blas64.General{Rows: 3, Cols: in, Stride: in, Data: again}) // all known
	s.extend(matrix(2, in))                                              // zeros
	s.extend(unit)
	s.extend(matrix(2, in)) // the last two dimensions
	if s.Rows != in {
		t.Fatalf("%d rows, want %d", s.Rows, in)
	}
	for i := range in {
		for k := range in {
			want := 0.0
			if i == k {
				want = 1
			}
			if got := blas64.Dot(row(s.General, i), row(s.General, k)); !(math.Abs(got-want) < 1e-9) {
				t.Errorf("rows %d and %d: inner product %g, want %g", i, k, got, want)
			}
		}
	}
}
