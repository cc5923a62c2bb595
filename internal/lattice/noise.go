package lattice

import "math"

// The whole noise budget is here. The owner rounds this to a score:
//
//	Δ·score + Δ_q·Σ e_{g,b}·p_b + Σ (Δ_db·m_{g,b} + e_{g,b})·e′_b + s′·ρ + rest
//
// where ρ is the rounding of the hint. The score is right while everything but the first
// term stays below Δ/2. Every term but the last is sub-Gaussian: E[exp λX] ≤ exp(λ²S²/2).
// A discrete Gaussian around 0 is, with S = σ, and cutting its tails lowers every even
// moment; a uniform element of {−1, 0, 1} is, with S² = 2/3 (compare the power series of
// (1 + 2·cosh λ)/3 and exp(λ²/3)). The three are bounded conditionally, e′ given e and s′
// given both, so the squares of their widths add up, and P[|X| ≥ x] ≤ 2·exp(−x²/2S²).
// Only the noise and s′ are taken to be random: the bound holds for the worst record and
// the worst request within the norms.
//
//	Δ_q·Σ e·p_b        each e meets one element of u    Δ_q·σ·RequestNorm
//	(Δ_db·m + e)·e′    each e′ meets one element of      σ·(Δ_db·√(C·K)·RecordNorm +
//	                   the C·K records, and one e         MaxNoise·√(N·B))
//	s′·ρ               N terms                           √(2N/3)·(2^(LogQ−1−h) + gap)
//	rest               e_g of the addend                 MaxNoise
//	                   Δ·score, negative, modulo Q       gap
//
// h is hintBits, gap what the ring says. Rounding adds gap, since it treats Q as 2^LogQ (see round); replies are not
// rounded. e_{g,b} and e′_b are assumed to be cut off at 6σ.
//
// A request is 0 but in the place of one of the C records of a row, so RecordNorm bounds
// what it meets there, and the score is that of this record alone.
//
// That a score cannot wrap modulo 2^LogT is another matter: Params.Validate (params.go)
// checks it, user/internal/rows/quantise.go argues it for the vectors of each profile.
const (
	// MaxNoise bounds a single sample of the noise: 6σ, rounded down.
	MaxNoise = 19
	// maxLogFailure bounds log₂ of the probability that one score is wrong. A request to
	// a million records then fails once in 2³⁰.
	maxLogFailure = -50
)

// Noise returns the width S of the sub-Gaussian part of the noise, and the bound on the
// rest, both as integers modulo Q.
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

// LogFailure returns log₂ of the bound on the probability that one score is wrong.
func (p Params) LogFailure() float64 {
	width, rest := p.Noise()
	room := math.Exp2(float64(p.LogScale()-1)) - rest
	if room <= 0 {
		return 1
	}
	return 1 - room*room/(2*width*width)*math.Log2E
}
