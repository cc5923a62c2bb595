package lattice

import "math"

// This file computes the noise budget, in the notation of doc.go. The owner
// rounds this to a score:
//
//	Δ·score + Δ_q·Σ e_{g,b}·p_b + Σ (Δ_db·m_{g,b} + e_{g,b})·e′_b + s′·ρ + rest
//
// where ρ is the rounding error of the hint. The score is correct if the noise,
// everything after Δ·score, is below Δ/2. Every noise term but the rest is
// sub-Gaussian of width S: E[exp λX] ≤ exp(λ²S²/2). A discrete Gaussian around
// 0 has S = σ, and cutting its tails lowers every even moment. For a uniform
// element of {−1, 0, 1}, S² = 2/3 (compare the power series of (1 + 2·cosh λ)/3
// and exp(λ²/3)). The second term is bounded for given e, and the third for
// given e and e′. The squares of the three widths therefore add up, and P[|X| ≥
// x] ≤ 2·exp(−x²/2S²). Only the noise and s′ are random, so the bound holds for
// the worst record and request within the norms.
//
//	Δ_q·Σ e·p_b        each e meets one element of u    Δ_q·σ·RequestNorm
//	(Δ_db·m + e)·e′    each e′ meets one element of      σ·(Δ_db·√(C·K)·RecordNorm +
//	                   the C·K records, and one e         MaxNoise·√(N·B))
//	s′·ρ               N terms                           √(2N/3)·(2^(LogQ−1−h) + gap)
//	rest               e_g of the addend                 MaxNoise
//	                   Δ·score, negative, modulo Q       gap
//
// Here h is hintBits, and gap is a property of the ring. Rounding adds gap
// because function round treats Q as 2^LogQ. Replies are not rounded. The
// distributions of e_{g,b} and e′_b are cut off at 6σ.
//
// A request is 0 except at one of the C slots of a row. RecordNorm bounds the
// record in that slot, and the score depends on this record alone.
//
// Params.Validate (params.go) separately checks that a score cannot wrap modulo
// 2^LogT. user/internal/rows/quantise.go shows for each profile that it cannot.
const (
	// MaxNoise bounds one noise sample: 6σ, rounded down.
	MaxNoise = 19
	// maxLogFailure bounds log₂ of the probability of a wrong score. One in 2³⁰
	// requests to a million records then fails.
	maxLogFailure = -50
)

// Noise returns the width S of the sub-Gaussian part of the noise and the bound
// on the rest, both as integers modulo Q.
func (p Params) Noise() (width, rest float64) {
	r := p.Ring()
	recordScale, requestScale := math.Exp2(float64(p.LogRecordScale)), math.Exp2(float64(p.LogRequestScale()))
	recordNorm, requestNorm := p.norms()
	request := requestScale * Sigma * requestNorm
	record := Sigma * (recordScale*math.Sqrt(float64(p.Slots()*p.Records()))*recordNorm +
		MaxNoise*math.Sqrt(float64(r.N*p.Blocks())))
	hint := math.Sqrt(2*float64(r.N)/3) * (math.Exp2(float64(r.LogQ-1-hintBits)) + float64(r.gap))
	return math.Sqrt(request*request + record*record + hint*hint), MaxNoise + float64(r.gap)
}

// LogFailure returns log₂ of the bound on the probability of a wrong score.
func (p Params) LogFailure() float64 {
	width, rest := p.Noise()
	room := math.Exp2(float64(p.LogScale()-1)) - rest
	if room <= 0 {
		return 1
	}
	return 1 - room*room/(2*width*width)*math.Log2E
}
