package attack

import (
	"context"
	"math"
	"slices"

	simd "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"cpar/eval/measure"
	"cpar/model/vector"
	"cpar/model/vectorlayout"
	"cpar/user"
	"cpar/user/ive"
)

// Slopes: recovering the secret scales r_s of several requests for one photo,
// exactly and with no prior knowledge.
//
// A record's scores for several requests for one photo are
//
//	r_s·x − 3ε + (rounding of the request's logarithms) + noise,   x = F·Dis − r
//
// Here Dis is the distance, F a public factor, r a secret offset and ε a random
// element of the record. All requests for the photo have the same x and ε. The
// slope of one request's scores over another's is therefore r_s/r_s′, a
// fraction of two integers from 1,024 to 2,047. Rounding dominates the error: a
// logarithm is off by up to ½, and it is multiplied by a histogram bin of up to
// 2¹⁸. On Corel-5k about sixteen fractions are within this error, too many for
// two requests. Each further request is consistent with one wrong r_s in forty,
// so three or four requests are enough. Slopes give the r_s up to a common
// factor, and usually only one factor puts them in range. Twenty records do as
// well as 4,500, because rounding does not average out.
//
// The effect of rounding can be removed if many photos are requested more than
// once. The effect is a combination of 48 columns, the records' histogram bins,
// which are the same in every request. ε adds one column. If scores of one
// request are regressed on another's, the residuals span these columns. Slopes
// computed outside their span are more accurate, and so are the next residuals.
// After several rounds two requests are enough, up to common factors.
//
// Once r_s is known, scores give all distances up to the offset r. Requests for
// an indexed photo also give r, because the photo's smallest distance is 0.

// distancesBySlopes returns x for every request and record, or nil for requests
// where it fails. It detects repeated requests. If `log` is set, it uses all
// requests in the view to remove the effect of rounding from the slopes.
func distancesBySlopes(v *View, log bool) [][]float64 {
	var photos [][]int
	var groups []*mat.Dense
	for _, at := range groupByPhoto(v) {
		if len(at) < 2 {
			continue
		}
		rows := mat.NewDense(len(at), v.Records, nil)
		for a, i := range at {
			rows.SetRow(a, v.Observations[i].Scores)
		}
		photos, groups = append(photos, at), append(groups, rows)
	}
	var basis *mat.Dense
	if log && len(groups) > 0 {
		basis = roundings(groups)
	}
	out := make([][]float64, len(v.Observations))
	for g, rows := range groups {
		scales := wholeScales(slopes(outside(rows, basis)))
		if scales == nil {
			continue
		}
		x, square := make([]float64, v.Records), 0.0
		for a, s := range scales {
			simd.AddScaled(x, s, rows.RawRowView(a))
			square += s * s
		}
		simd.Scale(1/square, x)
		for _, i := range photos[g] {
			out[i] = x
		}
	}
	return out
}

// proportionalTolerance bounds the difference between the scores of two
// requests for one photo, after the request with higher scores is scaled to the
// other. In each request, a rounding error of up to ½ per logarithm is
// multiplied by a histogram bin, and bins sum to 2¹⁸. Scores for different
// photos differ hundreds of times more.
const proportionalTolerance = 1 << vectorlayout.ValueBits

// groupByPhoto groups the requests by photo. It considers two requests to be
// for one photo if their scores are proportional up to rounding.
func groupByPhoto(v *View) [][]int {
	var photos [][]int
	for i, s := range v.Observations {
		p := slices.IndexFunc(photos, func(at []int) bool { return proportional(s.Scores, v.Observations[at[0]].Scores) })
		if p < 0 {
			photos = append(photos, []int{i})
			continue
		}
		photos[p] = append(photos[p], i)
	}
	return photos
}

func proportional(a, b []float64) bool {
	aa, ab, bb := simd.Dot(a, a), simd.Dot(a, b), simd.Dot(b, b)
	if aa > bb {
		a, b, bb = b, a, aa
	}
	left := 0.0
	for i, x := range a {
		off := x - ab/bb*b[i]
		left += off * off
	}
	return left <= proportionalTolerance*proportionalTolerance*float64(len(a))
}

// slopes returns values proportional to the r_s of requests for one photo,
// given one row of scores per request.
func slopes(rows *mat.Dense) []float64 {
	k, n := rows.Dims()
	sum, out := mat.NewVecDense(n, nil), mat.NewVecDense(k, nil)
	for a := range k {
		sum.AddVec(sum, rows.RowView(a))
	}
	out.MulVec(rows, sum)
	return out.RawVector().Data
}

// wholeScales returns integers in the range of r_s that are most nearly
// proportional to `slopes`. It tries all values of the first integer, which
// determines the others. It returns any of the best fits, or nil if no fit is
// in range.
func wholeScales(slopes []float64) []float64 {
	var best []float64
	least := math.Inf(1)
	for first := 1 << ive.ScaleBits; first <= ive.MaxScale; first++ {
		scales, inRange := make([]float64, len(slopes)), true
		for a, s := range slopes {
			scales[a] = math.Round(float64(first) * s / slopes[0])
			inRange = inRange && scales[a] >= 1<<ive.ScaleBits && scales[a] <= ive.MaxScale
		}
		if !inRange {
			continue
		}
		by, off := simd.Dot(scales, slopes)/simd.Dot(scales, scales), 0.0
		for a, s := range slopes {
			off += (s - by*scales[a]) * (s - by*scales[a])
		}
		if off < least {
			best, least = scales, off
		}
	}
	return best
}

const (
	// maxRoundings is the number of dimensions that rounding affects: one per
	// histogram bin, one for ε, and one spare.
	maxRoundings = vector.DimensionKL + 2
	// roundingsStep is the number of dimensions that each round adds. Adding
	// all at once would also remove part of x, because the first slopes are
	// inaccurate and leave part of x in the residuals.
	roundingsStep = 5
)

// roundings returns an orthonormal n×p basis of the effect of rounding and ε on
// scores, given the k×n scores of each photo. The basis includes the mean of
// all scores, because regression hides the effect along x, and x is mostly this
// mean.
func roundings(groups []*mat.Dense) *mat.Dense {
	_, n := groups[0].Dims()
	mean := mat.NewDense(1, n, nil)
	for _, rows := range groups {
		k, _ := rows.Dims()
		for a := range k {
			simd.Add(mean.RawRowView(0), rows.RawRowView(a))
		}
	}
	common := leading(mean, 1)
	basis := common
	for size := roundingsStep; size <= maxRoundings; size += roundingsStep {
		var left []float64
		for _, rows := range groups {
			k, _ := rows.Dims()
			s := slopes(outside(rows, basis))
			for a := range k - 1 {
				at := len(left)
				left = append(left, rows.RawRowView(a)...)
				simd.AddScaled(left[at:], -s[a]/s[k-1], rows.RawRowView(k-1))
			}
		}
		found := leading(outside(mat.NewDense(len(left)/n, n, left), common), size)
		both := new(mat.Dense)
		both.Augment(common, found)
		basis = both
	}
	return basis
}

func outside(rows, basis *mat.Dense) *mat.Dense {
	if basis == nil {
		return rows
	}
	var along, out mat.Dense
	along.Mul(rows, basis)
	out.Mul(&along, basis.T())
	out.Sub(rows, &out)
	return &out
}

// leading returns an orthonormal n×p basis of the directions along which the
// rows of an m×n matrix are longest. It returns fewer directions if the rank is
// below p.
func leading(rows *mat.Dense, p int) *mat.Dense {
	m, n := rows.Dims()
	var gram mat.SymDense
	gram.SymOuterK(1, rows)
	var eig mat.EigenSym
	if !eig.Factorize(&gram, true) {
		return mat.NewDense(n, 1, nil) // there is no direction
	}
	var vectors, out mat.Dense
	eig.VectorsTo(&vectors)
	squares := eig.Values(nil) // ascending
	p = min(p, m)
	for p > 1 && squares[m-p] < squares[m-1]*1e-12 { // floating-point error
		p--
	}
	out.Mul(rows.T(), vectors.Slice(0, m, m-p, m))
	for j := range p {
		by := 1 / math.Sqrt(squares[m-p+j])
		for i := range n {
			out.Set(i, j, out.At(i, j)*by)
		}
	}
	return &out
}

const (
	repeatedPhotos = 200
	copiedPhotos   = 20
	// spreadTolerance is the accuracy required of distances up to the offset r,
	// as a share of the spread of distances. It is half the effect of the
	// smallest error of r_s.
	spreadTolerance = 0.5 / ive.MaxScale
	// distanceTolerance is the accuracy required once r is known, in units of
	// distance.
	distanceTolerance = 5e-4
)

var repeatedTimes = []int{2, 3, 4, 5}

// repeated recovers distances from repeated requests. It counts the r_s as
// right if the distances are right up to r. For indexed photos it also recovers
// r.
func (r *run) repeated(ctx context.Context, t *Target) error {
	times := repeatedTimes
	if t != r.targets[0] {
		times = times[1:2]
	}
	most := times[len(times)-1]
	photos := min(repeatedPhotos, len(r.test))
	v, truth, err := r.repeatView(ctx, t, r.c.Test[:photos], r.test, most)
	if err != nil {
		return err
	}
	for _, k := range times {
		some := &View{Scheme: v.Scheme, StoredIndex: v.StoredIndex, Observations: v.Observations[:k*photos]}
		for _, by := range []struct {
			name string
			log  bool
		}{{"scale-slopes", false}, {"scale-slopes-log", true}} {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.add(proportion(by.name, v.Scheme, k, readUpToOffset(distancesBySlopes(some, by.log), truth), photos, 1.0/1024))
		}
	}
	copies := min(copiedPhotos, len(r.train))
	if v, truth, err = r.repeatView(ctx, t, r.c.Train[:copies], r.train, most); err != nil {
		return err
	}
	r.add(proportion("offset-slopes", v.Scheme, most, readWhole(distancesBySlopes(v, true), truth, distanceTolerance*r.unit()), copies, 2*distanceTolerance/0.5))
	return nil
}

// repeatView returns the view of several rounds of requests for photos, and the
// distance of each photo from every record, times F. The vectors of the photos
// come first in `vectors`.
func (r *run) repeatView(ctx context.Context, t *Target, photos []user.Photo, vectors []*projected, times int) (*View, [][]float64, error) {
	v, _, err := t.view(ctx, slices.Repeat(measure.FeaturesOf(photos), times), false)
	if err != nil {
		return nil, nil, err
	}
	return v, compare(pick(r.train, t.TrainIndex), vectors[:len(photos)], func(p, q *projected) float64 { return r.unit() * p.from(q) }), nil
}

// readUpToOffset counts the photos whose distances were recovered up to r.
// `got` has one entry per request, beginning with the first round.
func readUpToOffset(got, truth [][]float64) int {
	return count(len(truth), func(j int) bool {
		want := truth[j]
		return got[j] != nil && stat.PopStdDev(simd.SubTo(make([]float64, len(want)), got[j], want), nil) <= spreadTolerance*stat.PopStdDev(want, nil)
	})
}

// readWhole counts the photos whose distances are all within the tolerance. It
// chooses r so that the smallest distance is 0.
func readWhole(got, truth [][]float64, to float64) int {
	return count(len(truth), func(j int) bool {
		if got[j] == nil {
			return false
		}
		simd.AddConst(-slices.Min(got[j]), got[j])
		return simd.Distance(got[j], truth[j], math.Inf(1)) <= to
	})
}
