// Package pca reduces feature vectors to their principal components.
//
//	Fit:     n rows of in float32 ─▶ Basis: mean (in) and components (out × in)
//	Project: one row of in float32 ─▶ out float64, component i of it ⟨c_i, x − mean⟩
//
// Profile paper reduces haar and haarq, 4096 values each, by "PCA-X" to 4096/X: PCA-32,
// the paper's choice, gives 128. Components are in order of falling variance, are not
// whitened, and have the units of the features. The collection's owner fits a basis once
// and projects every later photo with it.
//
// Fit is the randomised block Krylov method of Musco and Musco, "Randomized block Krylov
// methods for stronger and faster approximate singular value decomposition" (2015),
// algorithm 2. It is approximate, and exact for rows so short that the Krylov space is
// the whole space.
//
// # What is not determined
//
// A component is determined up to its sign; here its entry of largest magnitude is
// positive. If a collection has fewer directions than requested (too few rows, or
// dependent rows), the remaining components are rows of zeros and project everything to
// 0. An orthonormal completion would be arbitrary: the collection has no extent along it,
// so it could only add a new photo's noise to every distance. Rank returns the number of
// non-zero components.
package pca

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"cpar"
	"cpar/internal/parallel"
)

// Basis is a mean and out orthonormal components of in values each, the last of which may
// be rows of zeros. It is safe for concurrent use.
type Basis struct {
	in, out    int
	mean       []float32 // in
	components []float32 // out × in, row by row
}

// In returns the number of values of a row to project.
func (b *Basis) In() int { return b.in }

// Out returns the number of values of a projection.
func (b *Basis) Out() int { return b.out }

// Rank returns the number of components that are not rows of zeros.
func (b *Basis) Rank() int {
	rank := 0
	for i := range b.out {
		for _, v := range b.Component(i) {
			if v != 0 {
				rank++
				break
			}
		}
	}
	return rank
}

// Component returns row i of the basis, a read-only view.
func (b *Basis) Component(i int) []float32 { return b.components[i*b.in : (i+1)*b.in] }

// Mean returns the mean of the fitted rows, a read-only view.
func (b *Basis) Mean() []float32 { return b.mean }

// Project computes the out components of x, in float64 throughout. It writes them into
// dst if that has room, else into a new slice, and returns them. It panics unless x has
// In values: features have fixed lengths, so compare In once, on decoding a basis.
func (b *Basis) Project(dst []float64, x []float32) []float64 {
	if len(x) != b.in {
		panic(fmt.Sprintf("pca: projecting %d values on a basis of %d", len(x), b.in))
	}
	if cap(dst) < b.out {
		dst = make([]float64, b.out)
	}
	dst = dst[:b.out]
	b.project([][]float64{dst}, [][]float32{x})
	return dst
}

// batchRows rows share one widening of the components. Inner products are sums over
// stretches of projectPanel values: nearComponents stretches, 32 kB, stay in the L1 cache
// while a batch, 256 kB, passes by in the second.
const (
	batchRows      = 64
	projectPanel   = 512
	nearComponents = 8
)

// ProjectAll projects every row, on all cores. Its results equal those of Project to the
// last bit. Errors wrap cpar.ErrInput.
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
			b.project(all[start:end], rows[start:end])
		}
	})
	return all, nil
}

// project handles a few rows at a time and widens to float64 on the way: a widened copy
// of the components would treble the memory of a basis. The order of additions is the
// same for any number of rows.
func (b *Basis) project(dst [][]float64, rows [][]float32) {
	for i := range rows {
		clear(dst[i])
	}
	centred := make([]float64, len(rows)*projectPanel)
	var near [nearComponents * projectPanel]float64
	for start := 0; start < b.in; start += projectPanel {
		end := min(start+projectPanel, b.in)
		n := end - start
		mean := b.mean[start:end]
		for i, row := range rows {
			c := centred[i*n : (i+1)*n]
			for j, v := range row[start:end] {
				c[j] = float64(v) - float64(mean[j])
			}
		}
		for first := 0; first < b.out; first += nearComponents {
			last := min(first+nearComponents, b.out)
			for k := first; k < last; k++ {
				to := near[(k-first)*n : (k-first+1)*n]
				for j, v := range b.Component(k)[start:end] {
					to[j] = float64(v)
				}
			}
			for i := range rows {
				row := blas64.Vector{N: n, Data: centred[i*n : (i+1)*n], Inc: 1}
				for k := first; k < last; k++ {
					dst[i][k] += blas64.Dot(blas64.Vector{N: n, Data: near[(k-first)*n : (k-first+1)*n], Inc: 1}, row)
				}
			}
		}
	}
}

// finite reports whether v is neither NaN nor infinite.
func finite(v float32) bool {
	return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
}
