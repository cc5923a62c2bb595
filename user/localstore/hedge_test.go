package localstore

import (
	"bytes"
	"os"
	"testing"

	"cpar/internal/seed"
)

// stuck repeats its random numbers, as a cloned machine does.
type stuck struct{}

func (stuck) Read(p []byte) (int, error) { return len(p), nil }

// TestNamesHaveTheirOwnNonces stores one value under several names while the
// random numbers repeat. Two entries with one nonce would let a reader of the
// folder forge entries, because GCM then reveals its authentication key.
func TestNamesHaveTheirOwnNonces(t *testing.T) {
	v := open(t, t.TempDir(), 1, 0)
	v.source = seed.NewSource(seed.Secret{1}, stuck{})
	names := []struct{ kind, name string }{{"a", "b"}, {"a", "c"}, {"ab", ""}, {"", "ab"}}
	var files [][]byte
	for _, n := range names {
		put(t, v, n.kind, n.name, "one value")
		b, err := os.ReadFile(v.path(n.kind, []byte(n.name)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	put(t, v, "a", "b", "one value")
	again, err := os.ReadFile(v.path("a", []byte("b")))
	if err != nil || !bytes.Equal(again, files[0]) {
		t.Fatalf("the random numbers do not repeat: this test tests nothing (%v)", err)
	}
	for i, a := range files {
		for j, b := range files[:i] {
			if bytes.Equal(a[:12], b[:12]) {
				t.Errorf("%q and %q share a nonce", names[i], names[j])
			}
		}
	}
}
