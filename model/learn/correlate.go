package learn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"cpar"
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

func momentsOf(ctx context.Context, x blas64.General, of [][]int, words int) (*moments, error) {
	m := &moments{n: float64(x.Rows), sx: make([]float64, x.Cols), sy: make([]float64, words),
		yx: matrix(words, x.Cols), yy: matrix(words, words)}
	var square sync.WaitGroup // begun first, because it takes the longest
	square.Go(func() { m.xx = squares(ctx, x) })
	for i, words := range of {
		floats.Add(m.sx, row(x, i))
		for _, w := range words {
			m.sy[w]++
			floats.Add(row(m.yx, w), row(x, i))
			for _, v := range words {
				m.yy.Data[w*m.yy.Stride+v]++
			}
		}
	}
	square.Wait()
	return m, ctx.Err()
}

// squares returns xᵀx, unless ctx ends.
func squares(ctx context.Context, x blas64.General) blas64.General {
	out := matrix(x.Cols, x.Cols)
	for from := 0; from < x.Rows && ctx.Err() == nil; from += rowsAtOnce {
		addSquare(out, transposed(slice(x, from, min(from+rowsAtOnce, x.Rows))))
	}
	for i := range out.Rows {
		for j := range i {
			row(out, j)[i] = row(out, i)[j]
		}
	}
	return out
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

// A regression predicts the keywords from the inputs. With centred inputs x and
// keywords y of n photos, z = L⁻¹x for LLᵀ = n·A in the notation of learn.go.
type regression struct {
	ridge  float64
	dim    int
	factor blas64.General // L, q × q, in its lower triangle
	g, gg  blas64.General // Σ y zᵀ, v × q, and its product with its transpose
	// start holds approximate eigenvectors, which `solution` refines.
	start blas64.General
}

// regress computes the regression. It uses one ridge for the inputs, and
// another for the keywords.
func (m *moments) regress(ridgeX, ridgeY float64, dim int) (*regression, error) {
	r := &regression{ridge: ridgeY, dim: min(dim, len(m.sx), len(m.sy)), g: m.centred(m.yx, m.sy, m.sx)}
	var err error
	if r.factor, err = cholesky(m.centred(m.xx, m.sx, m.sx), ridgeX); err != nil {
		return nil, fmt.Errorf("covariance of features: %w", err)
	}
	solveRight(blas.Trans, r.factor, r.g)
	r.gg = product(r.g, r.g, true)
	return r, nil
}

// centred returns sums of products of centred values from the sums of products
// c and the sums a and b.
func (m *moments) centred(c blas64.General, a, b []float64) blas64.General {
	c.Data = slices.Clone(c.Data)
	for i, sum := range a {
		floats.AddScaled(row(c, i), -sum/m.n, b)
	}
	return c
}

// A solution holds the directions of the projection.
type solution struct {
	directions   blas64.General // (A^{-1/2} U S)ᵀ, dim × q, or fewer rows if the rank is lower
	correlations []float64      // S, one per direction
	guesses      [][]float32    // for the photos of the fold that was left out, if any
}

// solution evaluates the formulas of the package comment for the sum s of
// Cyx A⁻¹ Cxy, which it overwrites, and the regression g − eᵀz. Without a fold to
// leave out, e and z are empty. As B^{-1/2} it uses the inverse of a Cholesky
// factor, which differs from the symmetric root by a rotation. The directions
// follow from the regression, because A^{-1/2} U S = A⁻¹ Cxy B^{-1/2} V. Squaring
// S loses only correlations below 10⁻⁸, which have negligible weight.
func (m *moments) solution(r *regression, s, e, z blas64.General) (out solution, err error) {
	t, ly, err := m.whiten(s, r.ridge)
	if err != nil {
		return out, err
	}
	values, vectors, err := refined(t, r.start, r.dim)
	if err == nil && !(values[0] > 1e-12) { // rounding errors
		err = fmt.Errorf("%w: no canonical correlations", cpar.ErrInput)
	}
	if err != nil {
		return out, err
	}
	for _, x := range values {
		out.correlations = append(out.correlations, math.Sqrt(max(0, x)))
	}
	vectors = transposed(vectors)
	solveRight(blas.NoTrans, ly, vectors)
	for k, idf := 0, m.idf(); k < vectors.Rows; k++ {
		floats.Mul(row(vectors, k), idf)
	}
	out.directions = product(vectors, r.g, false)
	subtract(out.directions, product(vectors, e, true), z, false)
	solveRight(blas.NoTrans, r.factor, out.directions)
	return out, nil
}

// whiten returns B^{-1/2} s B^{-1/2} and the factor of B.
func (m *moments) whiten(s blas64.General, ridge float64) (white, ly blas64.General, err error) {
	idf, b := m.idf(), m.centred(m.yy, m.sy, m.sy)
	for i := range s.Rows {
		for j := range s.Cols {
			row(s, i)[j] *= idf[i] * idf[j]
			row(b, i)[j] *= idf[i] * idf[j]
		}
	}
	if ly, err = cholesky(b, ridge); err != nil {
		return s, ly, fmt.Errorf("covariance of keywords: %w", err)
	}
	solveRight(blas.Trans, ly, s)
	s = transposed(s)
	solveRight(blas.Trans, ly, s)
	return s, ly, nil
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
	for k, c := range s.correlations {
		floats.Scale(c, row(s.directions, k))
	}
	return s
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

// cholesky returns the lower Cholesky factor of c plus `ridge` times its mean
// diagonal value. It overwrites c.
func cholesky(c blas64.General, ridge float64) (blas64.General, error) {
	n, trace := c.Rows, 0.0
	for i := range n {
		trace += c.Data[i*c.Stride+i]
	}
	for i := range n {
		c.Data[i*c.Stride+i] += ridge * trace / float64(n)
	}
	if !factorise(c) || !(trace > 0) {
		return c, fmt.Errorf("%w: no variance", cpar.ErrInput)
	}
	return c, nil
}
