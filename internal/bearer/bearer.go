// Package bearer defines the access token of a tenant, for clients and clouds.
//
//	New ─▶ Token ─▶ Reveal ─▶ Authorization: Bearer cpar_… ║─▶ FromHeader ─▶ Digest
//
//	cpar_ | base32 of 32 random bytes and 4 bytes of checksum, in lower case     63 characters
//
// The prefix lets scanners for leaked secrets recognise tokens. The checksum,
// the start of the SHA-256 of prefix and random bytes, detects typing errors.
//
// A cloud stores only the SHA-256 of a token. Slow, salted hashes protect
// passwords, which people choose from a small set. One of 2²⁵⁶ equally likely
// tokens cannot be guessed, so a plain hash suffices.
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
	length   = len(prefix) + alphabet.EncodedLen(randomBytes+checkBytes)
)

var ErrNone = errors.New("no token")

// A Token is printed as "cpar_(redacted)" by every fmt verb. The zero Token is
// empty. Field `held` is a pointer because fmt prints unexported fields of a
// struct, such as a Token in another type, without calling their methods.
type Token struct{ held *string }

func (t Token) text() string {
	if t.held == nil {
		return ""
	}
	return *t.held
}

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

// Parse reads a token in the form that New writes. Errors wrap cpar.ErrInput
// and never quote the token.
func Parse(text string) (Token, error) {
	wrong := func(says string) (Token, error) {
		return Token{}, hint.Add(fmt.Errorf("reading the token: %w: %s", cpar.ErrInput, says), "copy the whole token again; cpard shows a token only once, but can rotate it to a new one")
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
		return wrong("its checksum does not match: at least one character is wrong")
	}
	return Token{&text}, nil
}

// FromHeader reads the token of a request, or returns ErrNone.
func FromHeader(h http.Header) (Token, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return Token{}, ErrNone
	}
	kind, text, ok := strings.Cut(values[0], " ")
	if len(values) > 1 || !ok || !strings.EqualFold(kind, "Bearer") {
		return Token{}, fmt.Errorf("%w: the Authorization header holds no bearer token", cpar.ErrInput)
	}
	return Parse(strings.TrimLeft(text, " "))
}

func (t Token) SetHeader(h http.Header) { h.Set("Authorization", "Bearer "+t.text()) }

func (t Token) IsZero() bool { return t.held == nil }

// Reveal returns the token in the clear, to be shown to its owner once.
func (t Token) Reveal() string { return t.text() }

func (t Token) Redact(text string) string {
	if t.IsZero() {
		return text
	}
	return strings.ReplaceAll(text, t.text(), redacted)
}

// Digest returns the hash that a cloud stores.
func (t Token) Digest() cpar.Digest { return sha256.Sum256([]byte(t.text())) }

const redacted = prefix + "(redacted)"

func (t Token) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

func (t Token) String() string { return redacted }

func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }
