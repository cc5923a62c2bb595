package keyword

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cpar"
)

func sealer(t *testing.T, id cpar.IndexID, words ...string) *Sealer {
	t.Helper()
	d, err := NewDictionary([][]string{words})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSealer([32]byte{1, 2, 3}, id, d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRoundTripAndLength(t *testing.T) {
	var words []string
	for i := range Max {
		words = append(words, fmt.Sprintf("word %02d", i))
	}
	s := sealer(t, cpar.IndexID{9}, words...)
	for n := range Max + 1 {
		sealed, err := s.Seal(nil, 7, words[:n], rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if len(sealed) != SealedSize {
			t.Fatalf("%d keywords take %d bytes, want %d whatever their number", n, len(sealed), SealedSize)
		}
		got, err := s.Open(7, sealed)
		if err != nil || !slices.Equal(got, words[:n]) {
			t.Fatalf("%d keywords: got %q, %v", n, got, err)
		}
	}
	if _, err := s.Seal(nil, 7, append(words, "word 00"), rand.Reader); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("%d keywords: got %v, want ErrInput", Max+1, err)
	}
}

func TestFreshNonce(t *testing.T) {
	s := sealer(t, cpar.IndexID{9}, "sea")
	a, _ := s.Seal(nil, 1, []string{"sea"}, rand.Reader)
	b, _ := s.Seal(nil, 1, []string{"sea"}, rand.Reader)
	if bytes.Equal(a, b) {
		t.Error("one record sealed twice gives the same bytes")
	}
}

func TestBoundToIndexRecordAndBytes(t *testing.T) {
	s := sealer(t, cpar.IndexID{9}, "sea", "sky")
	sealed, err := s.Seal(nil, 3, []string{"sky"}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(4, sealed); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("opened as another record: %v", err)
	}
	if _, err := sealer(t, cpar.IndexID{8}, "sea", "sky").Open(3, sealed); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("opened as another index's: %v", err)
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if _, err := s.Open(3, bad); !errors.Is(err, cpar.ErrCorrupt) {
			t.Fatalf("byte %d altered: %v", i, err)
		}
	}
	if _, err := s.Open(3, sealed[:len(sealed)-1]); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("truncated: %v", err)
	}
}

func TestErrorsAndPrintsKeepSecrets(t *testing.T) {
	s := sealer(t, cpar.IndexID{9}, "zebra")
	_, err := s.Seal(nil, 3, []string{"grandmother"}, rand.Reader)
	if err == nil || strings.Contains(err.Error(), "grandmother") {
		t.Errorf("error for a word outside the dictionary: %v", err)
	}
	if got := fmt.Sprintf("%v %+v %#v", s, s, s); strings.Contains(got, "zebra") || !strings.Contains(got, "redacted") {
		t.Errorf("a sealer prints as %q", got)
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
