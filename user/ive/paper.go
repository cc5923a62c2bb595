package ive

import (
	"fmt"

	"cpar"
	"cpar/internal/modq"
)

// Unfolded is a request as the paper sends it: a ciphertext under a key of its own, and
// the matrix that converts it to the records' key. The pipeline sends Fold of it instead;
// this form exists to show that they are equivalent.
type Unfolded struct {
	Params     Params
	Ciphertext []uint64 // C(V_s) = S_s⁻¹(w·V_s + e_s), m words
	Evaluation []uint64 // SᵀS_s, m×m words, row after row
}

// EncryptUnfolded encrypts v under requestKey, which must be fresh for every request, and
// computes the evaluation matrix from it to k. It takes 2·m³ multiplications.
func (k *Key) EncryptUnfolded(requestKey *Key, v []int64, noise *Noise, quiet ...int) (*Unfolded, error) {
	m := k.params.Dim
	if requestKey == nil || requestKey.params.Dim != m {
		return nil, fmt.Errorf("encrypting a request under its own key: the dimensions differ: %w", cpar.ErrInput)
	}
	u := &Unfolded{Params: k.params, Ciphertext: make([]uint64, m), Evaluation: make([]uint64, m*m)}
	err := requestKey.encrypt("request", requestKey.applyInverse, k.params.RequestShift, u.Ciphertext, v, noise, quiet)
	if err != nil {
		return nil, err
	}
	column := make([]uint64, m)
	for j := range m {
		clear(column)
		column[j] = 1
		requestKey.apply(column, column)
		k.applyTranspose(column, column)
		for i, x := range column {
			u.Evaluation[i*m+j] = x
		}
	}
	return u, nil
}

// Fold multiplies out SᵀS_s·C(V_s) = Sᵀ(w·V_s + e_s): the words of EncryptRequest for the
// same vector and noise.
func (u *Unfolded) Fold() []uint64 {
	m := len(u.Ciphertext)
	t := make([]uint64, m)
	for i := range t {
		t[i] = modq.Dot(u.Evaluation[i*m:(i+1)*m], u.Ciphertext)
	}
	return t
}

// Score returns the paper's score of a record: Cᵀ·(SᵀS_s)·C(V_s), divided by w·w_s.
func (u *Unfolded) Score(c []uint64) int64 { return u.Params.Score(c, u.Fold()) }
