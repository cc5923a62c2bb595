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

// moments are sums over photos from which covariances are computed. Those of a fold are
// subtracted from those of all folds, so that a cross-validation costs as much as one
// pass over everything.
type moments struct {
	n          float64
	sx, sy     []float64      // q, v
	xx, yx, yy blas64.General // q × q, v × q, v × v
}

// moments returns the moments of the rows in use; all rows if nil.
func (f *ccaProblem) moments(ctx context.Context, use []int) (*moments, error) {
	x, of := f.x, f.y.byPhoto
	if use != nil {
		x, of = rowsOf(x, use), make([][]int, len(use))
		for k, i := range use {
			of[k] = f.y.byPhoto[i]
		}
	}
	xx, err := squares(ctx, x)
	if err != nil {
		return nil, err
	}
	m := &moments{n: float64(x.Rows), sx: make([]float64, x.Cols), sy: make([]float64, f.y.words),
		xx: xx, yx: matrix(f.y.words, x.Cols), yy: matrix(f.y.words, f.y.words)}
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

// squares returns xᵀx, a few of its rows at a time.
func squares(ctx context.Context, x blas64.General) (blas64.General, error) {
	const some = 512 // eight tasks of product
	out := matrix(x.Cols, x.Cols)
	for from := 0; from < x.Cols; from += some {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		n := min(some, x.Cols-from)
		copy(slice(out, from, from+n).Data, product(transposed(columns(x, from, n)), x, false).Data)
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

// add adds factor times the moments of another part to m.
func (m *moments) add(factor float64, part *moments) {
	m.n += factor * part.n
	for _, pair := range [][2][]float64{{m.sx, part.sx}, {m.sy, part.sy},
		{m.xx.Data, part.xx.Data}, {m.yx.Data, part.yx.Data}, {m.yy.Data, part.yy.Data}} {
		for i, v := range pair[1] {
			pair[0][i] += factor * v
		}
	}
}

// zero returns the moments of no photos, with the size of m.
func (m *moments) zero() *moments {
	return &moments{sx: make([]float64, len(m.sx)), sy: make([]float64, len(m.sy)),
		xx: matrix(len(m.sx), len(m.sx)), yx: matrix(len(m.sy), len(m.sx)), yy: matrix(len(m.sy), len(m.sy))}
}

// covariances returns centred covariances, with keywords weighted by log(n/f).
func (m *moments) covariances() (xx, xy, yy blas64.General) {
	idf := m.idf()
	// transposed: b·aᵀ holds the sums of a·bᵀ.
	cov := func(c blas64.General, transposed bool, a, b, wa, wb []float64) blas64.General {
		out := matrix(len(a), len(b))
		for i := range a {
			for j := range b {
				at := i*c.Stride + j
				if transposed {
					at = j*c.Stride + i
				}
				v := c.Data[at]/m.n - a[i]/m.n*(b[j]/m.n)
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
	return cov(m.xx, false, m.sx, m.sx, nil, nil), cov(m.yx, true, m.sx, m.sy, nil, idf), cov(m.yy, false, m.sy, m.sy, idf, idf)
}

// A solution is what moments say: the directions of vectors, and a regression of the
// keywords themselves.
type solution struct {
	directions   blas64.General // A^{-1/2} U S, q × dim or with as many columns as there are
	correlations []float64      // S of every direction
	guess        blas64.General // A⁻¹ Cxy without weights, q × v
}

// correlate solves the package comment's formulas. A^{-1/2} is the inverse of a Cholesky
// factor, which differs from the symmetric root by a rotation that U undoes.
func correlate(m *moments, ridge float64, dim int) (s solution, err error) {
	xx, t, yy := m.covariances()
	lx, err := cholesky(xx, ridge)
	if err != nil {
		return s, fmt.Errorf("covariance of features: %w", err)
	}
	ly, err := cholesky(yy, ridge)
	if err != nil {
		return s, fmt.Errorf("covariance of keywords: %w", err)
	}
	blas64.Trsm(blas.Left, blas.NoTrans, 1, lx, t)
	s.guess = m.regression(lx, t)
	blas64.Trsm(blas.Right, blas.Trans, 1, ly, t) // T = Lx⁻¹ Cxy Ly⁻ᵀ

	// T = U S Vᵀ from the smaller of TTᵀ and TᵀT. Squaring loses only correlations below
	// 10⁻⁸, which have hardly a weight.
	wide := t.Cols > t.Rows
	side := min(t.Rows, t.Cols)
	short := t
	if !wide {
		short = transposed(t)
	}
	square := product(short, short, true)
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(side, square.Data), true) {
		return s, fmt.Errorf("%w: no canonical correlations", cpar.ErrInput)
	}
	values := e.Values(nil) // S², ascending
	var all mat.Dense
	e.VectorsTo(&all)
	dim = min(dim, side)
	top := matrix(side, dim)
	for k := range dim {
		from := side - 1 - k
		for i := range side {
			top.Data[i*dim+k] = all.At(i, from)
		}
	}
	u := top
	if !wide {
		u = product(t, top, false) // U·S
	}
	for k := range dim {
		weight := math.Sqrt(max(0, values[side-1-k])) // S
		s.correlations = append(s.correlations, weight)
		if !wide {
			weight = 1 // U·S has it
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
	blas64.Trsm(blas.Left, blas.Trans, 1, lx, u)
	s.directions = u
	return s, nil
}

// squared returns the solution with directions A^{-1/2} U S².
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

// regression returns A⁻¹ Cxy of Lx⁻¹ Cxy, whose keywords are weighted.
func (m *moments) regression(lx blas64.Triangular, t blas64.General) blas64.General {
	out := matrix(t.Rows, t.Cols)
	idf := m.idf()
	for i := range t.Rows {
		for j, w := range idf {
			if w > 0 { // else the word says nothing: it stays at its mean
				out.Data[i*out.Stride+j] = t.Data[i*t.Stride+j] / w
			}
		}
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, lx, out)
	return out
}

// idf are the weights of the keywords, log(n/f).
func (m *moments) idf() []float64 {
	idf := make([]float64, len(m.sy))
	for j, f := range m.sy {
		if f > 0 { // 0 for words that only the rest has
			idf[j] = math.Log(m.n / f)
		}
	}
	return idf
}

// correlateUntil is correlate, but waits no longer than ctx lasts.
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

// factor returns the lower Cholesky factor of c with the ridge added.
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
		return l, fmt.Errorf("%w: nothing varies", cpar.ErrInput)
	}
	return l, nil
}
