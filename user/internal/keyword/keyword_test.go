package keyword

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cpar/internal/seed"

	"cpar"
)

func testCipher(t *testing.T, id cpar.IndexID, words ...string) *Cipher {
	t.Helper()
	d, err := NewDictionary([][]string{words})
	if err != nil {
		t.Fatal(err)
	}
	return NewCipher(seed.Secret{1, 2, 3}, id, d)
}

func source() *seed.Source { return seed.NewSource(seed.Secret{4}, rand.Reader) }

// table encrypts keywords as record 3 of a few.
func table(c *Cipher, words ...string) ([]byte, error) {
	return c.EncryptAll([][]string{nil, nil, nil, words}, source(), 1)
}

func TestRoundTripAndLength(t *testing.T) {
	var words []string
	for i := range Max {
		words = append(words, fmt.Sprintf("word %02d", i))
	}
	c := testCipher(t, cpar.IndexID{9}, words...)
	for n := range Max + 1 {
		encrypted, err := table(c, words[:n]...)
		if err != nil {
			t.Fatal(err)
		}
		if len(encrypted) != 4*Size {
			t.Fatalf("%d keywords take %d bytes, want %d whatever their number", n, len(encrypted), 4*Size)
		}
		got, err := c.DecryptIn(encrypted, 3)
		if err != nil || !slices.Equal(got, words[:n]) {
			t.Fatalf("%d keywords: got %q, %v", n, got, err)
		}
	}
	if _, err := table(c, append(words, "word 00")...); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("%d keywords: got %v, want ErrInput", Max+1, err)
	}
}

func TestFreshNonce(t *testing.T) {
	c := testCipher(t, cpar.IndexID{9}, "sea")
	a, _ := table(c, "sea")
	b, _ := table(c, "sea")
	for i := range a[:len(a)/Size] {
		if bytes.Equal(a[i*Size:(i+1)*Size], b[i*Size:(i+1)*Size]) {
			t.Errorf("record %d encrypted twice gives the same bytes", i)
		}
	}
}

// stuck repeats its random numbers.
type stuck struct{}

func (stuck) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{7}, len(p))), nil }

// TestTablesAreHedged repeats the random numbers. Tables that differ in a
// record or the generation must share no block or nonce.
func TestTablesAreHedged(t *testing.T) {
	c := testCipher(t, cpar.IndexID{9}, "sea", "sky")
	encrypt := func(generation uint64, last ...string) []byte {
		t.Helper()
		b, err := c.EncryptAll([][]string{{"sea"}, nil, {"sky"}, last}, seed.NewSource(seed.Secret{4}, stuck{}), generation)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := encrypt(1, "sea")
	if !bytes.Equal(first, encrypt(1, "sea")) {
		t.Error("the random numbers do not repeat: this test tests nothing")
	}
	for name, other := range map[string][]byte{
		"another word": encrypt(1, "sky"), "a word less": encrypt(1), "a word more": encrypt(1, "sea", "sea"), "another generation": encrypt(2, "sea"),
	} {
		for i := range 4 {
			a, b := first[i*Size:(i+1)*Size], other[i*Size:(i+1)*Size]
			for at := 0; at+12 <= Size; at++ { // of the first nonce
				if bytes.Equal(a[at:at+12], b[at:at+12]) {
					t.Errorf("%s: record %d has bytes %d to %d in common", name, i, at, at+11)
					break
				}
			}
		}
	}
	for i := range 4 {
		for j := range i {
			if bytes.Equal(first[i*Size:i*Size+12], first[j*Size:j*Size+12]) {
				t.Errorf("records %d and %d have one nonce", j, i)
			}
		}
	}
}

func TestDamagedTables(t *testing.T) {
	c := testCipher(t, cpar.IndexID{9}, "sea", "sky")
	all, err := table(c, "sky")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{nil, all[:3*Size], all[:len(all)-1], all[Size:]} {
		if _, err := c.DecryptIn(bad, 3); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("record 3 in a table of %d bytes: %v", len(bad), err)
		}
	}
	for name, plain := range map[string][]byte{"too many words": {Max + 1, 0}, "no such word": {1, 0, 2, 0}} {
		block := c.box.Seal(nil, seed.New(seed.Secret{5}), append(plain, make([]byte, plainSize-len(plain))...), c.binding(3))
		if _, err := c.Decrypt(3, block); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBoundToIndexRecordAndBytes(t *testing.T) {
	c := testCipher(t, cpar.IndexID{9}, "sea", "sky")
	all, err := table(c, "sky")
	if err != nil {
		t.Fatal(err)
	}
	block := all[3*Size:]
	if _, err := c.Decrypt(4, block); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("decrypted as another record: %v", err)
	}
	if _, err := testCipher(t, cpar.IndexID{8}, "sea", "sky").Decrypt(3, block); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("decrypted as another index's: %v", err)
	}
	for i := range block {
		bad := bytes.Clone(block)
		bad[i] ^= 1
		if _, err := c.Decrypt(3, bad); !errors.Is(err, cpar.ErrCorrupt) {
			t.Fatalf("byte %d altered: %v", i, err)
		}
	}
	if _, err := c.Decrypt(3, block[:Size-1]); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("truncated: %v", err)
	}
	for _, record := range []uint32{4, 1 << 31} {
		if _, err := c.DecryptIn(all, record); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("record %d of 4: %v", record, err)
		}
	}
}

func TestErrorsAndPrintsKeepSecrets(t *testing.T) {
	c := testCipher(t, cpar.IndexID{9}, "zebra")
	_, err := table(c, "grandmother")
	if err == nil || strings.Contains(err.Error(), "grandmother") {
		t.Errorf("error for a word outside the dictionary: %v", err)
	}
	if got := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(got, "zebra") || !strings.Contains(got, "redacted") {
		t.Errorf("a cipher prints as %q", got)
	}
}

func TestDictionaryOrder(t *testing.T) {
	if _, err := FromWords([]string{"b", "a"}); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("unsorted: %v", err)
	}
	if _, err := FromWords([]string{"a", "a"}); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("twice the same: %v", err)
	}
	d, err := NewDictionary([][]string{{"sky", "sea"}, {"sea", "ant"}})
	if err != nil || !slices.Equal(d.Words(), []string{"ant", "sea", "sky"}) {
		t.Errorf("got %q, %v", d.Words(), err)
	}
}
