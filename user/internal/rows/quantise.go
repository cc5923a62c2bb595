// Package rows is the common part of schemes sealed and local.
//
//	z, histogram  ─▶ Quantiser ─▶ row (int16), addend
//	row, request  ─▶ score = ⟨row, request⟩ + addend ─▶ Dis
//	rows, Cipher  ─▶ Builder ─▶ segments of units (groups or blocks) and keywords
//	ledger        ─▶ Index ─▶ requests, neighbours
//
// Packages sealed and local implement Cipher.
package rows

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cpar"
	"cpar/internal/lattice"
	"cpar/model/vector"
	"cpar/model/vectorlayout"
)

// The vectors of schemes sealed and local consist of small integers. Their
// inner product gives Dis, the sum of an L1 distance and the KL divergence of
// two histograms, up to the error stated below. The `addend` is a constant of
// the record, `own` a constant of the request. Subtracting `centre` moves
// addends to around 0.
//
//	record   [ q (m̂) | a (48) ]   addend = Σq²/2 + (G/2)·Σ (a/A)·log(a/A) − centre, rounded
//	request  [ −q′   | −b     ]   own    = Σq′²/2 − (G/2)·mean + centre
//
//	score = ⟨record, request⟩ + addend        Dis = 2·(score + own)/G
//
// q is s·z rounded half to even, where z is the Johnson–Lindenstrauss (JL)
// vector of m̂ coordinates. G units of ‖q − q′‖² equal one unit of distance.
// With a histogram, s = S/√m̂, and G = 499.5·S² for every m̂, because 499.5
// quantisation levels of a feature are one unit. a is A·v, where v is the
// record's histogram, rounded such that Σa = A. b is β·(log c − mean) rounded,
// where c is the request's histogram, A·β = G/2, and mean is the mean of the
// logarithms. Subtracting the mean halves the request's norm. As Σa = A, the
// mean contributes a constant, which the owner adds back. A profile without a
// histogram has only q, and G = 1,000,000·s².
//
// Scheme local uses fine steps: S = 13.5 (s = 3/8 for the paper's m̂ = 1296)
// and A = 1000 with a histogram, and s = 1 without a histogram. Scheme sealed
// uses steps about eight times coarser, because every bit of a score costs a
// bit of the modulus, and a larger modulus lowers the security of the ring.
//
// # Wrapping
//
// The norm bounds are constants, because bounds learnt from the records would
// leak information. Where there are two values, the first is for fine steps
// and the second for coarse steps:
//
//	‖q‖² ≤ maxSquare, because a longer q is shortened, in records and requests alike
//	‖a‖ ≤ A, since Σa = A and no element is below 0
//	‖b‖² ≤ 48·(β·7/2 + 1/2)² < 1,226,100 or 16,758, as 48 logarithms within [−7, 0] give
//	‖log c − mean‖ ≤ √48·7/2, and rounding adds at most 1/2 to each
//	0 ≤ Σq²/2 ≤ 495,500 or 6,463 and −176,300 or −2,293 ≤ (G/2)·Σ (a/A)·log(a/A) ≤ 0
//
// maxSquare corresponds to a distance of 10.9 from the baseline, the common
// reference point from which z is measured. Photos of the collection Corel-5k
// reach a distance of 5.5, and blank images 6.2. Without a histogram, z has
// norm 1000 before rounding. Fine steps do not lengthen shorter vectors, so 0
// ≤ Σq²/2 ≤ 508,100. Coarse steps lengthen them to norm 125, so Σq²/2 lies
// within 252 of 125²/2.
//
// # Error
//
// Σ(q−q′)² is exact for the rounded vectors, so copies of a photo have L1
// distance 0. Rounding changes each difference q−q′ by at most 1. With D =
// ‖z−z′‖²/F, where F squared JL units are one unit of distance, the L1 part
// errs by at most 2·√(m̂·D/G) + m̂/G.
//
// The typical error is smaller. If rounding has mean squares r and r′ per coordinate,
// the error has mean m̂(r+r′)/G, the same for all records, and a standard deviation of
// about √(4D(r+r′)/G). At r = r′ ≈ 1/12, m̂ = 1296 and D = 3, mean and deviation are
// 0.0024 and 0.0047, or 0.18 and 0.04 with coarse steps.
//
// Rounding b adds an error of at most A/G = 0.011 (0.096 with coarse steps).
// Rounding the addend adds at most 1/G. KL is computed from a/A, which differs
// from v by less than 1/A per bin.

// A layout holds quantisation steps and norm bounds, in the notation above.
type layout struct {
	scale                   float64 // S with a histogram, s without
	histogramSum            int64   // A
	recordNorm, requestNorm int64
	minSquare, maxSquare    int64 // bounds of Σq². A shorter q is lengthened to unitNorm.
	unitNorm                float64
	centre, maxAddend       int64
	logT                    int
	block                   int
}

var (
	fineL1KL = layout{scale: 13.5, histogramSum: 1000, recordNorm: 1411, requestNorm: 1489, maxSquare: 1411*1411 - 1000*1000,
		centre: 159600, maxAddend: 336000}
	coarseL1KL = layout{scale: 1.54, histogramSum: 114, recordNorm: 161, requestNorm: 173, maxSquare: 161*161 - 114*114,
		centre: 2085, maxAddend: 4380, logT: 16, block: lattice.DefaultBlock}
	// These layouts have no histogram. Narrow blocks suit their few dimensions.
	fineL2   = layout{scale: 1, recordNorm: 1006, requestNorm: 1006, maxSquare: 1006 * 1006, centre: 254000, maxAddend: 254100}
	coarseL2 = layout{scale: 1. / 8, recordNorm: 127, requestNorm: 127, minSquare: 2 * (7812 - 252), maxSquare: 127*127 - 1, unitNorm: 125,
		centre: 7812, maxAddend: 252, logT: 15, block: 32}
)

// A Quantiser makes rows and requests from the vectors of one layout.
type Quantiser struct {
	jl, bins int
	scale    float64 // s
	unit     float64 // G
	layout   layout
}

func NewQuantiser(vectors vectorlayout.Params, coarse bool) *Quantiser {
	q := &Quantiser{jl: vectors.JL, bins: vectors.KL}
	switch {
	case q.bins > 0 && coarse:
		q.layout = coarseL1KL
	case q.bins > 0:
		q.layout = fineL1KL
	case coarse:
		q.layout = coarseL2
	default:
		q.layout = fineL2
	}
	q.scale, q.unit = q.layout.scale, vectors.Unit*q.layout.scale*q.layout.scale
	if q.bins > 0 {
		q.scale, q.unit = q.layout.scale/math.Sqrt(float64(q.jl)), q.layout.scale*q.layout.scale*vector.Beta/2.
	}
	return q
}

func (q *Quantiser) Dim() int { return q.jl + q.bins }

// Lattice returns scheme sealed's parameters for these rows. A `block` width
// of 0 selects the default. Parameter logCells is log₂ of the number of cells.
// A row packs one record of each cell.
func (q *Quantiser) Lattice(block int, careful bool, logCells int) (lattice.Params, error) {
	dim := q.Dim()
	if logCells > 0 {
		dim = lattice.SlotDim(dim) << logCells
	}
	p := lattice.Params{
		LogN: lattice.Fast.LogN, Dim: dim, LogSlots: logCells, Block: cmp.Or(block, q.layout.block), LogT: q.layout.logT,
		RecordNorm: q.layout.recordNorm, RequestNorm: q.layout.requestNorm, Addend: q.layout.maxAddend,
	}
	if careful {
		p.LogN = lattice.Careful.LogN
	}
	return p.Balance()
}

// Fits reports whether a row and its addend are within the bounds of the layout.
func (q *Quantiser) Fits(row []int16, addend int64) bool {
	return squaredNorm(row) <= q.layout.recordNorm*q.layout.recordNorm && addend <= q.layout.maxAddend && addend >= -q.layout.maxAddend
}

func (q *Quantiser) perLog() float64 { return q.unit / 2 / float64(q.layout.histogramSum) }

// Record returns a record's row and addend. It shortens vectors that are
// longer than any photograph's.
func (q *Quantiser) Record(z []int16, v []float64) (row []int16, addend int64, err error) {
	row = make([]int16, q.Dim())
	square, err := q.bounded(row, z)
	if err == nil && (q.bins > 0 || len(v) > 0) {
		err = fillHistogram(row[q.jl:], v, q.layout.histogramSum)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("laying out a record: %w", err)
	}
	return row, q.addend(square, row[q.jl:]), nil
}

func (q *Quantiser) addend(square int64, a []int16) int64 {
	entropy := 0.0
	for _, x := range a {
		if x > 0 {
			share := float64(x) / float64(q.layout.histogramSum)
			entropy += share * math.Log(share)
		}
	}
	addend := int64(math.Round(float64(square)/2+q.unit/2*entropy)) - q.layout.centre
	// The bound is exceeded only by a shortened vector whose coordinates are
	// all rounded in one direction.
	return min(max(addend, -q.layout.maxAddend), q.layout.maxAddend)
}

// Request returns a request's vector u, and the constant `own`, with which Dis
// converts scores to distances.
func (q *Quantiser) Request(z []int16, c []float64) (u []int16, own float64, err error) {
	u = make([]int16, q.Dim())
	square, err := q.bounded(u, z)
	if err == nil && len(c) != q.bins {
		err = fmt.Errorf("%w: a histogram of %d bins", cpar.ErrInput, len(c))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("laying out a request: %w", err)
	}
	logs, mean := make([]float64, len(c)), 0.0
	for i, x := range c {
		logs[i] = math.Log(x)
		if !(x <= 1 && -logs[i] <= vectorlayout.MaxLog) { // also rejects 0, negative and NaN
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

// bounded writes s·z, rounded and rescaled to the norm bounds, to the front of
// row, and returns its squared norm.
func (q *Quantiser) bounded(row, z []int16) (square int64, err error) {
	if len(z) != q.jl {
		return 0, fmt.Errorf("%w: %d projected coordinates, want %d", cpar.ErrInput, len(z), q.jl)
	}
	scale := q.scale
	square = q.scaled(row, z, scale)
	if square < q.layout.minSquare {
		norm := math.Sqrt(float64(squaredNorm(z)))
		if norm == 0 { // z has no direction, so use the first axis
			row[0] = int16(q.layout.unitNorm)
			return squaredNorm(row[:q.jl]), nil
		}
		scale = q.layout.unitNorm / norm
		square = q.scaled(row, z, scale)
	}
	if square <= q.layout.maxSquare {
		return square, nil
	}
	by := math.Sqrt(float64(q.layout.maxSquare) / float64(square))
	square = 0
	for i, x := range z {
		short := int64(math.RoundToEven(float64(x)*scale) * by) // round towards 0, so that the norm cannot exceed the bound
		row[i] = int16(short)
		square += short * short
	}
	return square, nil
}

// scaled writes scale·z, rounded, and returns its squared norm, which exceeds
// every bound if a value overflows int16.
func (q *Quantiser) scaled(row, z []int16, scale float64) (square int64) {
	for i, x := range z {
		// Round half to even, because scaled integers often end in one half.
		// If all were rounded away from 0, the errors would add up.
		r := int64(math.RoundToEven(float64(x) * scale))
		row[i] = int16(r)
		square += r * r
	}
	return square
}

// Clamps reports whether Record rescales z.
func (q *Quantiser) Clamps(z []int16) bool {
	square := q.scaled(make([]int16, len(z)), z, q.scale)
	return square > q.layout.maxSquare || square < q.layout.minSquare
}

func squaredNorm(v []int16) (s int64) {
	for _, x := range v {
		s += int64(x) * int64(x)
	}
	return s
}

// fillHistogram writes A·v, rounded to integers with sum A.
func fillHistogram(a []int16, v []float64, sum int64) error {
	if len(v) != len(a) {
		return fmt.Errorf("%w: a histogram of %d bins, want %d", cpar.ErrInput, len(v), len(a))
	}
	left := int(sum)
	lost := make([]int, len(v)) // bins, later sorted by decreasing loss
	for i, x := range v {
		if !(x >= 0 && x <= 1) {
			return fmt.Errorf("%w: histogram bin %d is not within 0 and 1", cpar.ErrInput, i)
		}
		a[i] = int16(x * float64(sum))
		left -= int(a[i])
		lost[i] = i
	}
	if left < 0 || left > len(a) {
		return fmt.Errorf("%w: the histogram does not sum to 1", cpar.ErrInput)
	}
	loss := func(i int) float64 { return v[i]*float64(sum) - float64(a[i]) }
	slices.SortStableFunc(lost, func(i, j int) int { return cmp.Compare(loss(j), loss(i)) })
	for _, i := range lost[:left] {
		a[i]++
	}
	return nil
}

// Dis converts a score to a distance, which is at least 0 despite rounding.
func (q *Quantiser) Dis(score int64, own float64) float64 {
	return max(0, 2*(float64(score)+own)/q.unit)
}
