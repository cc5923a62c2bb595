package seed

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"testing"
)

// stuck repeats the same random numbers.
type stuck struct{}

func (stuck) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{7}, len(p))), nil }

func TestFreshSecretsDifferThoughRandomNumbersRepeat(t *testing.T) {
	contents := func(s string) [32]byte { return sha256.Sum256([]byte(s)) }
	one, other := NewSource(Secret{1}, stuck{}), NewSource(Secret{2}, stuck{})
	all := map[Secret]string{}
	for name, s := range map[string]Secret{
		"first":             one.Fresh("keywords", 1, contents("a")),
		"other contents":    one.Fresh("keywords", 1, contents("b")),
		"other generation":  one.Fresh("keywords", 2, contents("a")),
		"other purpose":     one.Fresh("ledger", 1, contents("a")),
		"other owner":       other.Fresh("keywords", 1, contents("a")),
		"good random bytes": NewSource(Secret{1}, rand.Reader).Fresh("keywords", 1, contents("a")),
		"good ones again":   NewSource(Secret{1}, rand.Reader).Fresh("keywords", 1, contents("a")),
	} {
		if before, there := all[s]; there {
			t.Errorf("%s and %s are the same secret", name, before)
		}
		all[s] = name
	}
	first := one.Fresh("keywords", 1, contents("a"))
	if first != one.Fresh("keywords", 1, contents("a")) {
		t.Error("the same contents and random numbers give two secrets: what else enters?")
	}
}
