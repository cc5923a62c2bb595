// Package bearer is the token that a tenant's program shows a cloud, as both sides spell it.
//
//	New ─▶ Token ─▶ Reveal ─▶ Authorization: Bearer cpar_… ║─▶ FromHeader ─▶ Digest
//
//	cpar_ | base32 of 32 random bytes and 4 bytes of checksum, in lower case     63 characters
//
// The prefix lets programs that look for leaked tokens find this one. The checksum, the
// start of the SHA-256 of prefix and random bytes, tells a slip of the pen without asking a
// cloud; it says nothing of whether a cloud knows the token.
//
// A cloud keeps the SHA-256 of a token alone. Slow, salted hashes are for passwords, which
// people choose from few: of 2²⁵⁶ equally likely tokens none is found by trying, nor two
// that are alike, so one plain hash is as good, and a guess costs the cloud no more than
// another request.
package bearer

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"cpar"
	"cpar/internal/hint"
)

const (
	prefix      = "cpar_"
	randomBytes = 32
	checkBytes  = 4
)

var (
	alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	// length is that of every token.
	length = len(prefix) + alphabet.EncodedLen(randomBytes+checkBytes)
)

// ErrNone: a request has no token at all.
var ErrNone = errors.New("no token")

// A Token prints as redacted, whatever the verb. The zero Token is none. Behind a pointer,
// since fmt prints the fields of a struct that holds a Token without asking the Token.
type Token struct{ held *string }

func (t Token) text() string {
	if t.held == nil {
		return ""
	}
	return *t.held
}

// New makes a token.
func New() Token {
	b := make([]byte, randomBytes, randomBytes+checkBytes)
	rand.Read(b) // never fails
	text := prefix + alphabet.EncodeToString(append(b, checksum(b)...))
	return Token{&text}
}

func checksum(random []byte) []byte {
	sum := sha256.Sum256(append([]byte(prefix), random...))
	return sum[:checkBytes]
}

// Parse reads a token as New spells it. Errors wrap cpar.ErrInput and never quote it.
func Parse(text string) (Token, error) {
	wrong := func(says string) (Token, error) {
		return Token{}, hint.Add(fmt.Errorf("reading the token: %w: %s", cpar.ErrInput, says), "copy the whole of it again; cpard showed it once, and rotates it to another")
	}
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return wrong("it does not begin with " + prefix)
	}
	if len(text) != length {
		return wrong(fmt.Sprintf("it has %d characters, and should have %d", len(text), length))
	}
	b, err := alphabet.DecodeString(rest)
	if err != nil || alphabet.EncodeToString(b) != rest {
		return wrong("it has a character that no token has")
	}
	if !bytes.Equal(checksum(b[:randomBytes]), b[randomBytes:]) {
		return wrong("its checksum does not fit: one of its characters is another")
	}
	return Token{&text}, nil
}

// FromHeader reads the token of a request: ErrNone if it has none.
func FromHeader(h http.Header) (Token, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return Token{}, ErrNone
	}
	kind, text, ok := strings.Cut(values[0], " ")
	if len(values) > 1 || !ok || !strings.EqualFold(kind, "Bearer") {
		return Token{}, fmt.Errorf("%w: the header Authorization is no bearer token", cpar.ErrInput)
	}
	return Parse(strings.TrimLeft(text, " "))
}

// SetHeader puts the token into the header of a request.
func (t Token) SetHeader(h http.Header) { h.Set("Authorization", "Bearer "+t.text()) }

// IsZero reports whether there is none.
func (t Token) IsZero() bool { return t.held == nil }

// Reveal is the token in the clear, to be shown to its owner once.
func (t Token) Reveal() string { return t.text() }

// Redact returns a text with the token out of it.
func (t Token) Redact(text string) string {
	if t.IsZero() {
		return text
	}
	return strings.ReplaceAll(text, t.text(), redacted)
}

// Digest is what a cloud keeps of a token.
func (t Token) Digest() cpar.Digest { return sha256.Sum256([]byte(t.text())) }

const redacted = prefix + "(redacted)"

// Format redacts every verb.
func (t Token) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// String redacts.
func (t Token) String() string { return redacted }

// MarshalText redacts, also as JSON.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }
