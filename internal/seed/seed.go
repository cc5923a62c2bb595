// Package seed makes everything secret or random of the owner from 32 bytes.
//
//	secret (32 bytes) ─HKDF-SHA256, label, context─▶ secret (32 bytes)
//	secret ─AES-256-CTR─▶ Stream, addressable by byte position
//	Stream ─▶ words, bounded integers, permutations, discrete Gaussian noise
//
// The same secret always gives the same key, projection and noise, on every
// machine: a second device needs the 32 bytes and nothing else. Whoever draws
// fresh randomness (a request's scale, a record's noise) must therefore start
// from a secret that was never used before, or from a position of its stream
// that was never read.
//
// HKDF is RFC 5869. The noise is the discrete Gaussian with σ = 3.2 truncated at
// ±19, customary in lattice encryption.
package seed

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Size is the length of a secret in bytes.
const Size = 32

const (
	// prefix separates the derivations of this project and of this version of its
	// keys from every other use of the same bytes.
	prefix = "cpar/v1/"
	// redacted is what every secret prints as.
	redacted = "cpar key (redacted)"
)

// Secret is 32 bytes that print as nothing. A plain [32]byte can be assigned to
// it and back without conversion.
//
// fmt cannot call the methods of an unexported field: a struct that keeps a
// Secret in one must embed Redacted itself.
type Secret [Size]byte

// Derive makes a secret for one purpose. Secrets with different labels or
// contexts tell nothing of each other or of the master.
//
// The encoding is unambiguous: prefix, then the label and each context with its
// length in four bytes before it, so ("ab", "c") and ("a", "bc") differ.
func Derive(master [Size]byte, label string, context ...[]byte) Secret {
	info := append(make([]byte, 0, 128), prefix...)
	info = appendCounted(info, []byte(label))
	for _, c := range context {
		info = appendCounted(info, c)
	}
	out, err := hkdf.Key(sha256.New, master[:], nil, string(info), Size)
	if err != nil {
		// 32 bytes in and out are within every limit of HKDF.
		panic("seed: deriving a secret: " + err.Error())
	}
	return Secret(out)
}

// Forgotten is a secret that is drawn and kept by nobody.
func Forgotten() (s Secret) {
	rand.Read(s[:]) // never fails: crypto/rand ends the program instead
	return s
}

// Derive is the function Derive for a Secret.
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

// Redacted is embedded by every type that holds key material. It takes up no
// room and makes the type print, and marshal to text or JSON, as a constant.
type Redacted struct{}

func (Redacted) String() string               { return redacted }
func (Redacted) GoString() string             { return redacted }
func (Redacted) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(redacted)) }
func (Redacted) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (Redacted) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
