package seed

import (
	"crypto/sha256"
	"io"
)

// A Source makes the secrets that nonces, noise and one-time keys come from:
//
//	32 random bytes, a secret of the owner's, a purpose, what is encrypted ─▶ Secret
//
// As long as random numbers are random, each is new. Where they repeat, as in a
// virtual machine that was cloned or put back, different contents still give
// different secrets, and equal contents give the same ciphertext, which tells
// nothing but that they are equal. Whoever knows the random numbers and not the
// owner's secret learns nothing either.
type Source struct {
	Redacted
	secret Secret
	rand   io.Reader
}

// NewSource is a source over random, which is crypto/rand.Reader outside tests.
func NewSource(secret Secret, random io.Reader) *Source { return &Source{secret: secret, rand: random} }

// Fresh makes a secret for one purpose: to encrypt what contents is the digest
// of, in a generation of an index, which counts from 1. For what has no
// generation it is 0.
func (s *Source) Fresh(purpose string, generation uint64, contents [sha256.Size]byte) Secret {
	var random [Size]byte
	if _, err := io.ReadFull(s.rand, random[:]); err != nil {
		// crypto/rand does not fail; to go on without randomness would be worse.
		panic("seed: no randomness: " + err.Error())
	}
	return s.secret.Derive("fresh/"+purpose, random[:], Number(generation), contents[:])
}
