// Package aead encrypts segments (files of an index) with AES-256-GCM and binds
// each message to its position.
//
//	plaintext, binding ─▶ nonce (12) ‖ ciphertext ‖ tag (16)
//
// Nonces come from a fresh secret (seed.Source) and behave like random numbers.
// One key encrypts at most 2³² messages, so the probability of a repeated nonce
// is at most 2⁻³³. NIST SP 800-38D, section 8.3, allows 2⁻³².
package aead

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"

	"cpar/internal/seed"
)

const nonceSize = 12

const Overhead = nonceSize + aes.BlockSize

// MaxMessages is the maximum number of messages for one key.
const MaxMessages = 1 << 32

// A Cipher encrypts with one key. It is safe for concurrent use.
type Cipher struct {
	seed.Redacted
	aead cipher.AEAD
}

func New(key seed.Secret) *Cipher {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("aead: AES with a 32-byte key: " + err.Error())
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("aead: GCM of AES: " + err.Error())
	}
	return &Cipher{aead: aead}
}

// Seal encrypts `plain` under the next nonce and appends the result to dst.
// The binding is not stored, so Open needs it again.
func (b *Cipher) Seal(dst []byte, nonces *seed.Stream, plain, binding []byte) []byte {
	var nonce [nonceSize]byte
	nonces.Read(nonce[:]) // never fails
	return b.aead.Seal(append(dst, nonce[:]...), nonce[:], plain, binding)
}

// ErrAltered reports a message that was altered or sealed with another key or binding.
var ErrAltered = errors.New("it was altered or belongs elsewhere")

// Open decrypts and authenticates a message made by Seal.
func (b *Cipher) Open(sealed, binding []byte) ([]byte, error) {
	if len(sealed) < Overhead {
		return nil, ErrAltered
	}
	plain, err := b.aead.Open(nil, sealed[:nonceSize], sealed[nonceSize:], binding)
	if err != nil {
		return nil, ErrAltered
	}
	return plain, nil
}
