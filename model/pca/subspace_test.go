package pca

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"

	"cpar/internal/parallel/interrupt"
)

func TestSpaceExtend(t *testing.T) {
	const in = 12
	s := newSubspace(in, in, rand.New(rand.NewPCG(1, 1)))
	first := matrix(3, in)
	s.randomise(first)
	again := slices.Clone(first.Data)
	unit := matrix(2, in)
	unit.Data[4], unit.Data[in+4] = 1e-200, 5 // one direction, twice
	s.extend(first)
	s.extend(blas64.General{Rows: 3, Cols: in, Stride: in, Data: again})
	s.extend(matrix(2, in))
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

func TestInterrupted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([][]float32, 400)
	for i := range rows {
		rows[i] = make([]float32, 300)
		for j := range rows[i] {
			rows[i][j] = float32(rng.NormFloat64())
		}
	}
	interrupt.Everywhere(t, 30, func(ctx context.Context) error {
		_, err := Fit(ctx, rows, 8, 1)
		return err
	})
}
