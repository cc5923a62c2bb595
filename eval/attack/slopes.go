package attack

import (
	"context"
	"math"
	"slices"

	simd "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"cpar/user"
	"cpar/user/combined"
	"cpar/user/ive"
	"cpar/user/vector"
)

// Slopes: r_s of requests for one photo, exactly, with nothing known.
//
// A record's scores of several requests for one photo are
//
//	r_s·x − 3ε + (what rounding the request's logarithms does) + noise,   x = F·Dis − r
//
// with the same x and ε, so the slope of one request's scores over another's is
// r_s/r_s′, a fraction of whole numbers from 1,024 to 2,047. How many requests does
// it take?
//
//   - Rounding decides. A logarithm is off by up to ½ and meets a bin of up to 2¹⁸;
//     on Corel-5k the 48 of them move a slope by 9·10⁻⁶ (root mean square). Some
//     sixteen fractions are as near as that, too many for two requests. Of the 1,024
//     values of one r_s each further request fits one in forty by chance, so three or
//     four requests are enough.
//   - Slopes give the r_s up to a common factor. Were they exact, only one factor
//     would be in range with a chance of 80, 96.6, 99.5 and 99.9 % for 2, 3, 4 and
//     5 requests.
//   - Records hardly matter: twenty of them do as well as 4,500, since rounding does
//     not average out.
//
// Rounding goes away where many photos are asked about more than once. It adds to
// the scores a combination of 48 columns, the records' histograms, the same in every
// request; ε is one more. What regression leaves of the scores shows the space of
// these columns. Outside of it slopes are better, so is what they leave, and in the
// end they are good to 10⁻⁹: two requests do, but for common factors.
//
// With r_s known scores are distances in whole, up to r. Requests for a photo that
// is indexed give r as well: its least distance is 0.

// bySlopes reads x of the photo of every request, a number for each record; nil
// where it does not. It finds out by itself which requests are for one photo.
// With log the whole view is used to take roundings out of each photo's slopes.
func bySlopes(v *View, log bool) [][]float64 {
	var photos [][]int
	var groups []*mat.Dense
	for _, at := range askedAgain(v) {
		if len(at) < 2 {
			continue
		}
		rows := mat.NewDense(len(at), v.Records, nil)
		for a, i := range at {
			rows.SetRow(a, v.Seen[i].Scores)
		}
		photos, groups = append(photos, at), append(groups, rows)
	}
	var basis *mat.Dense
	if log && len(groups) > 0 {
		basis = roundings(groups)
	}
	out := make([][]float64, len(v.Seen))
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

// proportionalTo is what the scores of two requests for one photo differ by at most,
// the lower multiplied up to the higher: rounding, ½ a logarithm, meets bins that
// sum to 2¹⁸, in each of them. Other photos' differ by hundreds of times as much.
const proportionalTo = 1 << combined.ValueBits

// askedAgain divides the requests by photo: the scores of two are proportional, up
// to rounding, if they are for one.
func askedAgain(v *View) [][]int {
	var photos [][]int
	for i, s := range v.Seen {
		found := false
		for p, at := range photos {
			if found = proportional(s.Scores, v.Seen[at[0]].Scores); found {
				photos[p] = append(at, i)
				break
			}
		}
		if !found {
			photos = append(photos, []int{i})
		}
	}
	return photos
}

func proportional(a, b []float64) bool {
	aa, ab, bb := dot(a, a), dot(a, b), dot(b, b)
	if aa > bb {
		a, b, bb = b, a, aa
	}
	left := 0.0
	for i, x := range a {
		off := x - ab/bb*b[i]
		left += off * off
	}
	return left <= proportionalTo*proportionalTo*float64(len(a))
}

// slopes are proportional to the r_s of requests for one photo, whose scores are rows.
func slopes(rows *mat.Dense) []float64 {
	k, n := rows.Dims()
	sum := make([]float64, n)
	for a := range k {
		simd.Add(sum, rows.RawRowView(a))
	}
	out := make([]float64, k)
	for a := range out {
		out[a] = dot(rows.RawRowView(a), sum)
	}
	return out
}

// wholeScales are whole numbers in the range of r_s, in the direction nearest to that
// of slopes: all values of the first are tried, and the others follow. Where several
// multiples fit alike it takes any. Nil if none is in range.
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
		by, off := dot(scales, slopes)/dot(scales, scales), 0.0
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
	// mostRoundings is the dimension of the space: a bin each, ε, and one to spare.
	mostRoundings = vector.DimensionKL + 2
	// moreRoundings are taken out at a time. All at once they would also take out
	// what the first slopes, still poor, leave of x.
	moreRoundings = 5
)

// roundings is an orthonormal basis, n×p, of what rounding and ε add to scores, from
// the scores of each photo, k×n. The mean of all scores is in it as well: regression
// hides what the space has along x, and most of every x is this mean.
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
	for size := moreRoundings; size <= mostRoundings; size += moreRoundings {
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

// outside is rows without their parts in the span of basis; nil spans nothing.
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

// leading is an orthonormal basis, n×p, of the p directions in which rows, m×n, are
// longest, or of as many as there are.
func leading(rows *mat.Dense, p int) *mat.Dense {
	m, n := rows.Dims()
	var gram mat.SymDense
	gram.SymOuterK(1, rows)
	var eig mat.EigenSym
	if !eig.Factorize(&gram, true) {
		return mat.NewDense(n, 1, nil) // spans nothing
	}
	var vectors, out mat.Dense
	eig.VectorsTo(&vectors)
	squares := eig.Values(nil) // ascending
	p = min(p, m)
	for p > 1 && squares[m-p] < squares[m-1]*1e-12 { // rounding of our own
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
	// repeatedPhotos are asked about repeatedly, and copiedPhotos that are indexed.
	repeatedPhotos = 200
	copiedPhotos   = 20
	// spreadTo is how near distances must be read up to r, as a share of their spread:
	// half of what the least error of r_s does. distanceTo is how near with r, in
	// units of distance.
	spreadTo   = 0.5 / ive.MaxScale
	distanceTo = 5e-4
)

// repeatedTimes is how often each is asked about.
var repeatedTimes = []int{2, 3, 4, 5}

// repeated reads the distances of photos that are asked about repeatedly, r_s of
// whose requests is right if they are right up to r; and r too, of photos that are
// indexed.
func (r *run) repeated(ctx context.Context, t *Target) error {
	times := repeatedTimes
	if t != r.targets[0] {
		times = times[1:2]
	}
	most := times[len(times)-1]
	photos := min(repeatedPhotos, len(r.test))
	v, truth, err := r.askRepeatedly(ctx, t, r.c.Test[:photos], r.test, most)
	if err != nil {
		return err
	}
	for _, k := range times {
		some := &View{Scheme: v.Scheme, Stored: v.Stored, Seen: v.Seen[:k*photos]}
		for _, by := range []struct {
			name string
			log  bool
		}{{"scale-slopes", false}, {"scale-slopes-log", true}} {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.add(proportion(by.name, v.Scheme, k, readUpToOffset(bySlopes(some, by.log), truth), photos, 1.0/1024))
		}
	}
	copies := min(copiedPhotos, len(r.train))
	if v, truth, err = r.askRepeatedly(ctx, t, r.c.Train[:copies], r.train, most); err != nil {
		return err
	}
	// r lies in half of F.
	r.add(proportion("offset-slopes", v.Scheme, most, readWhole(bySlopes(v, true), truth, distanceTo*r.unit()), copies, 2*distanceTo/0.5))
	return nil
}

// askRepeatedly is the view of so many rounds of requests for photos, and how far
// each of these is from every record, times F. vectors begin with those of photos.
func (r *run) askRepeatedly(ctx context.Context, t *Target, photos []user.Image, vectors []*projected, times int) (*View, [][]float64, error) {
	v, _, err := t.view(ctx, slices.Repeat(raw(photos), times), false)
	if err != nil {
		return nil, nil, err
	}
	truth := make([][]float64, len(photos))
	return v, truth, each(ctx, len(photos), func(j int) error {
		for _, place := range t.Place {
			truth[j] = append(truth[j], r.unit()*r.train[place].from(vectors[j]))
		}
		return nil
	})
}

// readUpToOffset counts the photos whose distances were read, up to r. got is what
// was read of each request, those of the first round first.
func readUpToOffset(got, truth [][]float64) int {
	right := 0
	for j, want := range truth {
		if got[j] != nil && spread(simd.SubTo(make([]float64, len(want)), got[j], want)) <= spreadTo*spread(want) {
			right++
		}
	}
	return right
}

// readWhole counts the photos of which every distance was read to within to, r being
// what makes the least distance 0.
func readWhole(got, truth [][]float64, to float64) int {
	right := 0
	for j, want := range truth {
		if got[j] == nil {
			continue
		}
		simd.AddConst(-slices.Min(got[j]), got[j])
		if simd.Distance(got[j], want, math.Inf(1)) <= to {
			right++
		}
	}
	return right
}

// spread is the standard deviation.
func spread(x []float64) float64 { return math.Sqrt(stat.PopVariance(x, nil)) }
