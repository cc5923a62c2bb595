package ive

import (
	"fmt"

	"cpar/internal/modq"
	"cpar/internal/seed"
)

// Key is S in factors:
//
//	S⁻¹ = P₁·L·D·U·P₂
//
// with permutations P₁, P₂, a unit lower triangular L, a unit upper triangular U and a
// diagonal D of odd words. Each factor is invertible modulo 2⁶⁴ (as odd words are), so
// every such product is, and neither direction needs a matrix inverse: S⁻¹x multiplies by
// the triangles, Sᵀy solves with their transposes. Both take m² multiplications and read
// the factors row by row.
//
// The permutations separate the order of slots, which is public, from the order of elimination.
//
// A Key holds 8·m² bytes, is safe for concurrent use and prints redacted.
type Key struct {
	seed.Redacted
	params Params
	// lower and upper hold the strict triangles, row after row: row i of lower
	// has the i words left of the diagonal, row i of upper the m-1-i right of it.
	lower, upper []uint64
	diag, unDiag []uint64
	// (P₁a)[i] = a[left[i]], (P₂x)[i] = x[right[i]].
	left, right []int
}

// NewKey derives the key from secret; the same secret and dimension give the same key.
// The plaintext scales do not enter the derivation.
func NewKey(secret [seed.Size]byte, p Params) (*Key, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("making an encryption key: %w", err)
	}
	m := p.Dim
	part := func(name string) *seed.Stream {
		return seed.New(seed.Derive(secret, "ive/key/"+name, seed.Number(uint64(m))))
	}
	k := &Key{
		params: p,
		lower:  make([]uint64, m*(m-1)/2),
		upper:  make([]uint64, m*(m-1)/2),
		diag:   make([]uint64, m),
		unDiag: make([]uint64, m),
		left:   part("left").Perm(m),
		right:  part("right").Perm(m),
	}
	part("lower").Words(k.lower)
	part("upper").Words(k.upper)
	part("diagonal").Words(k.diag)
	for i := range k.diag {
		k.diag[i] |= 1
		k.unDiag[i] = modq.InverseOdd(k.diag[i])
	}
	return k, nil
}

// Params returns the parameters the key was made with.
func (k *Key) Params() Params { return k.params }

func (k *Key) lowerRow(i int) []uint64 {
	start := i * (i - 1) / 2
	return k.lower[start : start+i]
}

func (k *Key) upperRow(i int) []uint64 {
	m := k.params.Dim
	start := i*(m-1) - i*(i-1)/2
	return k.upper[start : start+m-1-i]
}
