package ive

import (
	"fmt"

	"cpar/internal/modq"
	"cpar/internal/seed"
)

// A Key holds the matrix S in factors:
//
//	S⁻¹ = P₁·L·D·U·P₂
//
// with permutations P₁ and P₂, a unit lower triangular L, a unit upper
// triangular U, and a diagonal D of odd 64-bit words. Odd words are invertible
// modulo 2⁶⁴, so every factor is invertible. Neither records nor requests need
// a matrix inverse: S⁻¹x (records) multiplies by the triangles, and Sᵀy
// (requests) solves with their transposes. Both take m² multiplications and
// read the factors row by row. The permutations hide which element of a
// vector, whose order is public, belongs to which row of a triangle.
//
// A Key holds 8·m² bytes, is safe for concurrent use and prints as redacted.
type Key struct {
	seed.Redacted
	params Params
	// lower and upper hold the strict triangles row by row. Row i has i words
	// in `lower` and m-1-i words in `upper`.
	lower, upper []uint64
	diag, unDiag []uint64
	// (P₁a)[i] = a[left[i]], (P₂x)[i] = x[right[i]].
	left, right []int
}

// NewKey derives the key deterministically from `secret` and the dimension,
// but not from the plaintext scales.
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
