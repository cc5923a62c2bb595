// Package pca reduces feature vectors to their principal components.
//
//	Fit:     n rows of `in` numbers ─▶ Basis: mean (`in` numbers) and components c_i (`out` × `in` numbers)
//	Project: one row x of `in` numbers ─▶ `out` numbers, ⟨c_i, x − mean⟩ for each i
//
// Profile "paper" reduces the Haar features haar and haarq from 4096 values
// each to 4096/X by "PCA-X". The paper's PCA-32 gives 128. Components are
// sorted by falling variance, not whitened, and in the units of the features.
// The owner fits a basis once and projects every later photo with it.
//
// Fit is the randomised block Krylov method of Musco and Musco, "Randomized
// block Krylov methods for stronger and faster approximate singular value
// decomposition" (2015), algorithm 2. The result is exact if the Krylov space
// is the whole space.
//
// # Conventions
//
// The sign of a component is arbitrary, so its entry of largest magnitude is
// made positive. If a collection has fewer directions than requested, the
// remaining components are zeros. An orthonormal completion would only add a
// new photo's noise to every distance.
package pca

import (
	"fmt"
	"math"
	"slices"

	"cpar"
	"cpar/internal/f32"
	"cpar/internal/parallel"
)

// Basis consists of a mean and `out` orthonormal components, each with `in`
// values. Components beyond the rank are zero. A Basis is safe for concurrent
// use.
type Basis struct {
	in, out    int
	mean       []float32 // in values
	components []float32 // out × in, row by row
}

func (b *Basis) In() int { return b.in }

func (b *Basis) Out() int { return b.out }

// Rank returns the number of non-zero components.
func (b *Basis) Rank() int {
	rank := 0
	for i := range b.out {
		if slices.ContainsFunc(b.Component(i), func(v float32) bool { return v != 0 }) {
			rank++
		}
	}
	return rank
}

// Component returns component i as a read-only view.
func (b *Basis) Component(i int) []float32 { return b.components[i*b.in : (i+1)*b.in] }

// Mean returns the mean of the fitted rows as a read-only view.
func (b *Basis) Mean() []float32 { return b.mean }

// Project returns the projection of x on each component. It panics unless x has
// b.In() values.
func (b *Basis) Project(x []float32) []float64 {
	if len(x) != b.in {
		panic(fmt.Sprintf("pca: projecting %d values on a basis of %d", len(x), b.in))
	}
	dst := make([]float64, b.out)
	b.project(dst, [][]float32{x})
	return dst
}

// Method project converts projectPanel columns of the components to float64 at
// a time, for batchRows rows.
const (
	batchRows    = 64
	projectPanel = 512
)

// ProjectAll projects every row on all cores. Its results equal Project's to
// the last bit. Errors wrap cpar.ErrInput.
func (b *Basis) ProjectAll(rows [][]float32) ([][]float64, error) {
	for i, row := range rows {
		if len(row) != b.in {
			return nil, fmt.Errorf("projecting row %d: %w: %d values for a basis of %d", i, cpar.ErrInput, len(row), b.in)
		}
	}
	flat := make([]float64, len(rows)*b.out)
	all := make([][]float64, len(rows))
	for i := range all {
		all[i] = flat[i*b.out : (i+1)*b.out : (i+1)*b.out]
	}
	parallel.Each((len(rows)+batchRows-1)/batchRows, func() func(int) {
		return func(batch int) {
			start, end := batch*batchRows, min((batch+1)*batchRows, len(rows))
			b.project(flat[start*b.out:end*b.out], rows[start:end])
		}
	})
	return all, nil
}

// project converts components to float64 panel by panel, because a full copy in
// float64 would treble the memory of a basis. The order of additions is the
// same for any number of rows.
func (b *Basis) project(dst []float64, rows [][]float32) {
	clear(dst)
	centred := make([]float64, len(rows)*projectPanel)
	for start := 0; start < b.in; start += projectPanel {
		n := min(projectPanel, b.in-start)
		mean := b.mean[start:][:n]
		for i, row := range rows {
			c := centred[i*n:][:n]
			for j, v := range row[start:][:n] {
				c[j] = float64(v) - float64(mean[j])
			}
		}
		f32.Mul64(dst, b.out, centred, n, b.components[start:], b.in, len(rows), b.out, n, true)
	}
}

func finite(v float32) bool {
	return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
}
