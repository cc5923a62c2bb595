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
// q is s·z rounded, halves to even, z the Johnson–Lindenstrauss vector, s = 9/√m̂ (a quarter for
// the paper's 1296), so that G = F·s² = 40,459.5 units are one unit of distance
// whatever m̂ is. a is A·v rounded so that Σa = A; b = β·(log c − mean) rounded,
// A·β = G/2, mean that of the request's logarithms. Subtracting it halves the
// request's norm, and Σa = A makes it a constant that the owner adds again.
//
// # What can wrap
//
// The norms are constants: nothing about them is learnt from the records, which
// they would tell about.
//
//	‖q‖² ≤ maxSquare, else q is shortened towards the baseline, on both sides alike
//	‖a‖ ≤ A, since Σa = A and no element is below 0
//	‖b‖² ≤ 48·(β·7/2 + 1/2)² < 244,100: 48 logarithms within [−7, 0], as
//	‖log c − mean‖ ≤ √48·7/2, and each rounded by 1/2 at most
//	0 ≤ Σq²/2 ≤ 220,000 and −78,400 ≤ (G/2)·Σ (a/A)·log(a/A) ≤ 0
//
// maxSquare is a distance of 10.87 from the baseline; photos of Corel-5k lie 4.0
// from it, at most 5.5, blank images 6.2 (package combined).
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
// of the number of its steps. At m̂ = 1296, where s is a quarter, roundings are
// therefore not uniform: a quarter of an odd z is always 1/4 off, so r = 1/16; of an
// even z half are exact and half 1/2 off, so r = 1/8. The L1 part is off by √(D/2G) around
// m̂/8G = 0.0040 between odd photos, up to √(D/G) around m̂/4G = 0.0080 between even
// ones; at D = 3 these spreads are 0.006 and 0.009. Other m̂ have an irrational s, and r is
// 1/12: √(2D/3G) around m̂/6G.
//
// b adds at most A/G = 0.025 and the addend 1/G, and KL is that of a/A, which
// differs from v by less than 1/A in each bin.
const (
	jlNumerator  = 9
	histogramSum = 1000
	centre       = 70000
	logT         = 22
	recordNorm   = 1200
	requestNorm  = 900
	maxAddend    = 150100
	maxSquare    = recordNorm*recordNorm - histogramSum*histogramSum
)

// A quantiser makes vectors of integers from those of package vector.
type quantiser struct {
	jl     int
	scale  float64 // s
	unit   float64 // G
	params lattice.Params
}

// newQuantiser is for Johnson–Lindenstrauss vectors of jl coordinates. block is
// the block width of scheme sealed, 0 for the default.
func newQuantiser(jl, block int) (*quantiser, error) {
	if block == 0 {
		block = lattice.DefaultBlock
	}
	q := &quantiser{jl: jl, scale: jlNumerator / math.Sqrt(float64(jl)), unit: jlNumerator * jlNumerator * vector.Beta / 2.}
	var err error
	q.params, err = lattice.Params{
		Dim: jl + vector.DimensionKL, Block: block, LogT: logT,
		RecordNorm: recordNorm, RequestNorm: requestNorm, Addend: maxAddend,
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
	if err == nil {
		err = fillHistogram(row[q.jl:], v)
	}
	if err != nil {
		return nil, 0, false, fmt.Errorf("laying out a record: %w", err)
	}
	return row, addendOf(square, row[q.jl:], q.unit), clipped, nil
}

// addendOf is the addend of a record: half its squared norm and what its
// histogram adds to every divergence.
func addendOf(square int64, a []int32, unit float64) int64 {
	entropy := 0.0
	for _, x := range a {
		if x > 0 {
			share := float64(x) / histogramSum
			entropy += share * math.Log(share)
		}
	}
	return int64(math.Round(float64(square)/2+unit/2*entropy)) - centre
}

// request lays out a request. own is what makes a distance of its scores.
func (q *quantiser) request(z []int32, c []float64) (u []int32, own float64, err error) {
	u = make([]int32, q.dim())
	square, _, err := q.project(u, z)
	if err == nil && len(c) != vector.DimensionKL {
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
	return u, float64(square)/2 - q.unit/2*mean + centre, nil
}

// project writes s·z, rounded, into the front of row and returns its square,
// which is at most maxSquare.
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
	if square <= maxSquare {
		return square, false, nil
	}
	by := math.Sqrt(maxSquare / float64(square))
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

// dotSmall is an inner product within 32 bits: the norms bound it by 1,080,000.
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
