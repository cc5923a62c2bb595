package learn

import (
	"context"
	"fmt"
	"math"

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
func (f *fitting) moments(ctx context.Context, use []int) (*moments, error) {
	x, of := f.x, f.y.of
	if use != nil {
		x, of = rowsOf(x, use), make([][]int, len(use))
		for k, i := range use {
			of[k] = f.y.of[i]
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

// squares returns xᵀx, a few of its rows at a time, each as product would have it.
func squares(ctx context.Context, x blas64.General) (blas64.General, error) {
	const some = 128 // a multiple of what Gemm works on at once
	out := matrix(x.Cols, x.Cols)
	for from := 0; from < x.Cols; from += some {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		n := min(some, x.Cols-from)
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, columns(x, from, n), x, 0, slice(out, from, from+n))
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
	idf := make([]float64, len(m.sy))
	for j, f := range m.sy {
		if f > 0 { // 0 for words that only the rest has
			idf[j] = math.Log(m.n / f)
		}
	}
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

// correlate returns A^{-1/2} U S², q × dim or with as many columns as there are; see the
// package comment. A^{-1/2} is the inverse of a Cholesky factor, which differs from the
// symmetric root by a rotation that U undoes.
func correlate(m *moments, ridge float64, dim int) (blas64.General, error) {
	xx, t, yy := m.covariances()
	lx, err := factor(xx, ridge)
	if err != nil {
		return t, fmt.Errorf("covariance of features: %w", err)
	}
	ly, err := factor(yy, ridge)
	if err != nil {
		return t, fmt.Errorf("covariance of keywords: %w", err)
	}
	blas64.Trsm(blas.Left, blas.NoTrans, 1, lx, t)
	blas64.Trsm(blas.Right, blas.Trans, 1, ly, t) // T = Lx⁻¹ Cxy Ly⁻ᵀ

	// T = U S Vᵀ from the smaller of TTᵀ and TᵀT. Squaring loses only correlations below
	// 10⁻⁸, which have weight 10⁻¹⁶.
	wide := t.Cols > t.Rows
	side := min(t.Rows, t.Cols)
	square := matrix(side, side)
	if wide {
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, t, t, 0, square)
	} else {
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, t, t, 0, square)
	}
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(side, square.Data), true) {
		return t, fmt.Errorf("%w: no canonical correlations", cpar.ErrInput)
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
		u = product(blas.NoTrans, t, top) // U·S
	}
	for k := range dim {
		square := max(0, values[side-1-k])
		weight := square // S²
		if !wide {
			weight = math.Sqrt(square) // S² of U·S
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
	return u, nil
}

// correlateUntil is correlate, but waits no longer than ctx lasts.
func correlateUntil(ctx context.Context, m *moments, ridge float64, dim int) (blas64.General, error) {
	type result struct {
		w   blas64.General
		err error
	}
	var r result
	if err := parallel.OrLeave(ctx, func() error {
		r.w, r.err = correlate(m, ridge, dim)
		return nil
	}); err != nil {
		return blas64.General{}, err
	}
	return r.w, r.err
}

// factor returns the lower Cholesky factor of c with the ridge added.
func factor(c blas64.General, ridge float64) (blas64.Triangular, error) {
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
