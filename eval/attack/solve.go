package attack

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"cpar"
)

// A linear is an overdetermined system of linear equations with an unknown
// constant, factored once for any number of right-hand sides.
type linear struct {
	rows        *mat.Dense // centred and scaled
	mean, scale []float64
	chol        mat.Cholesky
}

// ridge regularises dependent columns, such as the bins of a histogram, which
// sum to 1. It is far below the effect of noise.
const ridge = 1e-9

// newLinear prepares rows, k×d. Least squares finds x with rows·x + constant ≈
// y.
func newLinear(rows [][]float64) (*linear, error) {
	k := len(rows)
	if k == 0 {
		return nil, fmt.Errorf("solving by least squares: %w: no equations", cpar.ErrInput)
	}
	d := len(rows[0])
	s := &linear{rows: mat.NewDense(k, d, nil), mean: make([]float64, d), scale: make([]float64, d)}
	for j := range d {
		for _, row := range rows {
			s.mean[j] += row[j] / float64(k)
		}
		for _, row := range rows {
			s.scale[j] += (row[j] - s.mean[j]) * (row[j] - s.mean[j]) / float64(k)
		}
		if s.scale[j] = math.Sqrt(s.scale[j]); s.scale[j] == 0 {
			s.scale[j] = 1
		}
		for i, row := range rows {
			s.rows.Set(i, j, (row[j]-s.mean[j])/s.scale[j])
		}
	}
	gram := mat.NewSymDense(d, nil)
	gram.SymOuterK(1, s.rows.T())
	for j := range d {
		gram.SetSym(j, j, gram.At(j, j)+ridge*float64(k))
	}
	if !s.chol.Factorize(gram) {
		return nil, fmt.Errorf("solving by least squares: %w: %d equations in %d unknowns are singular", cpar.ErrInput, k, d)
	}
	return s, nil
}

// solve maps the columns of y, k×t, to the columns of the solution, d×t.
func (s *linear) solve(y *mat.Dense) (*mat.Dense, error) {
	_, d := s.rows.Dims()
	_, t := y.Dims()
	var right mat.Dense
	right.Mul(s.rows.T(), y) // the centred rows remove y's mean
	x := mat.NewDense(d, t, nil)
	if err := s.chol.SolveTo(x, &right); err != nil {
		return nil, fmt.Errorf("solving by least squares: %w", err)
	}
	for j := range d {
		for i := range t {
			x.Set(j, i, x.At(j, i)/s.scale[j])
		}
	}
	return x, nil
}

// fitsBest returns the index of the prediction with the highest correlation to
// y, which is invariant under positive scale and offset. All are standardised.
func fitsBest(y []float64, predictions [][]float64) int {
	best, most := 0, math.Inf(-1)
	for c, p := range predictions {
		if correlation := dot(y, p); correlation > most {
			best, most = c, correlation
		}
	}
	return best
}
