package attack

import (
	"cmp"
	"fmt"
	"math"
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
// Every choice of signs for the first few eigenvectors is a start. From each
// start, the attack alternates between finding the nearest photo of each record
// and fitting the rotation between the two bases to these pairs. It then
// extends the best start by a few eigenvectors at a time (as ZoomOut does for
// surfaces: Melzi and others, ACM Trans. Graph. 38, 2019). If there are few
// requests, the eigenvectors are inaccurate. A wrong start then stays wrong,
// and hardly any record is matched correctly.

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
	// matchStart is the number of eigenvectors whose signs are all tried.
	matchStart = 6
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
	c, err := bestStart(records, photos)
	if err != nil {
		return nil, err
	}
	near, _ := nearestRows(records, photos, c)
	for size, _ := c.Dims(); ; size = min(p, size+1+size/6) {
		if c, err = fitMap(records, photos, near, size); err != nil {
			return nil, err
		}
		if near, _ = nearestRows(records, photos, c); size == p {
			return near, nil
		}
	}
}

// bestStart maps the records' leading eigenvectors to the photos'. It improves
// every start on a sample of the records, and the best eighth further. It
// returns the map that brings the sample nearest to `photos`.
func bestStart(records, photos *mat.Dense) (*mat.Dense, error) {
	n, p := records.Dims()
	some := sample(n, matchSample, 1)
	few := mat.NewDense(len(some), p, nil)
	for i, r := range some {
		few.SetRow(i, records.RawRowView(r))
	}
	small, size := min(matchStart, p), min(matchStart+4, p)
	starts := make([]start, 1<<small)
	for signs := range starts {
		c := mat.NewDense(small, small, nil)
		for j := range small {
			c.Set(j, j, float64(1-2*(signs>>j&1)))
		}
		starts[signs].near, _ = nearestRows(few, photos, c)
	}
	for _, rounds := range []int{size - small + 1, 8} {
		for i := range starts {
			if err := starts[i].improve(few, photos, rounds, small, size); err != nil {
				return nil, err
			}
		}
		slices.SortStableFunc(starts, func(a, b start) int { return cmp.Compare(a.gap, b.gap) })
		starts = starts[:max(1, len(starts)/8)]
	}
	return starts[0].c, nil
}

type start struct {
	c    *mat.Dense
	near []int
	gap  float64
}

func (s *start) improve(few, photos *mat.Dense, rounds, small, size int) (err error) {
	if s.c != nil {
		small, _ = s.c.Dims()
	}
	for round := range rounds {
		if s.c, err = fitMap(few, photos, s.near, min(size, small+round)); err != nil {
			return err
		}
		s.near, s.gap = nearestRows(few, photos, s.c)
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
	var svd mat.SVD
	if !svd.Factorize(&cross, mat.SVDThin) {
		return nil, fmt.Errorf("fitting a rotation of %d coordinates", size)
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	c := mat.NewDense(size, size, nil)
	c.Mul(&u, v.T())
	return c, nil
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
