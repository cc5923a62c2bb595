package attack

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"cpar"
)

// ridge regularises dependent columns, such as the bins of a histogram, which
// sum to 1. It is far below the effect of noise.
const ridge = 1e-9

// leastSquares finds x with rows·x + constant ≈ y for every column of y. rows is
// k×d, y k×t and the result d×t. The constants are unknown.
func leastSquares(rows [][]float64, y *mat.Dense) (*mat.Dense, error) {
	k := len(rows)
	if k == 0 {
		return nil, fmt.Errorf("solving by least squares: %w: no equations", cpar.ErrInput)
	}
	d := len(rows[0])
	centred, scale := mat.NewDense(k, d, nil), make([]float64, d)
	column := make([]float64, k)
	for j := range d {
		for i, row := range rows {
			column[i] = row[j]
		}
		mean, deviation := stat.PopMeanStdDev(column, nil)
		if !(deviation > 0) { // rounding may yield the root of a negative number
			deviation = 1
		}
		scale[j] = deviation
		for i, x := range column {
			centred.Set(i, j, (x-mean)/deviation)
		}
	}
	gram := mat.NewSymDense(d, nil)
	gram.SymOuterK(1, centred.T())
	for j := range d {
		gram.SetSym(j, j, gram.At(j, j)+ridge*float64(k))
	}
	var chol mat.Cholesky
	if !chol.Factorize(gram) {
		return nil, fmt.Errorf("solving by least squares: %w: %d equations in %d unknowns are singular", cpar.ErrInput, k, d)
	}
	var right, x mat.Dense
	right.Mul(centred.T(), y) // the centred rows remove y's mean
	if err := chol.SolveTo(&x, &right); err != nil {
		return nil, fmt.Errorf("solving by least squares: %w", err)
	}
	x.Apply(func(j, _ int, v float64) float64 { return v / scale[j] }, &x)
	return &x, nil
}
