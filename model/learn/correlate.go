package learn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"cpar"
	"cpar/internal/parallel"
)

// moments holds the sums from which the covariances are computed. They add up,
// over n photos, the inputs x (q values), the keyword indicators y (v values),
// and their products. Subtracting one fold's moments from the total is cheaper
// than summing the other folds again.
type moments struct {
	n          float64
	sx, sy     []float64
	xx, yx, yy blas64.General // q × q, v × q, v × v
}

// momentsOf computes the sums over photos with inputs x and keywords `of`.
func momentsOf(ctx context.Context, x blas64.General, of [][]int, words int) (*moments, error) {
	xx, err := squares(ctx, x)
	if err != nil {
		return nil, err
	}
	m := &moments{n: float64(x.Rows), sx: make([]float64, x.Cols), sy: make([]float64, words),
		xx: xx, yx: matrix(words, x.Cols), yy: matrix(words, words)}
	for i, words := range of {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row := blas64.Vector{N: x.Cols, Inc: 1, Data: x.Data[i*x.Stride : i*x.Stride+x.Cols]}
		blas64.Axpy(1, row, blas64.Vector{N: x.Cols, Inc: 1, Data: m.sx})
		for _, w := range words {
			m.sy[w]++
			blas64.Axpy(1, row, blas64.Vector{N: x.Cols, Inc: 1, Data: m.yx.Data[w*m.yx.Stride:]})
			for _, v := range words {
				m.yy.Data[w*m.yy.Stride+v]++
			}
		}
	}
	return m, nil
}

// squares returns xᵀx. It computes one triangle in bands.
func squares(ctx context.Context, x blas64.General) (blas64.General, error) {
	const band = 512
	out := matrix(x.Cols, x.Cols)
	for from := 0; from < x.Cols; from += band {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		n := min(band, x.Cols-from)
		part := product(transposed(columns(x, from, n)), columns(x, from, x.Cols-from), false)
		for i := range n {
			for j, v := range row(part, i) {
				row(out, from+i)[from+j], row(out, from+j)[from+i] = v, v
			}
		}
	}
	return out, nil
}

func rowsOf(m blas64.General, use []int) blas64.General {
	out := matrix(len(use), m.Cols)
	for k, i := range use {
		copy(out.Data[k*m.Cols:], m.Data[i*m.Stride:i*m.Stride+m.Cols])
	}
	return out
}

func (m *moments) add(factor float64, part *moments) {
	m.n += factor * part.n
	for _, pair := range [][2][]float64{{m.sx, part.sx}, {m.sy, part.sy},
		{m.xx.Data, part.xx.Data}, {m.yx.Data, part.yx.Data}, {m.yy.Data, part.yy.Data}} {
		for i, v := range pair[1] {
			pair[0][i] += factor * v
		}
	}
}

// covariances returns the centred covariances. A keyword on f of n photos is
// weighted by log(n/f).
func (m *moments) covariances() (xx, xy, yy blas64.General) {
	idf := m.idf()
	return m.covariance(m.xx, m.sx, m.sx, nil, nil), m.covariance(transposed(m.yx), m.sx, m.sy, nil, idf), m.covariance(m.yy, m.sy, m.sy, idf, idf)
}

// covariance returns the covariance for sums of products c and sums a and b,
// with weights wa and wb unless they are nil.
func (m *moments) covariance(c blas64.General, a, b, wa, wb []float64) blas64.General {
	out := matrix(len(a), len(b))
	for i := range a {
		for j := range b {
			v := c.Data[i*c.Stride+j]/m.n - a[i]/m.n*(b[j]/m.n)
			if wa != nil {
				v *= wa[i]
			}
			if wb != nil {
				v *= wb[j]
			}
			out.Data[i*out.Stride+j] = v
		}
	}
	return out
}

// A solution holds the directions of the projection and the regression of the
// keywords, in the notation of learn.go.
type solution struct {
	directions   blas64.General // A^{-1/2} U S, q × dim, or fewer columns if the rank is lower
	correlations []float64      // S, one per direction
	guess        blas64.General // A⁻¹ Cxy without weights, q × v
}

// correlate evaluates the formulas of the package comment. As A^{-1/2} it uses
// the inverse of a Cholesky factor. The symmetric root differs by a rotation,
// which U undoes.
func correlate(m *moments, ridge float64, dim int) (s solution, err error) {
	return correlateWith(m, ridge, ridge, dim)
}

func correlateWith(m *moments, ridge, ridgeY float64, dim int) (s solution, err error) {
	xx, t, yy := m.covariances()
	lx, err := cholesky(xx, ridge)
	if err != nil {
		return s, fmt.Errorf("covariance of features: %w", err)
	}
	ly, err := cholesky(yy, ridgeY)
	if err != nil {
		return s, fmt.Errorf("covariance of keywords: %w", err)
	}
	t = solveLeft(blas.NoTrans, lx, t)
	s.guess = m.regression(lx, t)
	solveRight(blas.Trans, ly, t) // T = Lx⁻¹ Cxy Ly⁻ᵀ

	// Compute T = U S Vᵀ from the smaller of TTᵀ and TᵀT. Squaring loses only
	// correlations below 10⁻⁸, which have negligible weight.
	wide := t.Cols > t.Rows
	short := t
	if !wide {
		short = transposed(t)
	}
	values, top, err := eigenvectors(product(short, short, true), dim) // S²
	if err != nil {
		return s, err
	}
	dim = top.Cols
	u := top
	if !wide {
		u = product(t, top, false) // U·S
	}
	for k := range dim {
		weight := math.Sqrt(max(0, values[k]))
		s.correlations = append(s.correlations, weight)
		if !wide {
			weight = 1 // already in U·S
		}
		sign, largest := 1.0, 0.0
		for i := range u.Rows {
			if v := u.Data[i*dim+k]; math.Abs(v) > largest {
				largest, sign = math.Abs(v), math.Copysign(1, v)
			}
		}
		for i := range u.Rows {
			u.Data[i*dim+k] *= weight * sign
		}
	}
	s.directions = solveLeft(blas.Trans, lx, u)
	return s, nil
}

// eigenvectors returns at most `dim` of the largest eigenvalues of the symmetric
// matrix s, the largest first, and the eigenvectors as columns.
func eigenvectors(s blas64.General, dim int) (values []float64, vectors blas64.General, err error) {
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(s.Rows, s.Data), true) {
		return nil, s, fmt.Errorf("%w: no canonical correlations", cpar.ErrInput)
	}
	rising := e.Values(nil)
	var all mat.Dense
	e.VectorsTo(&all)
	vectors = matrix(s.Rows, min(dim, s.Rows))
	for k := range vectors.Cols {
		from := s.Rows - 1 - k
		values = append(values, rising[from])
		for i := range s.Rows {
			row(vectors, i)[k] = all.At(i, from)
		}
	}
	return values, vectors, nil
}

// scaleByCorrelation returns the solution with directions A^{-1/2} U S².
func (s solution) scaleByCorrelation() solution {
	s.directions = slice(s.directions, 0, s.directions.Rows)
	s.directions.Data = slices.Clone(s.directions.Data)
	for i := range s.directions.Rows {
		for k, c := range s.correlations {
			s.directions.Data[i*s.directions.Stride+k] *= c
		}
	}
	return s
}

// regression returns A⁻¹ Cxy for keywords without weights. Its input t = Lx⁻¹
// Cxy has weights.
func (m *moments) regression(lx blas64.Triangular, t blas64.General) blas64.General {
	out := matrix(t.Rows, t.Cols)
	idf := m.idf()
	for i := range t.Rows {
		for j, w := range idf {
			if w > 0 { // otherwise the keyword is uninformative and stays at its mean
				out.Data[i*out.Stride+j] = t.Data[i*t.Stride+j] / w
			}
		}
	}
	return solveLeft(blas.Trans, lx, out)
}

// idf returns the weights log(n/f) of keywords on f of n photos.
func (m *moments) idf() []float64 {
	idf := make([]float64, len(m.sy))
	for j, f := range m.sy {
		if f > 0 { // 0 for keywords that occur only in the held-out fold
			idf[j] = math.Log(m.n / f)
		}
	}
	return idf
}

// correlateUntil calls correlate and returns early if ctx ends.
func correlateUntil(ctx context.Context, m *moments, ridge float64, dim int) (solution, error) {
	type result struct {
		s   solution
		err error
	}
	var r result
	if err := parallel.OrLeave(ctx, func() error {
		r.s, r.err = correlate(m, ridge, dim)
		return nil
	}); err != nil {
		return solution{}, err
	}
	return r.s, r.err
}

// cholesky returns the lower Cholesky factor of c plus `ridge` times its mean
// diagonal value. It overwrites c.
func cholesky(c blas64.General, ridge float64) (blas64.Triangular, error) {
	n, trace := c.Rows, 0.0
	for i := range n {
		trace += c.Data[i*c.Stride+i]
	}
	for i := range n {
		c.Data[i*c.Stride+i] += ridge * trace / float64(n)
	}
	l, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: c.Stride, Uplo: blas.Lower, Data: c.Data})
	if !ok || !(trace > 0) {
		return l, fmt.Errorf("%w: no variance", cpar.ErrInput)
	}
	return l, nil
}
