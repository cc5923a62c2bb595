package seed

import (
	"crypto/sha256"
	"io"
)

// A Source derives the secrets for nonces, noise and one-time keys:
//
//	32 random bytes, a secret of the owner's, a purpose, a digest of the plaintext ─▶ Secret
//
// Every secret is new if the random bytes are random. On a cloned or restored
// virtual machine, random bytes may repeat. Different contents then still give
// different secrets, and equal contents reveal only that they are equal. The
// random bytes reveal nothing without the owner's secret.
type Source struct {
	Redacted
	secret Secret
	rand   io.Reader
}

// NewSource returns a source that reads from random. Outside tests, this is
// crypto/rand.Reader.
func NewSource(secret Secret, random io.Reader) *Source { return &Source{secret: secret, rand: random} }

// Fresh derives a secret for one purpose. `contents` is the digest of the
// plaintext, and `generation` is the index's version number, from 1, or 0 for
// data without a version.
func (s *Source) Fresh(purpose string, generation uint64, contents [sha256.Size]byte) Secret {
	var random [Size]byte
	if _, err := io.ReadFull(s.rand, random[:]); err != nil {
		// crypto/rand does not fail. Otherwise stopping is safer than
		// continuing without randomness.
		panic("seed: no randomness: " + err.Error())
	}
	return s.secret.Derive("fresh/"+purpose, random[:], Number(generation), contents[:])
}
