package attack

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	simd "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Matching records to the photos of a public collection, with no known pairs.
//
// Record i has a row of k scores, one for each of k requests for unknown
// photos. A photo has a row of distances to R photos that the attacker picks.
// Both rows sample the same geometry, provided that users request photos
// similar to those they store. The two matrices therefore have nearly the same
// leading eigenvectors, up to signs. Record i is matched with the photo whose
// coordinates in these eigenvectors are nearest.
//
// Every choice of signs for the first few eigenvectors is a start. Eigenvectors
// with nearly equal singular values are arbitrary rotations of each other, so
// random rotations that mix these are further starts. From each start, the attack
// alternates between finding the nearest photo of each record and fitting the
// rotation between the two bases to these pairs. It then extends the best starts
// by a few eigenvectors at a time (as ZoomOut does for surfaces: Melzi and
// others, ACM Trans. Graph. 38, 2019) and keeps the one that brings records
// nearest to photos. If there are few requests, the eigenvectors are inaccurate.
// A wrong start then stays wrong, and hardly any record is matched correctly.

// spectrum returns the p leading left singular vectors of the n×k matrix of
// standardised columns, as an n×p matrix. Each vector is multiplied by its
// singular value and divided by √k. Standardising the columns removes the
// secret scale and offset of a request.
func spectrum(columns [][]float64, p int) (*mat.Dense, error) {
	k, n := len(columns), len(columns[0])
	x := mat.NewDense(k, n, nil)
	for j, c := range columns {
		x.SetRow(j, standardised(c))
	}
	var gram mat.SymDense
	gram.SymOuterK(1/float64(k), x)
	var eig mat.EigenSym
	if !eig.Factorize(&gram, true) {
		return nil, fmt.Errorf("taking eigenvectors of %d requests", k)
	}
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	p = min(p, k)
	basis := mat.NewDense(k, p, nil)
	for j := range p {
		for i := range k {
			basis.Set(i, j, vectors.At(i, k-1-j)/math.Sqrt(float64(k)))
		}
	}
	out := mat.NewDense(n, p, nil)
	out.Mul(x.T(), basis)
	return out, nil
}

// standardised returns x with mean 0 and variance 1, or zeros if x is constant.
func standardised(x []float64) []float64 {
	mean, deviation := stat.PopMeanStdDev(x, nil)
	out := make([]float64, len(x))
	if deviation > 0 {
		for i, v := range x {
			out[i] = (v - mean) / deviation
		}
	}
	return out
}

const (
	// matchStart is the number of eigenvectors that a start rotates.
	matchStart = 6
	// matchStarts is the number of starts, and matchBest the number of starts
	// that are extended.
	matchStarts, matchBest = 256, 8
	// matchMix is the relative difference of two singular values up to which
	// starts mainly mix their eigenvectors.
	matchMix = 0.05
	// matchMax is the maximum number of eigenvectors used.
	matchMax = 60
	// matchSample is the number of records on which starts are compared.
	matchSample = 400
)

// match returns a photo for every record. `scores[j]` holds every record's
// score for request j. `distances[j]` holds every photo's distance to the
// attacker's jth photo.
func match(scores, distances [][]float64) ([]int, error) {
	p := min(matchMax, len(scores), len(distances))
	records, err := spectrum(scores, p)
	if err != nil {
		return nil, err
	}
	photos, err := spectrum(distances, p)
	if err != nil {
		return nil, err
	}
	best, err := bestStart(records, photos)
	if err != nil {
		return nil, err
	}
	best.near, _ = nearestRows(records, photos, best.c)
	return best.near, best.improve(records, photos, slices.Repeat([]int{p}, 8))
}

// bestStart maps the records' eigenvectors to the photos'. It improves every
// start on a sample of the records, the best quarter further, and extends the
// best of these to all eigenvectors. It returns the start that brings the sample
// nearest to `photos`.
func bestStart(records, photos *mat.Dense) (start, error) {
	n, p := records.Dims()
	some := sample(n, matchSample, 1)
	few := mat.NewDense(len(some), p, nil)
	for i, r := range some {
		few.SetRow(i, records.RawRowView(r))
	}
	small, size := min(matchStart, p), min(matchStart+4, p)
	starts, r := make([]start, matchStarts), rand.New(rand.NewPCG(1, 2))
	for i := range starts {
		c, err := startMap(r, i, records, photos, small)
		if err != nil {
			return start{}, err
		}
		starts[i].near, _ = nearestRows(few, photos, c)
	}
	for _, stage := range []struct {
		best  int
		sizes []int
	}{{matchStarts / 4, growing(small, size)}, {matchBest, slices.Repeat([]int{size}, 8)}, {1, growing(size, p)}} {
		for i := range starts {
			if err := starts[i].improve(few, photos, stage.sizes); err != nil {
				return start{}, err
			}
		}
		slices.SortStableFunc(starts, func(a, b start) int { return cmp.Compare(a.gap, b.gap) })
		starts = starts[:stage.best]
	}
	return starts[0], nil
}

// startMap returns the ith choice of signs for the first `size` eigenvectors. For
// a larger i, it returns a random rotation that mixes eigenvectors with nearly
// equal singular values, which are the lengths of the columns.
func startMap(r *rand.Rand, i int, records, photos *mat.Dense, size int) (*mat.Dense, error) {
	x := mat.NewDense(size, size, nil)
	for j := range size {
		x.Set(j, j, float64(1-2*(i>>j&1)))
		for k := 0; i>>size > 0 && k < size; k++ {
			apart := math.Log(mat.Norm(records.ColView(j), 2)/mat.Norm(photos.ColView(k), 2)) / matchMix
			x.Set(j, k, r.NormFloat64()*math.Exp(-apart*apart/2))
		}
	}
	return rotation(x)
}

func growing(from, to int) (sizes []int) {
	for ; from < to; from += 1 + from/6 {
		sizes = append(sizes, from)
	}
	return append(sizes, to)
}

type start struct {
	c    *mat.Dense
	near []int
	gap  float64
}

func (s *start) improve(records, photos *mat.Dense, sizes []int) (err error) {
	for _, size := range sizes {
		if s.c, err = fitMap(records, photos, s.near, size); err != nil {
			return err
		}
		s.near, s.gap = nearestRows(records, photos, s.c)
	}
	return nil
}

// fitMap returns the rotation of the first `size` coordinates that brings the
// records nearest to their matched photos.
func fitMap(records, photos *mat.Dense, near []int, size int) (*mat.Dense, error) {
	n, _ := records.Dims()
	picked := mat.NewDense(n, size, nil)
	for i, j := range near {
		picked.SetRow(i, photos.RawRowView(j)[:size])
	}
	var cross mat.Dense
	cross.Mul(records.Slice(0, n, 0, size).T(), picked)
	return rotation(&cross)
}

// rotation returns the orthogonal matrix nearest to x.
func rotation(x mat.Matrix) (*mat.Dense, error) {
	var svd mat.SVD
	if !svd.Factorize(x, mat.SVDThin) {
		n, _ := x.Dims()
		return nil, fmt.Errorf("fitting a rotation of %d coordinates", n)
	}
	var u, v, c mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	c.Mul(&u, v.T())
	return &c, nil
}

// nearestRows returns the nearest row of `photos` for each row of records·c,
// and the sum of the squared distances.
func nearestRows(records, photos, c *mat.Dense) ([]int, float64) {
	size, to := c.Dims()
	n, _ := records.Dims()
	m, _ := photos.Dims()
	var mapped, products mat.Dense
	mapped.Mul(records.Slice(0, n, 0, size), c)
	b := photos.Slice(0, m, 0, to)
	products.Mul(&mapped, b.T())
	norms := make([]float64, m)
	for j := range norms {
		x := photos.RawRowView(j)[:to]
		norms[j] = simd.Dot(x, x) / 2
	}
	out, gap := make([]int, n), 0.0
	for i := range out {
		row, record := products.RawRowView(i), mapped.RawRowView(i)
		simd.Sub(row, norms)
		out[i] = simd.MaxIdx(row)
		gap += simd.Dot(record, record) - 2*row[out[i]]
	}
	return out, gap
}
