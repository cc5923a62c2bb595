package seed

import (
	"crypto/sha256"
	"io"
)

// A Source derives the secrets for nonces, noise and one-time keys:
//
//	32 random bytes, a secret of the owner's, a purpose, a digest of the plaintext ─▶ Secret
//
// Every secret is new while random numbers are random. On a cloned or restored
// virtual machine they repeat. Then different contents still give different
// secrets, and equal contents reveal only that they are equal. Knowing the
// random numbers without the owner's secret reveals nothing.
type Source struct {
	Redacted
	secret Secret
	rand   io.Reader
}

// NewSource returns a source over random, which is crypto/rand.Reader outside
// tests.
func NewSource(secret Secret, random io.Reader) *Source { return &Source{secret: secret, rand: random} }

// Fresh derives a secret for one purpose. contents is the digest of the
// plaintext. generation is the index's generation, from 1, or 0 for data
// without one.
func (s *Source) Fresh(purpose string, generation uint64, contents [sha256.Size]byte) Secret {
	var random [Size]byte
	if _, err := io.ReadFull(s.rand, random[:]); err != nil {
		// crypto/rand does not fail, and continuing without randomness would be
		// worse.
		panic("seed: no randomness: " + err.Error())
	}
	return s.secret.Derive("fresh/"+purpose, random[:], Number(generation), contents[:])
}
