// Package seed derives all secrets and randomness of the owner from 32 bytes.
//
//	secret (32 bytes) ─HKDF-SHA256, label, context─▶ secret (32 bytes)
//	secret ─AES-256-CTR─▶ Stream, addressable by byte position
//	Stream ─▶ words, bounded integers, permutations, discrete Gaussian noise
//
// The same secret gives the same key, random projection and noise on every
// machine, so a second device needs only the 32 bytes. Code that draws fresh
// randomness, such as a request's scale or a record's noise, must start from an
// unused secret or an unread position of its stream.
//
// HKDF is RFC 5869. The noise is the discrete Gaussian with σ = 3.2 truncated
// at ±19, as is usual in lattice encryption.
package seed

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

const Size = 32

const (
	// prefix separates derivations of this project and this version of its keys
	// from any other use of the same bytes.
	prefix   = "cpar/v1/"
	redacted = "cpar key (redacted)"
)

// A Secret is 32 bytes that fmt prints as redacted. It is assignable to and
// from [32]byte.
//
// fmt does not call methods of unexported fields. A struct with a Secret in an
// unexported field must therefore embed Redacted.
type Secret [Size]byte

// Derive returns a secret for one purpose. Secrets with different labels or
// contexts reveal nothing about each other or about the master.
//
// HKDF gets the prefix, then the label and each context, each preceded by its
// length in four bytes. So ("ab", "c") and ("a", "bc") differ.
func Derive(master [Size]byte, label string, context ...[]byte) Secret {
	info := append(make([]byte, 0, 128), prefix...)
	info = appendCounted(info, []byte(label))
	for _, c := range context {
		info = appendCounted(info, c)
	}
	out, err := hkdf.Key(sha256.New, master[:], nil, string(info), Size)
	if err != nil {
		// 32 bytes are less than the maximum output of HKDF.
		panic("seed: deriving a secret: " + err.Error())
	}
	return Secret(out)
}

// Forgotten returns a random secret that is stored nowhere.
func Forgotten() (s Secret) {
	rand.Read(s[:]) // crypto/rand ends the program instead of failing
	return s
}

func (s Secret) Derive(label string, context ...[]byte) Secret {
	return Derive(s, label, context...)
}

// Number encodes n as a context for Derive.
func Number(n uint64) []byte {
	return binary.BigEndian.AppendUint64(nil, n)
}

func appendCounted(b, field []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(field))), field...)
}

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(redacted)) }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// Redacted makes fmt, text and JSON encodings of a type that embeds it a
// constant. Every type with key material embeds Redacted.
type Redacted struct{}

func (Redacted) String() string               { return redacted }
func (Redacted) GoString() string             { return redacted }
func (Redacted) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(redacted)) }
func (Redacted) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (Redacted) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
