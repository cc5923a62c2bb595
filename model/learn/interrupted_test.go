package learn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"cpar/internal/parallel/interrupt"
)

// someRows are rows and keywords that can be told apart, enough for landmarks and folds.
func someRows(n, in int) ([][]float32, [][]string) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows, words := make([][]float32, n), make([][]string, n)
	for i := range rows {
		rows[i] = make([]float32, in)
		for j := range rows[i] {
			rows[i][j] = float32(rng.NormFloat64()) + float32(i%4*(j%3))
		}
		words[i] = []string{fmt.Sprint("kind ", i%4), fmt.Sprint("parity ", i%2)}
	}
	return rows, words
}

// TestInterrupted: learning stops within its loops, not after them.
func TestInterrupted(t *testing.T) {
	rows, words := someRows(600, 40)
	opt := Options{Dim: 8, Ridge: 0.1, Landmarks: 100, Components: 8, Seed: 1}
	interrupt.Everywhere(t, 20, func(ctx context.Context) error {
		_, err := Fit(ctx, rows, words, opt)
		return err
	})
	space := Grid{Base: Options{Components: 8, Seed: 1}, Dims: []int{4, 8}, Landmarks: []int{0, 50}, Ridges: []float64{0.1, 1}, Neighbours: 5}
	interrupt.Everywhere(t, 300, func(ctx context.Context) error {
		_, err := Choose(ctx, rows, words, space)
		return err
	})
}
