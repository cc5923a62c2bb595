package pca

import (
	"context"
	"math/rand/v2"
	"testing"

	"cpar/internal/parallel/interrupt"
)

// TestInterrupted: the iteration stops within a product.
func TestInterrupted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([][]float32, 400)
	for i := range rows {
		rows[i] = make([]float32, 300)
		for j := range rows[i] {
			rows[i][j] = float32(rng.NormFloat64())
		}
	}
	interrupt.Everywhere(t, 40, func(ctx context.Context) error {
		_, err := Fit(ctx, rows, 8, 1)
		return err
	})
}
