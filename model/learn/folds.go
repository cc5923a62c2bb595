package learn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"cpar"
	"cpar/internal/parallel"
)

// The solution without a fold follows from the regression of the keywords on
// all photos. With centred inputs x and keywords y of n photos, let
//
//	A = Σ x xᵀ + λI = LLᵀ,  z = L⁻¹x,  g = Σ z yᵀ,  H = 1/n + z_Fᵀ z_F
//
// for the inputs z_F of a fold's photos, and let e be the errors of the
// regression for these photos. Without the fold, the errors are E = (I − H)⁻¹e
// and the regression is g − z_F·E (Cook, Weisberg, "Residuals and influence in
// regression", 1982). This is exact for a ridge λ that is the same for all
// folds, here that of the mean number of training photos. The directions
// follow from the regression, since
//
//	A^{-1/2} U S = A⁻¹ Cxy B^{-1/2} V
//
// in the notation of the package comment. All matrices of a fold have a side of
// the fold's photos or of the keywords.

// regression holds the factor L, the transposed regression gᵀ (v × q), the
// ridge, and the eigenvectors for all photos from which those of a fold are
// computed.
type regression struct {
	factor blas64.Triangular
	g      blas64.General
	ridge  float64
	dim    int
	start  blas64.General
}

// A foldSolution is a solution without one fold, with guesses for its photos
// instead of a regression.
type foldSolution struct {
	solution
	guesses [][]float32
}

func (s foldSolution) scaleByCorrelation() foldSolution {
	s.solution = s.solution.scaleByCorrelation()
	return s
}

// spare is the number of eigenvectors that are computed for each fold in
// addition to those that are needed, because the last ones are inaccurate.
const spare = 32

// regress computes the regression on all photos.
func (v *validation) regress(ctx context.Context, ridge float64, dim int) (*regression, error) {
	r := &regression{ridge: ridge, dim: min(dim, v.f.x.Cols, v.f.y.words), g: copied(v.whole.yx)}
	return r, parallel.OrLeave(ctx, func() (err error) {
		a := copied(v.whole.xx)
		if r.factor, err = cholesky(a, ridge*(1-1/float64(len(v.heldOut)))); err != nil {
			return fmt.Errorf("covariance of features: %w", err)
		}
		solveRight(blas.Trans, r.factor, r.g)
		t, _, err := v.whole.whiten(product(r.g, r.g, true), ridge)
		if err == nil {
			_, r.start, err = eigenvectors(t, min(r.dim+spare, v.f.y.words))
		}
		return err
	})
}

// whiten returns TᵀT and the factor of B, in the notation of the package
// comment, for the sum s = Cyx A⁻¹ Cxy of n photos. It overwrites s.
func (m *moments) whiten(s blas64.General, ridge float64) (blas64.General, blas64.Triangular, error) {
	idf := m.idf()
	ly, err := cholesky(m.covariance(m.yy, m.sy, m.sy, idf, idf), ridge)
	if err != nil {
		return s, ly, fmt.Errorf("covariance of keywords: %w", err)
	}
	for i := range s.Rows {
		for j := range row(s, i) {
			row(s, i)[j] *= idf[i] * idf[j] / m.n
		}
	}
	solveRight(blas.Trans, ly, s)
	s = transposed(s)
	solveRight(blas.Trans, ly, s)
	return s, ly, nil
}

// others returns the sums over the keywords of the photos outside a fold.
func (v *validation) others(held []int) *moments {
	m := &moments{n: v.whole.n - float64(len(held)), sy: slices.Clone(v.whole.sy), yy: copied(v.whole.yy)}
	for _, i := range held {
		for _, w := range v.f.y.byPhoto[i] {
			m.sy[w]--
			for _, u := range v.f.y.byPhoto[i] {
				row(m.yy, w)[u]--
			}
		}
	}
	return m
}

// solve returns the solution without a fold.
func (v *validation) solve(ctx context.Context, r *regression, fold int) (s foldSolution, err error) {
	held := v.heldOut[fold]
	m, z := v.others(held), rowsOf(v.f.x, held)
	solveRight(blas.Trans, r.factor, z)
	if err := ctx.Err(); err != nil {
		return s, err
	}
	y := matrix(len(held), v.f.y.words)
	for k, i := range held {
		for _, w := range v.f.y.byPhoto[i] {
			row(y, k)[w] = 1
		}
	}
	e, err := v.errors(z, y, r.g)
	if err != nil {
		return s, err
	}
	s.guesses = guesses(y, e, m)
	// Without the fold, Σ (z − mean)(y − mean)ᵀ is g less the products of the
	// fold's z and y, plus the sum of its z times the others' mean of y.
	g, yz, sum := product(transposed(e), z, false), product(transposed(y), z, false), matrix(1, z.Cols)
	for k := range z.Rows {
		blas64.Axpy(1, vector(z, k), vector(sum, 0))
	}
	for w, f := range m.sy {
		blas64.Axpy(-f/m.n, vector(sum, 0), vector(yz, w))
	}
	for i, all := range r.g.Data {
		g.Data[i], yz.Data[i] = all-g.Data[i], all-yz.Data[i]
	}
	t, ly, err := m.whiten(product(yz, g, true), r.ridge)
	if err != nil {
		return s, err
	}
	values, vectors, err := refined(t, r.start, r.dim)
	if err == nil && !(values[0] > 1e-12) { // rounding errors
		err = fmt.Errorf("%w: no canonical correlations", cpar.ErrInput)
	}
	if err != nil {
		return s, err
	}
	for _, x := range values {
		s.correlations = append(s.correlations, math.Sqrt(max(0, x)))
	}
	vectors = solveLeft(blas.Trans, ly, vectors)
	for i, w := range m.idf() {
		blas64.Scal(w, vector(vectors, i))
	}
	s.directions = solveLeft(blas.Trans, r.factor, product(transposed(g), vectors, false))
	return s, nil
}

// errors returns E for the inputs z and keywords y of a fold's photos.
func (v *validation) errors(z, y, g blas64.General) (blas64.General, error) {
	e, n := product(z, g, true), float64(v.f.x.Rows)
	for i := range e.Rows {
		for w, f := range v.whole.sy {
			row(e, i)[w] = row(y, i)[w] - f/n - row(e, i)[w]
		}
	}
	h := product(z, z, true)
	for i := range h.Data {
		h.Data[i] = -h.Data[i] - 1/n
	}
	for i := range h.Rows {
		row(h, i)[i]++
	}
	l, ok := lapack64.Potrf(blas64.Symmetric{N: h.Rows, Stride: h.Stride, Uplo: blas.Lower, Data: h.Data})
	if !ok {
		return e, fmt.Errorf("%w: the regression does without too few photos", cpar.ErrInput)
	}
	return solveLeft(blas.Trans, l, solveLeft(blas.NoTrans, l, e)), nil
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
// the symmetric matrix s, beginning with similar eigenvectors, by subspace
// iteration (Parlett, "The symmetric eigenvalue problem", 1980).
func refined(s, start blas64.General, dim int) ([]float64, blas64.General, error) {
	if start.Cols == s.Rows {
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
		gram := product(transposed(next), next, false)
		l, ok := lapack64.Potrf(blas64.Symmetric{N: gram.Rows, Stride: gram.Stride, Uplo: blas.Lower, Data: gram.Data})
		if !ok {
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

func copied(m blas64.General) blas64.General {
	m.Data = slices.Clone(m.Data)
	return m
}

func vector(m blas64.General, i int) blas64.Vector {
	return blas64.Vector{N: m.Cols, Inc: 1, Data: row(m, i)}
}
