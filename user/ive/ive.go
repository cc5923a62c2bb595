// Package ive implements the paper's inner-product vector encryption: integer
// vectors modulo q = 2⁶⁴ whose inner products are public.
//
//	key      S, a random invertible m×m matrix modulo 2⁶⁴
//	record   V ∈ Zᵐ   ─▶  C = S⁻¹(w·V + e)       m 64-bit words, stored by the server
//	request  V_s ∈ Zᵐ ─▶  t = Sᵀ(w_s·V_s + e_s)  m 64-bit words, sent to the server
//	score    ⟨C, t⟩ / (w·w_s) = ⟨V, V_s⟩ + noise, a signed integer
//
// w = 2^RecordShift and w_s = 2^RequestShift are the plaintext scales. The
// noise e, e_s is discrete Gaussian with σ = 3.2, cut off at ±19. The score is
// correct if its true value times w·w_s stays below 2⁶³. See budget.go.
//
// The paper sends C(V_s) = S_s⁻¹(w·V_s + e_s) under a new key S_s for each
// request, and the server multiplies it by SᵀS_s. The product is t. Sending t
// directly costs the server m multiplications per record instead of m² + m and
// reveals less. Package letter implements the paper's form and tests that both
// agree word for word.
//
// The scheme is asymmetric scalar-product-preserving encryption (Wong et al.,
// SIGMOD 2009) with noise. By design, anyone with the ciphertexts of a record
// and a request can compute their inner product. The scheme is linear, so a
// server that knows enough records in plaintext can solve for the rest. The
// noise is part of the definition and does not prevent this.
package ive

import (
	"fmt"

	"cpar"
	"cpar/internal/modq"
)

// maxDim limits a key's memory of 8·m² bytes.
const maxDim = 1 << 14

// Params are the public parameters of a family of ciphertexts.
type Params struct {
	Dim          int  // m, elements of a vector
	RecordShift  uint // log₂ w
	RequestShift uint // log₂ w_s
}

// Validate rejects parameters under which no score is readable. Errors wrap
// cpar.ErrInput.
func (p Params) Validate() error {
	if p.Dim < 1 || p.Dim > maxDim {
		return fmt.Errorf("dimension %d outside 1 to %d: %w", p.Dim, maxDim, cpar.ErrInput)
	}
	if p.RecordShift > 62 || p.RequestShift > 62 || p.RecordShift+p.RequestShift > 62 {
		return fmt.Errorf("plaintext scales 2^%d and 2^%d leave no room for a score in 63 bits: %w",
			p.RecordShift, p.RequestShift, cpar.ErrInput)
	}
	return nil
}

// Score returns ⟨V, V_s⟩ + noise for ciphertexts c of a record and t of a
// request, p.Dim words each. It needs no key.
func (p Params) Score(c, t []uint64) int64 {
	return modq.RoundShift(modq.Dot(c, t), p.RecordShift+p.RequestShift)
}
