package ive

import (
	"fmt"
	"math"

	"cpar"
	"cpar/internal/seed"
)

// The noise of a score. Before multiplication by the key, record and request
// are x = w·V + e and y = w_s·V_s + e_s, with noise |e| ≤ 19 and scales w =
// 2^RecordShift and w_s = 2^RequestShift. Then
//
//	⟨C, t⟩ = ⟨x, y⟩ = w·w_s·⟨V, V_s⟩ + w·⟨V, e_s⟩ + w_s·⟨e, V_s⟩ + ⟨e, e_s⟩  (mod 2⁶⁴)
//
// so after division by w·w_s the score errs by at most
//
//	19·‖V‖₁/w_s + 19·‖V_s‖₁/w + 361·m/(w·w_s)      [WorstNoise]
//
// A slot (an element) without noise on one side does not count in the other
// side's norm. Two conditions are both necessary:
//
//	(|⟨V, V_s⟩| + noise)·w·w_s < 2⁶³              nothing wraps  [Fits]
//	noise < the smallest difference that matters  order survives
//
// The usual condition w > 2·max|e| implies neither.
const (
	NoiseBound = seed.GaussianBound

	// DistanceShift is log₂ w = log₂ w_s for ciphertexts of distances. 2¹⁴ is
	// the largest scale at which scores of distances in [0, 22] (package
	// scorevector) fit: they take 61.8 of 63 bits. At 2¹⁶, scores wrap.
	DistanceShift = 14

	// ScaleBits sets the range of a request's scale r_s, which is uniform in
	// [2¹⁰, 2¹¹).
	ScaleBits = 10
	MaxScale  = 1<<(ScaleBits+1) - 1

	// EpsilonBound is the maximum |ε|, the random term of a record. A score
	// contains 3ε ≤ 49,152, whereas a unit of distance is at least 6.6·10⁸. At
	// twice this bound, ranks change.
	EpsilonBound = 1 << 14
)

// WorstNoise bounds |score - ⟨V, V_s⟩| before rounding. Parameter `record` is
// Σ|V[i]| over slots with noise in the request, and `request` is Σ|V_s[i]|
// over slots with noise in the record.
func (p Params) WorstNoise(record, request float64) float64 {
	w, ws := math.Ldexp(1, int(p.RecordShift)), math.Ldexp(1, int(p.RequestShift))
	return NoiseBound*(record/ws+request/w) + NoiseBound*NoiseBound*float64(p.Dim)/(w*ws)
}

// Fits returns an error if scores of absolute value up to `score` with errors
// up to `noise` could wrap.
func (p Params) Fits(score, noise float64) error {
	if err := p.Validate(); err != nil {
		return err
	}
	bits := p.Bits(score, noise)
	if !(bits < 63) { // also rejects NaN
		return fmt.Errorf("scores need %.2f bits of 63: %w", bits, cpar.ErrInput)
	}
	return nil
}

// Bits returns log₂ of the largest scaled score under these bounds of score
// and noise. Below 63, scores are read correctly.
func (p Params) Bits(score, noise float64) float64 {
	return math.Log2(score+noise) + float64(p.RecordShift+p.RequestShift)
}
