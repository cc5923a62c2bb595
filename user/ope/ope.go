// Package ope implements the paper's order-preserving encryption of levels, the
// quantised values of a field (dimension).
//
//	Key    field, level ─▶ 40-bit ciphertext
//
// Encryption is deterministic, so equal levels of a field have equal ciphertexts
// in an index and in all requests.
//
// A Key is a random order-preserving function for each field. The domain has
// only about a thousand levels, so the function is drawn directly, uniformly
// among all such functions, as a sorted random subset of the range. It leaks
// order, equality and approximate values. The ciphertext of level x lies near
// x·2⁴⁰/1000, with a standard deviation of up to 1.6 % of the range, so the
// first five of a level's ten bits are practically public. By default, an index
// therefore stores ranks (package aspe), which leak only order and equality.
package ope

import (
	"fmt"
	"slices"
	"sync"

	"cpar"
	"cpar/internal/seed"
)

const (
	RangeBits = 40
	// maxBeta keeps the domain far smaller than the range.
	maxBeta = 1 << 16
)

// A Key encrypts levels 0…β of any field. It is safe for concurrent use and
// prints as redacted.
type Key struct {
	seed.Redacted
	secret seed.Secret
	beta   int

	mu     sync.Mutex
	fields map[int][]uint64 // field → ciphertexts of 0…β, made on first use
}

// NewKey derives the key for levels 0…beta from secret. Errors wrap cpar.ErrInput.
func NewKey(secret [seed.Size]byte, beta int) (*Key, error) {
	if beta < 0 || beta > maxBeta {
		return nil, fmt.Errorf("making an order-preserving key: highest level %d outside 0 to %d: %w", beta, maxBeta, cpar.ErrInput)
	}
	return &Key{secret: secret, beta: beta, fields: map[int][]uint64{}}, nil
}

// Encrypt returns the ciphertext of a level, in [0, 2⁴⁰). It is strictly
// increasing within a field. Different fields have unrelated functions.
func (k *Key) Encrypt(field, level int) (uint64, error) {
	if field < 0 || level < 0 || level > k.beta {
		return 0, fmt.Errorf("encrypting level %d of field %d: levels go from 0 to %d: %w", level, field, k.beta, cpar.ErrInput)
	}
	return k.function(field)[level], nil
}

// Decrypt returns the level of a ciphertext, or cpar.ErrKey for a ciphertext
// under another key.
func (k *Key) Decrypt(field int, ciphertext uint64) (int, error) {
	if field < 0 {
		return 0, fmt.Errorf("decrypting a level of field %d: %w", field, cpar.ErrInput)
	}
	level, ok := slices.BinarySearch(k.function(field), ciphertext)
	if !ok {
		return 0, fmt.Errorf("decrypting a level of field %d: made under another key: %w", field, cpar.ErrKey)
	}
	return level, nil
}

func (k *Key) function(field int) []uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, ok := k.fields[field]
	if !ok {
		f = draw(k.secret.Derive("ope/field", seed.Number(uint64(field)), seed.Number(uint64(k.beta))), k.beta+1)
		k.fields[field] = f
	}
	return f
}

// draw returns a sorted, uniform n-element subset of [0, 2⁴⁰).
func draw(secret seed.Secret, n int) []uint64 {
	stream := seed.New(secret)
	subset, seen := make([]uint64, 0, n), make(map[uint64]bool, n)
	for len(subset) < n {
		x := stream.Uint64n(1 << RangeBits)
		if !seen[x] {
			seen[x] = true
			subset = append(subset, x)
		}
	}
	slices.Sort(subset)
	return subset
}
