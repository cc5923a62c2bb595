package learn

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"cpar/internal/parallel"
)

// The solution without a fold follows from the regression on all photos. Let
// z_F be the inputs z of the fold's photos (see regression), H = 1/n + z_Fᵀ z_F,
// and e the errors of the regression for these photos. Without the fold, the
// errors are E = (I − H)⁻¹e and the regression is g − z_F·E (Cook, Weisberg,
// "Residuals and influence in regression", 1982). This is exact if all folds
// have the same ridge, here the one for the mean number of training photos.
// With the keywords' means f, Q = y_F − f − E + 1ᵀE/n are the estimates without the fold.
// With their sums s over the m other photos, Cyx A⁻¹ Cxy = ggᵀ − g·z_F·E − y_Fᵀ·Q + s·1ᵀQ/m.

// spare is the number of eigenvectors that are computed for each fold in
// addition to those that are needed, because the last ones are inaccurate.
const spare = 32

// regress computes the regression on all photos. Regressions with other ridges
// have similar eigenvectors, so they refine those of the first.
func (v *validation) regress(ctx context.Context, ridge float64, dim int) (r *regression, err error) {
	return r, parallel.OrLeave(ctx, func() error {
		r, err = v.whole.regress(ridge*(1-1/float64(len(v.heldOut))), ridge, dim)
		if err != nil {
			return err
		}
		t, _, err := v.whole.whiten(clone(r.gg), ridge)
		if err == nil {
			_, r.start, err = refined(t, v.start, min(r.dim+spare, v.f.y.words))
		}
		if v.start.Cols == 0 {
			v.start = r.start
		}
		return err
	})
}

// others returns the sums over the keywords of the photos outside a fold. It
// sets the fold's keywords in y.
func (v *validation) others(held []int, y blas64.General) *moments {
	m := &moments{n: v.whole.n - float64(len(held)), sy: slices.Clone(v.whole.sy), yy: v.whole.yy}
	m.yy.Data = slices.Clone(m.yy.Data)
	for k, i := range held {
		for _, w := range v.f.y.byPhoto[i] {
			row(y, k)[w] = 1
			m.sy[w]--
			for _, u := range v.f.y.byPhoto[i] {
				row(m.yy, w)[u]--
			}
		}
	}
	return m
}

// solve returns the solution without a fold.
func (v *validation) solve(r *regression, fold int) (s solution, err error) {
	held := v.heldOut[fold]
	y, z := matrix(len(held), v.f.y.words), rowsOf(v.f.x, held)
	m := v.others(held, y)
	solveRight(blas.Trans, r.factor, z)
	estimates := product(z, r.g, true)
	e, err := v.errors(z, y, estimates)
	if err != nil {
		return s, err
	}
	sums := clone(r.gg)
	subtract(sums, transposed(estimates), e, false)
	n, mean, total := float64(v.f.x.Rows), make([]float64, e.Cols), make([]float64, e.Cols)
	for k := range e.Rows {
		floats.AddScaled(mean, 1/n, row(e, k))
	}
	for k, photo := range held {
		without := row(estimates, k)
		for w, f := range v.whole.sy {
			without[w] = row(y, k)[w] - f/n - row(e, k)[w] + mean[w]
		}
		floats.Add(total, without)
		for _, w := range v.f.y.byPhoto[photo] {
			floats.Sub(row(sums, w), without)
		}
	}
	for w, f := range m.sy {
		floats.AddScaled(row(sums, w), f/m.n, total)
	}
	s, err = m.solution(r, sums, e, z)
	s.guesses = guesses(y, e, m)
	return s, err
}

// errors returns E for z, the keywords y and the estimates of a fold's photos.
func (v *validation) errors(z, y, estimates blas64.General) (blas64.General, error) {
	e, n := matrix(y.Rows, y.Cols), float64(v.f.x.Rows)
	for i := range e.Rows {
		for w, f := range v.whole.sy {
			row(e, i)[w] = row(y, i)[w] - f/n - row(estimates, i)[w]
		}
	}
	h := matrix(z.Rows, z.Rows)
	addSquare(h, z)
	for i := range h.Data {
		h.Data[i] = -h.Data[i] - 1/n
	}
	for i := range h.Rows {
		row(h, i)[i]++
	}
	l, err := cholesky(h, 0)
	if err != nil {
		return e, err
	}
	e = transposed(e)
	solveRight(blas.Trans, l, e)
	solveRight(blas.NoTrans, l, e)
	return transposed(e), nil
}

// guesses returns the estimates for photos with keywords y and errors e. An
// uninformative keyword stays at its mean.
func guesses(y, e blas64.General, m *moments) [][]float32 {
	out, idf := make([][]float32, y.Rows), m.idf()
	for i := range out {
		out[i] = make([]float32, y.Cols)
		for w, is := range row(y, i) {
			if out[i][w] = float32(is - row(e, i)[w]); idf[w] == 0 {
				out[i][w] = float32(m.sy[w] / m.n)
			}
		}
	}
	return out
}

// rounds is the number of power iterations of refined. The eigenvectors of a
// fold differ little from those of all photos.
const rounds = 4

// refined returns the largest eigenvalues and the eigenvectors (as columns) of
// the symmetric matrix s, from similar eigenvectors by subspace iteration
// (Parlett, "The symmetric eigenvalue problem", 1980) if there are any.
func refined(s, start blas64.General, dim int) ([]float64, blas64.General, error) {
	if start.Cols == 0 || start.Cols == s.Rows {
		return eigenvectors(s, dim)
	}
	trace := 0.0
	for i := range s.Rows {
		trace += row(s, i)[i]
	}
	for range rounds {
		next := product(s, start, false)
		for i, x := range start.Data { // keeps the columns independent
			next.Data[i] += 1e-4 * trace * x
		}
		l, err := cholesky(product(transposed(next), next, false), 0)
		if err != nil {
			return eigenvectors(s, dim)
		}
		solveRight(blas.Trans, l, next)
		start = next
	}
	values, vectors, err := eigenvectors(product(transposed(start), product(s, start, false), false), dim)
	if err != nil {
		return nil, start, err
	}
	return values, product(start, vectors, false), nil
}
