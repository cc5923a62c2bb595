package user

import (
	"fmt"
	"math"
	"slices"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/parallel"
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

// A quantised layout: its norms, what its addends are measured from, and t.
type exactLayout struct {
	recordNorm, requestNorm, maxSquare int64
	centre, maxAddend                  int64
	logT                               int
	block                              int // the default block width
}

var (
	// layoutL1KL is of profiles with a histogram.
	layoutL1KL = exactLayout{recordNorm: 1411, requestNorm: 1489, maxSquare: 1411*1411 - histogramSum*histogramSum,
		centre: 159600, maxAddend: 336000, logT: 23, block: lattice.DefaultBlock}
	// layoutL2 is of those without. Narrow blocks suit few dimensions: what is
	// fetched once is 136 bytes a record, a request 92 or 123 kB.
	layoutL2 = exactLayout{recordNorm: 1006, requestNorm: 1006, maxSquare: 1006 * 1006,
		centre: 254000, maxAddend: 254100, logT: 22, block: 32}
)

// A quantiser makes vectors of integers from those of package vector.
type quantiser struct {
	jl, bins int
	scale    float64 // s
	unit     float64 // G
	layout   exactLayout
	params   lattice.Params
}

// newQuantiser is for vectors of a shape. block is the block width of scheme
// sealed, 0 for the default.
func newQuantiser(shape combined.Params, block int) (*quantiser, error) {
	q := &quantiser{jl: shape.JL, bins: shape.KL, scale: 1, unit: shape.Unit, layout: layoutL2}
	if q.bins > 0 {
		q.scale, q.unit, q.layout = jlNumerator/math.Sqrt(float64(q.jl)), jlNumerator*jlNumerator*vector.Beta/2., layoutL1KL
	}
	if block == 0 {
		block = q.layout.block
	}
	var err error
	q.params, err = lattice.Params{
		Dim: q.jl + q.bins, Block: block, LogT: q.layout.logT,
		RecordNorm: q.layout.recordNorm, RequestNorm: q.layout.requestNorm, Addend: q.layout.maxAddend,
	}.Balance()
	return q, err
}

func (q *quantiser) dim() int { return q.params.Dim }

// perLog is β.
func (q *quantiser) perLog() float64 { return q.unit / 2 / histogramSum }

// record lays out a record.
func (q *quantiser) record(z []int32, v []float64) (row []int32, addend int64, clipped bool, err error) {
	row = make([]int32, q.dim())
	square, clipped, err := q.project(row, z)
	if err == nil && (q.bins > 0 || len(v) > 0) {
		err = fillHistogram(row[q.jl:], v)
	}
	if err != nil {
		return nil, 0, false, fmt.Errorf("laying out a record: %w", err)
	}
	return row, q.addend(square, row[q.jl:]), clipped, nil
}

// addend is that of a record: half its squared norm and what its histogram adds to
// every divergence.
func (q *quantiser) addend(square int64, a []int32) int64 {
	entropy := 0.0
	for _, x := range a {
		if x > 0 {
			share := float64(x) / histogramSum
			entropy += share * math.Log(share)
		}
	}
	return int64(math.Round(float64(square)/2+q.unit/2*entropy)) - q.layout.centre
}

// request lays out a request. own is what makes a distance of its scores.
func (q *quantiser) request(z []int32, c []float64) (u []int32, own float64, err error) {
	u = make([]int32, q.dim())
	square, _, err := q.project(u, z)
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
			return nil, 0, fmt.Errorf("laying out a request: %w: histogram bin %d is not that of a smoothed histogram", cpar.ErrInput, i)
		}
		mean += logs[i] / float64(len(c))
	}
	for i := range u[:q.jl] {
		u[i] = -u[i]
	}
	for i, l := range logs {
		u[q.jl+i] = -int32(math.Round(q.perLog() * (l - mean)))
	}
	return u, float64(square)/2 - q.unit/2*mean + float64(q.layout.centre), nil
}

// project writes s·z, rounded, into the front of row and returns its square,
// which is at most the layout's maxSquare.
func (q *quantiser) project(row, z []int32) (square int64, clipped bool, err error) {
	if len(z) != q.jl {
		return 0, false, fmt.Errorf("%w: %d projected coordinates, want %d", cpar.ErrInput, len(z), q.jl)
	}
	if _, err := combined.SquaredNorm(z); err != nil { // refuses what could overflow
		return 0, false, err
	}
	for i, x := range z {
		// Halves to even: a quarter of an even z often ends in a half, and away
		// from 0 they would add up.
		row[i] = int32(math.RoundToEven(float64(x) * q.scale))
	}
	square = squaredNorm(row[:q.jl])
	if square <= q.layout.maxSquare {
		return square, false, nil
	}
	by := math.Sqrt(float64(q.layout.maxSquare) / float64(square))
	for i, x := range row[:q.jl] {
		row[i] = int32(float64(x) * by) // towards 0: the norm cannot end above
	}
	return squaredNorm(row[:q.jl]), true, nil
}

func squaredNorm(v []int32) (s int64) {
	for _, x := range v {
		s += int64(x) * int64(x)
	}
	return s
}

// fillHistogram writes A·v rounded to integers of sum A: down first, then up
// where most was lost.
func fillHistogram(a []int32, v []float64) error {
	if len(v) != len(a) {
		return fmt.Errorf("%w: a histogram of %d bins, want %d", cpar.ErrInput, len(v), len(a))
	}
	left := histogramSum
	lost := make([]int, len(v)) // bins, those that lost most first
	for i, x := range v {
		if !(x >= 0 && x <= 1) {
			return fmt.Errorf("%w: histogram bin %d is not within 0 and 1", cpar.ErrInput, i)
		}
		a[i] = int32(x * histogramSum)
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

// dis is the distance that a score stands for, never below 0.
func (q *quantiser) dis(score int64, own float64) float64 {
	return max(0, 2*(float64(score)+own)/q.unit)
}

// plainRecords are quantised records in the clear.
type plainRecords struct {
	dim     int
	rows    []int16 // dim of each record
	addends []int64
	blocks  uint32 // of scheme local that were read
	clipped int    // of those just quantised
}

func (r *plainRecords) add(row []int32, addend int64) {
	for _, x := range row {
		r.rows = append(r.rows, int16(x)) // norms are below 2¹⁵
	}
	r.addends = append(r.addends, addend)
}

func (r *plainRecords) count() int { return len(r.addends) }

// row is record i.
func (r *plainRecords) row(i int) []int32 {
	out := make([]int32, r.dim)
	for j, x := range r.rows[i*r.dim : (i+1)*r.dim] {
		out[j] = int32(x)
	}
	return out
}

// scores are ⟨record, u⟩ + addend of every record.
func (r *plainRecords) scores(u []int32, workers int) []int64 {
	narrow := make([]int16, len(u))
	for i, x := range u {
		narrow[i] = int16(x)
	}
	out := make([]int64, r.count())
	parallel.Ranges(len(out), workers, func(from, to int) {
		for i := from; i < to; i++ {
			out[i] = int64(dotSmall(r.rows[i*r.dim:(i+1)*r.dim], narrow)) + r.addends[i]
		}
	})
	return out
}

// dotSmall is an inner product within 32 bits: the norms bound it by 2,101,000.
func dotSmall(a, b []int16) int32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 int32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += int32(a[i]) * int32(b[i])
		s1 += int32(a[i+1]) * int32(b[i+1])
		s2 += int32(a[i+2]) * int32(b[i+2])
		s3 += int32(a[i+3]) * int32(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

// A scored is a record and its score.
type scored struct {
	record uint32
	score  int64
}

// nearestScores are the l least scores, in ascending order of (score, record),
// of the records that skip does not name.
func nearestScores(scores []int64, l int, skip func(record int) bool) []scored {
	var out []scored
	for i, s := range scores {
		if len(out) == l && s >= out[l-1].score || skip(i) {
			continue
		}
		at, _ := slices.BinarySearchFunc(out, s, func(x scored, s int64) int {
			if x.score <= s { // an earlier record goes first
				return -1
			}
			return 1
		})
		out = slices.Insert(out, at, scored{uint32(i), s})
		out = out[:min(len(out), l)]
	}
	return out
}
