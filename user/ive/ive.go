// Package ive is integer vector encryption modulo q = 2⁶⁴ with inner products revealed:
// anyone with two ciphertexts can read the inner product of their plaintexts, and nothing
// here prevents that.
//
//	key      S, a random invertible m×m matrix modulo 2⁶⁴
//	record   V ∈ Zᵐ   ─▶  C = S⁻¹(w·V + e)       m words, stored by the cloud
//	request  V_s ∈ Zᵐ ─▶  t = Sᵀ(w_s·V_s + e_s)  m words, sent to the cloud
//	score    ⟨C, t⟩ / (w·w_s) = ⟨V, V_s⟩ + noise, a signed integer
//
// w = 2^RecordShift, w_s = 2^RequestShift, and e, e_s are discrete Gaussian with σ = 3.2,
// cut off at ±19. The score is correct if its true value times w·w_s stays below 2⁶³: see
// budget.go.
//
// The paper sends C(V_s) = S_s⁻¹(w·V_s + e_s) under a key S_s of its own for each
// request, and lets the cloud multiply by SᵀS_s. The product is t. Sending t itself costs
// the cloud m multiplications per record instead of m² + m, and tells it less. Package letter
// has the unfolded form, and a test that both agree word for word.
//
// Its limits: this is asymmetric scalar-product-preserving encryption with noise. It is
// linear, so a cloud that knows enough records in the clear solves for the rest. The
// noise is part of the definition, not a defence.
package ive

import (
	"fmt"

	"cpar"
	"cpar/internal/modq"
)

// maxDim bounds the memory of a key: 8·m² bytes.
const maxDim = 1 << 14

// Params are the public parameters of a family of ciphertexts.
type Params struct {
	Dim          int  // m, elements of a vector
	RecordShift  uint // log₂ w
	RequestShift uint // log₂ w_s
}

// Validate refuses parameters under which no score could be read. Errors wrap cpar.ErrInput.
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

// Score returns ⟨V, V_s⟩ + noise for a record's ciphertext c and a request's t, both of
// p.Dim words. It needs no key: the cloud computes the same.
func (p Params) Score(c, t []uint64) int64 {
	return modq.RoundShift(modq.Dot(c, t), p.RecordShift+p.RequestShift)
}
