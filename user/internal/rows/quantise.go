// Package rows is what schemes sealed and local have in common: the small integers
// that a photo becomes, how they are compared, and an index that can grow.
//
//	z, histogram ─▶ Quantiser ─▶ row (int16), addend
//	row, request ─▶ score = ⟨row, request⟩ + addend ─▶ Dis
//	Index        records in units (groups, blocks), some of them removed, their keywords
//
// Packages sealed and local encrypt the rows, each in its own way.
package rows

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cpar"
	"cpar/internal/lattice"
	"cpar/user/combined"
	"cpar/user/vector"
)

// The vector of schemes sealed and local: small integers whose inner product
// with those of a request gives Dis up to a stated error.
//
//	record   [ q (m̂) | a (48) ]   addend = Σq²/2 + (G/2)·Σ (a/A)·log(a/A) − centre, rounded
//	request  [ −q′   | −b     ]   own    = Σq′²/2 − (G/2)·mean + centre
//
//	score = ⟨record, request⟩ + addend        Dis = 2·(score + own)/G
//
// q is s·z rounded, halves to even, z the Johnson–Lindenstrauss vector, s = 13.5/√m̂ (three
// eighths for the paper's 1296), so that G = F·s² = 91,033.875 units are one unit of
// distance whatever m̂ is. a is A·v rounded so that Σa = A; b = β·(log c − mean) rounded,
// A·β = G/2, mean that of the request's logarithms. Subtracting it halves the
// request's norm, and Σa = A makes it a constant that the owner adds again.
//
// A profile without a histogram has q alone: z itself (s = 1), of norm 1000 and what
// rounding adds, and G = F = 1,000,000.
//
// # What can wrap
//
// The norms are constants: nothing about them is learnt from the records, which
// they would tell about.
//
//	‖q‖² ≤ maxSquare, else q is shortened towards the baseline, on both sides alike
//	‖a‖ ≤ A, since Σa = A and no element is below 0
//	‖b‖² ≤ 48·(β·7/2 + 1/2)² < 1,226,100: 48 logarithms within [−7, 0], as
//	‖log c − mean‖ ≤ √48·7/2, and each rounded by 1/2 at most
//	0 ≤ Σq²/2 ≤ 495,500 and −176,300 ≤ (G/2)·Σ (a/A)·log(a/A) ≤ 0
//
// maxSquare is a distance of 10.88 from the baseline; photos of Corel-5k lie 4.0
// from it, at most 5.5, blank images 6.2 (package combined). Without a histogram
// ‖q‖ ≤ 1000 + √128/2, and 0 ≤ Σq²/2 ≤ 508,100.
//
// # The error
//
// Σ(q−q′)² is exact for the rounded vectors, so copies of a photo are at distance
// 0 in the L1 part. Rounding moves each difference by at most 1, so with
// D = ‖z−z′‖²/F the L1 part is off by at most 2·√(m̂·D/G) + m̂/G.
//
// Mostly it is off by less, as two photos that are not alike are rounded
// independently: with mean squares r and r′ of what rounding moves a coordinate by,
// about √(4D(r+r′)/G) around m̂(r+r′)/G. All coordinates of one z have one parity, that
// of the number of its steps. At m̂ = 1296, where s is three eighths, roundings are
// therefore not quite uniform: of an odd z they are odd eighths, r = 5/64; of an even z
// fourths, r = 6/64. Other m̂ have an irrational s, and r is 1/12. The L1 part is off by
// about √(2D/3G) around m̂/6G = 0.0024; at D = 3 that spread is 0.0047.
//
// b adds at most A/G = 0.011 and the addend 1/G, and KL is that of a/A, which
// differs from v by less than 1/A in each bin.
const (
	jlNumerator  = 13.5
	histogramSum = 1000
)

// A layout has the norms of rows and requests, what addends are measured from, and t.
type layout struct {
	recordNorm, requestNorm, maxSquare int64
	centre, maxAddend                  int64
	logT                               int
	block                              int // the default block width
}

var (
	// layoutL1KL is for profiles with a histogram.
	layoutL1KL = layout{recordNorm: 1411, requestNorm: 1489, maxSquare: 1411*1411 - histogramSum*histogramSum,
		centre: 159600, maxAddend: 336000, logT: 23, block: lattice.DefaultBlock}
	// layoutL2 is for profiles without. Narrow blocks suit few dimensions: what is
	// fetched once is 136 bytes a record, a request 92 or 123 kB.
	layoutL2 = layout{recordNorm: 1006, requestNorm: 1006, maxSquare: 1006 * 1006,
		centre: 254000, maxAddend: 254100, logT: 22, block: 32}
)

// A Quantiser makes rows and requests of the vectors of one layout.
type Quantiser struct {
	jl, bins int
	scale    float64 // s
	unit     float64 // G
	layout   layout
}

// NewQuantiser is for vectors of a layout.
func NewQuantiser(vectors combined.Params) *Quantiser {
	q := &Quantiser{jl: vectors.JL, bins: vectors.KL, scale: 1, unit: vectors.Unit, layout: layoutL2}
	if q.bins > 0 {
		q.scale, q.unit, q.layout = jlNumerator/math.Sqrt(float64(q.jl)), jlNumerator*jlNumerator*vector.Beta/2., layoutL1KL
	}
	return q
}

// Dim is the number of coordinates of a row.
func (q *Quantiser) Dim() int { return q.jl + q.bins }

// Lattice are the parameters under which scheme sealed encrypts the rows. block is
// its block width, 0 for the default.
func (q *Quantiser) Lattice(block int) (lattice.Params, error) {
	return lattice.Params{
		Dim: q.Dim(), Block: cmp.Or(block, q.layout.block), LogT: q.layout.logT,
		RecordNorm: q.layout.recordNorm, RequestNorm: q.layout.requestNorm, Addend: q.layout.maxAddend,
	}.Balance()
}

// Fits reports whether a row and addend are within the bounds that scores rely on.
func (q *Quantiser) Fits(row []int16, addend int64) bool {
	return squaredNorm(row) <= q.layout.recordNorm*q.layout.recordNorm && addend <= q.layout.maxAddend && addend >= -q.layout.maxAddend
}

// perLog is β.
func (q *Quantiser) perLog() float64 { return q.unit / 2 / histogramSum }

// Record lays out a record. Its vector is shortened where it is unlike the vector of any
// photograph (Clamps).
func (q *Quantiser) Record(z []int16, v []float64) (row []int16, addend int64, err error) {
	row = make([]int16, q.Dim())
	square, err := q.shorten(row, z)
	if err == nil && (q.bins > 0 || len(v) > 0) {
		err = fillHistogram(row[q.jl:], v)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("laying out a record: %w", err)
	}
	return row, q.addend(square, row[q.jl:]), nil
}

// addend makes a record's addend: half its squared norm and what its histogram adds to
// every divergence.
func (q *Quantiser) addend(square int64, a []int16) int64 {
	entropy := 0.0
	for _, x := range a {
		if x > 0 {
			share := float64(x) / histogramSum
			entropy += share * math.Log(share)
		}
	}
	return int64(math.Round(float64(square)/2+q.unit/2*entropy)) - q.layout.centre
}

// Request lays out a request. own is what makes a distance of its scores.
func (q *Quantiser) Request(z []int16, c []float64) (u []int16, own float64, err error) {
	u = make([]int16, q.Dim())
	square, err := q.shorten(u, z)
	if err == nil && len(c) != q.bins {
		err = fmt.Errorf("%w: a histogram of %d bins", cpar.ErrInput, len(c))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("laying out a request: %w", err)
	}
	logs, mean := make([]float64, len(c)), 0.0
	for i, x := range c {
		logs[i] = math.Log(x)
		if !(x <= 1 && -logs[i] <= combined.MaxLog) { // also refuses 0, negative and NaN
			return nil, 0, fmt.Errorf("laying out a request: %w: histogram bin %d was not smoothed", cpar.ErrInput, i)
		}
		mean += logs[i] / float64(len(c))
	}
	for i := range u[:q.jl] {
		u[i] = -u[i]
	}
	for i, l := range logs {
		u[q.jl+i] = -int16(math.Round(q.perLog() * (l - mean)))
	}
	return u, float64(square)/2 - q.unit/2*mean + float64(q.layout.centre), nil
}

// shorten writes s·z, rounded, to the front of row and returns its square, which is
// at most the layout's maxSquare: a vector that is longer is shortened.
func (q *Quantiser) shorten(row, z []int16) (square int64, err error) {
	if len(z) != q.jl {
		return 0, fmt.Errorf("%w: %d projected coordinates, want %d", cpar.ErrInput, len(z), q.jl)
	}
	if square = q.scaled(row, z); square <= q.layout.maxSquare {
		return square, nil
	}
	by := math.Sqrt(float64(q.layout.maxSquare) / float64(square))
	square = 0
	for i, x := range z {
		short := int64(math.RoundToEven(float64(x)*q.scale) * by) // towards 0: the norm cannot end above
		row[i] = int16(short)
		square += short * short
	}
	return square, nil
}

// scaled writes s·z, rounded, and returns its square. A number that int16 cannot
// hold makes a square far beyond every bound, and row is not used then.
func (q *Quantiser) scaled(row, z []int16) (square int64) {
	for i, x := range z {
		// Halves to even: a quarter of an even z often ends in a half, and away
		// from 0 they would add up.
		r := int64(math.RoundToEven(float64(x) * q.scale))
		row[i] = int16(r)
		square += r * r
	}
	return square
}

// Clamps reports whether the vector of a photo is shortened, which photographs are
// not.
func (q *Quantiser) Clamps(z []int16) bool {
	return q.scaled(make([]int16, len(z)), z) > q.layout.maxSquare
}

func squaredNorm(v []int16) (s int64) {
	for _, x := range v {
		s += int64(x) * int64(x)
	}
	return s
}

// fillHistogram writes A·v rounded to integers of sum A: down first, then up
// where most was lost.
func fillHistogram(a []int16, v []float64) error {
	if len(v) != len(a) {
		return fmt.Errorf("%w: a histogram of %d bins, want %d", cpar.ErrInput, len(v), len(a))
	}
	left := histogramSum
	lost := make([]int, len(v)) // bins, those that lost most first
	for i, x := range v {
		if !(x >= 0 && x <= 1) {
			return fmt.Errorf("%w: histogram bin %d is not within 0 and 1", cpar.ErrInput, i)
		}
		a[i] = int16(x * histogramSum)
		left -= int(a[i])
		lost[i] = i
	}
	if left < 0 || left > len(a) {
		return fmt.Errorf("%w: the histogram does not sum to 1", cpar.ErrInput)
	}
	loss := func(i int) float64 { return v[i]*histogramSum - float64(a[i]) }
	slices.SortStableFunc(lost, func(i, j int) int {
		switch {
		case loss(i) > loss(j):
			return -1
		case loss(i) < loss(j):
			return 1
		}
		return 0
	})
	for _, i := range lost[:left] {
		a[i]++
	}
	return nil
}

// Dis is the distance that a score stands for, never below 0.
func (q *Quantiser) Dis(score int64, own float64) float64 {
	return max(0, 2*(float64(score)+own)/q.unit)
}
