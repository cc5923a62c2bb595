package attack

import (
	"context"
	"fmt"
	"math"

	simd "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"cpar"
	"cpar/eval/distance"
	"cpar/eval/measure"
	"cpar/internal/parallel"
	"cpar/model/feature"
	"cpar/model/vector"
	"cpar/user"
)

// Recovering requests from their scores.
//
// A score is r_s·(F·Dis − r), where Dis is the distance, F a public factor, and
// r_s and r are the request's secret scale and offset. An attacker who knows k
// records computes their distances from each candidate photo, and guesses the
// candidate whose distances correlate best with the k scores. An attacker who
// knows only the records' photos does not know the secret projection, so the
// distances have an error of 3 %.
//
// The attack also works without candidates. A score is linear in the record's
// vector, which consists of projected features z and a histogram v,
//
//	score = Σ z·(−2r_s·z_s) + Σ v·(−r_s·F/2¹⁸·log c) + (Σz² + F·Σ v log v)·r_s + constant
//
// where z_s and c are the projected features and the histogram of the request.
// Least squares over slightly more known vectors than unknowns therefore gives
// r_s, and with it z_s and c.

// guess returns a candidate for every request. `predicted[c]` holds the
// distances of candidate c from the known records.
func guess(v *View, known []int, predicted [][]float64) []int {
	p := measure.Map(predicted, standardised)
	out := make([]int, len(v.Observations))
	for i, s := range v.Observations {
		y := standardised(pick(s.Scores, known))
		// A correlation is the same for any positive scale and any offset.
		correlations := make([]float64, len(p))
		for c, x := range p {
			correlations[c] = simd.Dot(y, x)
		}
		out[i] = simd.MaxIdx(correlations)
	}
	return out
}

func pick[T any](x []T, at []int) []T {
	return measure.Map(at, func(i int) T { return x[i] })
}

func columns(rows [][]float64, at []int) [][]float64 {
	return measure.Map(rows, func(row []float64) []float64 { return pick(row, at) })
}

// pipeline fits the public program to the attacker's photos. It returns the
// resulting function from features to vectors.
func pipeline(ctx context.Context, photos []user.Photo, opt user.Options) (func(*feature.Vectors) (*vector.Vector, error), error) {
	opt.Scheme = cpar.SchemeCAPIA
	b, err := user.Setup(ctx, user.NewKey(cpar.Schemes()...), photos, opt)
	if err != nil {
		return nil, err
	}
	return b.Vector, nil
}

func vectorsOf[V any](ctx context.Context, p func(*feature.Vectors) (V, error), photos []*feature.Vectors) ([]V, error) {
	out := make([]V, len(photos))
	err := measure.Each(ctx, len(photos), func(i int) (err error) {
		out[i], err = p(photos[i])
		return err
	})
	return out, err
}

func compare[R any](records, requests []R, distance func(record, request R) float64) [][]float64 {
	out := make([][]float64, len(requests))
	parallel.For(len(requests), func(i int) {
		out[i] = make([]float64, len(records))
		for j, r := range records {
			out[i][j] = distance(r, requests[i])
		}
	})
	return out
}

func distances(records, requests []*vector.Vector) [][]float64 {
	return compare(records, requests, func(r, q *vector.Vector) float64 {
		return float64(distance.L1Levels(r.Levels, q.Levels))*2/vector.Beta + distance.KL(r.KL, q.KL)
	})
}

// A projected is a photo's vector before encryption: the projected features z
// and the histogram v.
type projected struct {
	z []int16
	v []float64
}

// square returns Σz² + F·Σ v log v, the terms of a score that depend only on
// the record.
func (p *projected) square() float64 {
	sum, unit := 0.0, float64(len(p.z))*vector.Beta/2
	for _, x := range p.z {
		sum += float64(x) * float64(x)
	}
	for _, x := range p.v {
		sum += unit * x * math.Log(x)
	}
	return sum
}

func (p *projected) from(q *projected) float64 {
	return float64(distance.SquaredL2Int(p.z, q.z))/(float64(len(p.z))*vector.Beta/2) + distance.KL(p.v, q.v)
}

func (p *projected) row() []float64 {
	row := make([]float64, 0, len(p.z)+len(p.v)+1)
	for _, x := range p.z {
		row = append(row, float64(x))
	}
	row = append(row, p.v...)
	return append(row, p.square())
}

type solved struct {
	scale float64 // r_s
	z     []float64
}

func solveRequests(v *View, known []int, vectors []*projected) ([]solved, error) {
	y := mat.NewDense(len(known), len(v.Observations), nil)
	for j, s := range v.Observations {
		y.SetCol(j, pick(s.Scores, known))
	}
	x, err := leastSquares(measure.Map(vectors, (*projected).row), y)
	if err != nil {
		return nil, err
	}
	out := make([]solved, len(v.Observations))
	d, _ := x.Dims()
	for j := range out {
		out[j] = solved{scale: x.At(d-1, j), z: make([]float64, len(vectors[0].z))}
		for i := range out[j].z {
			out[j].z[i] = x.At(i, j) / (-2 * out[j].scale)
		}
	}
	return out, nil
}

const readTolerance = 0.01

func judgeSolved(v *View, known int, got []solved, truth []*projected) Row {
	right := count(len(got), func(i int) bool {
		z := truth[i].row()[:len(truth[i].z)]
		return simd.Distance(got[i].z, z, 2) <= readTolerance*simd.Norm(z, 2)
	})
	return proportion("request-solved", v.Scheme, known, right, len(got), 0)
}

// ridge regularises the fit, because columns may be dependent: the bins of a
// histogram sum to 1. Its effect is far smaller than the effect of noise.
const ridge = 1e-9

// leastSquares finds x with `rows`·x + constant ≈ y for every column of y,
// where the constants are unknown. `rows` is k×d, y is k×t, and the result is
// d×t.
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
		if !(deviation > 0) { // deviation may be NaN, because rounding may yield the root of a negative number
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
	right.Mul(centred.T(), y) // the rows are centred, so subtracting y's mean would change nothing
	if err := chol.SolveTo(&x, &right); err != nil {
		return nil, fmt.Errorf("solving by least squares: %w", err)
	}
	x.Apply(func(j, _ int, v float64) float64 { return v / scale[j] }, &x)
	return &x, nil
}
