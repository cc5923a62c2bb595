package attack

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"cpar"
)

// A linear is an overdetermined system of linear equations with an unknown
// constant, factored once for any number of right-hand sides.
type linear struct {
	rows  *mat.Dense // centred and scaled
	scale []float64
	chol  mat.Cholesky
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
	s := &linear{rows: mat.NewDense(k, d, nil), scale: make([]float64, d)}
	column := make([]float64, k)
	for j := range d {
		for i, row := range rows {
			column[i] = row[j]
		}
		mean, deviation := stat.PopMeanStdDev(column, nil)
		if !(deviation > 0) { // rounding may yield the root of a negative number
			deviation = 1
		}
		s.scale[j] = deviation
		for i, x := range column {
			s.rows.Set(i, j, (x-mean)/deviation)
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
	x.Apply(func(j, _ int, v float64) float64 { return v / s.scale[j] }, x)
	return x, nil
}
