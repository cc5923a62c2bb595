// Package box encrypts what only the owner reads: AES-256-GCM, bound to where it
// belongs.
//
//	plaintext ─▶ nonce (12) ‖ ciphertext ‖ tag (16)
//
// Nonces come from a fresh secret (seed.Source) as random numbers do, so one key
// is good for 2³² messages: two nonces are then equal with a chance of 2⁻³³ at
// most (NIST SP 800-38D, section 8.3, asks for 2⁻³²).
package aead

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"

	"cpar/internal/seed"
)

const nonceSize = 12

// Overhead is how many bytes longer a message is when encrypted.
const Overhead = nonceSize + aes.BlockSize

// MaxMessages is how many messages may be encrypted with one key.
const MaxMessages = 1 << 32

// A Box encrypts with one key. It may be used by several goroutines at once.
type Cipher struct {
	seed.Redacted
	aead cipher.AEAD
}

// New is the box of a key.
func New(key seed.Secret) *Cipher {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("box: AES with a 32-byte key: " + err.Error())
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("box: GCM of AES: " + err.Error())
	}
	return &Cipher{aead: aead}
}

// Seal appends the encryption of plain to dst, under the next nonce of the stream.
// binding is what must be known again to open it.
func (b *Cipher) Seal(dst []byte, nonces *seed.Stream, plain, binding []byte) []byte {
	var nonce [nonceSize]byte
	nonces.Read(nonce[:]) // never fails
	return b.aead.Seal(append(dst, nonce[:]...), nonce[:], plain, binding)
}

// ErrAltered: it was sealed with another key, belongs elsewhere, or was altered.
var ErrAltered = errors.New("it was altered or belongs elsewhere")

// Open is the inverse of Seal.
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
