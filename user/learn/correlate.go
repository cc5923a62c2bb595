package learn

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"cpar"
)

// moments are sums over photos, of which covariances are made. Those of a part of the
// collection are subtracted from those of the whole, so that every fold of
// a cross-validation costs a fold, not the rest.
type moments struct {
	n          float64
	sx, sy     []float64      // q, v
	xx, xy, yy blas64.General // q × q, q × v, v × v
}

// moments of the rows in use; all if nil.
func (f *fitting) moments(use []int) *moments {
	x, y := f.x, f.y
	if use != nil {
		x, y = rowsOf(x, use), rowsOf(y, use)
	}
	m := &moments{n: float64(x.Rows), sx: make([]float64, x.Cols), sy: make([]float64, y.Cols)}
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Cols : (i+1)*x.Cols] {
			m.sx[j] += v
		}
		for j, v := range y.Data[i*y.Cols : (i+1)*y.Cols] {
			m.sy[j] += v
		}
	}
	m.xx, m.xy, m.yy = product(blas.Trans, x, x), product(blas.Trans, x, y), product(blas.Trans, y, y)
	return m
}

func rowsOf(m blas64.General, use []int) blas64.General {
	out := matrix(len(use), m.Cols)
	for k, i := range use {
		copy(out.Data[k*m.Cols:], m.Data[i*m.Stride:i*m.Stride+m.Cols])
	}
	return out
}

// without are the moments of the rest.
func (m *moments) without(part *moments) *moments {
	less := func(a, b []float64) []float64 {
		out := make([]float64, len(a))
		for i := range a {
			out[i] = a[i] - b[i]
		}
		return out
	}
	matrixLess := func(a, b blas64.General) blas64.General {
		a.Data = less(a.Data, b.Data)
		return a
	}
	return &moments{n: m.n - part.n, sx: less(m.sx, part.sx), sy: less(m.sy, part.sy),
		xx: matrixLess(m.xx, part.xx), xy: matrixLess(m.xy, part.xy), yy: matrixLess(m.yy, part.yy)}
}

// covariances are centred, and the keywords weighted by log(n/f).
func (m *moments) covariances() (xx, xy, yy blas64.General) {
	idf := make([]float64, len(m.sy))
	for j, f := range m.sy {
		if f > 0 { // 0 for words that the rest alone has
			idf[j] = math.Log(m.n / f)
		}
	}
	cov := func(c blas64.General, a, b, wa, wb []float64) blas64.General {
		out := matrix(c.Rows, c.Cols)
		for i := range c.Rows {
			for j := range c.Cols {
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
	return cov(m.xx, m.sx, m.sx, nil, nil), cov(m.xy, m.sx, m.sy, nil, idf), cov(m.yy, m.sy, m.sy, idf, idf)
}

// correlate returns A^{-1/2} U S², q × dim or as many columns as there are; see
// the package comment. A^{-1/2} is the inverse of a Cholesky factor, which
// differs from the symmetric root by a rotation that U undoes.
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

	// T = U S Vᵀ by the smaller of TTᵀ and TᵀT. What squaring loses is
	// correlations below 10⁻⁸, and those weigh 10⁻¹⁶.
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
	values := e.Values(nil) // S², rising
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

// factor is the lower Cholesky factor of c with the ridge added.
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
