package user

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/profile"
	"cpar/model/wordvector"
	"cpar/user/internal/index"
)

// kindAt is the offset of the profile after a short list of words.
const kindAt = 24 + paddedWords

// TestProfileSegment checks the round trip and the error for each kind of
// damage.
func TestProfileSegment(t *testing.T) {
	key, id := testKey(), cpar.IndexID{1}
	for kind, images := range map[profile.Kind]func(int, uint64) []Photo{profile.Paper: madeImages, profile.Learned: madeImages, profile.Network: madeEmbedded} {
		p := setUp(t, key, images(30, 1), Options{Profile: kind, PCA: 128}).ledger.fitted
		b, err := appendFitted(nil, id, p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := readFitted(b, id)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := appendFitted(nil, id, q); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%v: written differently: %v", kind, err)
		}
		for cut := 0; cut < len(b); cut += 1 + len(b)/53 {
			if _, err := readFitted(b[:cut], id); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v cut to %d of %d bytes: %v", kind, cut, len(b), err)
			}
		}
		for name, spoil := range map[string]func(b []byte){
			"another kind":             func(b []byte) { b[4] = ledgerKind },
			"another index":            func(b []byte) { b[8]++ },
			"no such profile":          func(b []byte) { b[kindAt] = 9 },
			"another profile":          func(b []byte) { b[kindAt] = (b[kindAt] + 1) % 3 },
			"a word that is not UTF-8": func(b []byte) { b[bytes.Index(b, []byte("word 2"))] = 0xff },
			"words out of order":       func(b []byte) { b[bytes.Index(b, []byte("kind 0"))] = 'z' },
			"padding that is not zero": func(b []byte) { b[kindAt-1] = 1 },
		} {
			c := bytes.Clone(b)
			spoil(c)
			if _, err := readFitted(c, id); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v, %s: %v", kind, name, err)
			}
		}
		binary.LittleEndian.PutUint16(b[versionAt:], profileVersion+1)
		if _, err := readFitted(b, id); !errors.Is(err, cpar.ErrVersion) || !strings.Contains(hint.Of(err), "cpar build") {
			t.Errorf("%v of another version: %v", kind, err)
		}
	}
}

// TestProfileIsWrittenOnce checks that updates keep the profile segment and
// Compact re-encrypts it. The server cannot substitute another.
func TestProfileIsWrittenOnce(t *testing.T) {
	key := testKey()
	_, folder := build(t, key, madeImages(30, 1), Options{Profile: profile.Learned})
	_, other := build(t, key, madeImages(30, 2), Options{Profile: profile.Learned})
	of := func(folder string) cpar.Segment { return look(t, key, folder).of(cpar.SegmentProfile)[0] }
	first := of(folder)
	u, err := Add(context.Background(), key, folder, madeImages(1, 3), nil)
	if err != nil || of(folder) != first || u.Bytes < minWords || u.Bytes >= first.Bytes {
		t.Errorf("added: %+v, %v; the profile has %d bytes", u, err, first.Bytes)
	}
	x, y := look(t, key, folder), look(t, key, other)
	if _, err := Open(key, x.manifest, func(s cpar.Segment) ([]byte, error) {
		if s.Kind == cpar.SegmentProfile {
			return y.segment(s.Kind), nil
		}
		return x.fetch(s)
	}); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("another profile: %v", err)
	}
	if _, err := decryptFitted(y.segment(cpar.SegmentProfile), key, x.ID()); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("the profile of another index: %v", err)
	}
	if _, err := Compact(context.Background(), key, folder, UpdateOptions{}); err != nil || of(folder) == first {
		t.Errorf("compacted: %v", err)
	}
}

func TestIdentitiesAreBound(t *testing.T) {
	key := testKey()
	first := madeImages(257, 1)
	_, folder := build(t, key, first, small(cpar.SchemeLocal))
	if _, err := Add(context.Background(), key, folder, madeImages(3, 2), nil); err != nil {
		t.Fatal(err)
	}
	_, other := build(t, key, first[:256], small(cpar.SchemeLocal))
	x, y := look(t, key, folder), look(t, key, other)
	two := x.of(cpar.SegmentIdentities)
	read := func(instead map[cpar.Digest][]byte) error {
		list, err := readIdentities(x.index, x.manifest, func(s cpar.Segment) ([]byte, error) {
			if b := instead[s.Digest]; b != nil {
				return b, nil
			}
			return x.fetch(s)
		})
		if err == nil && (len(list) != 260 || list[0] == list[1]) {
			t.Errorf("%d identities: %x", len(list), list)
		}
		return err
	}
	if err := read(nil); err != nil {
		t.Error(err)
	}
	a, b := x.segments[two[0].Digest], x.segments[two[1].Digest]
	for name, instead := range map[string]map[cpar.Digest][]byte{
		"exchanged":     {two[0].Digest: b, two[1].Digest: a},
		"one twice":     {two[1].Digest: a},
		"another index": {two[0].Digest: y.segment(cpar.SegmentIdentities)},
		"altered":       {two[0].Digest: append(bytes.Clone(a[:len(a)-1]), a[len(a)-1]^1)},
	} {
		if err := read(instead); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A photo's identity is the same in all generations of an index and differs
	// between indexes.
	var ids [][]identity
	for _, z := range []*opened{x, y} {
		list, err := readIdentities(z.index, z.manifest, z.fetch)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, list)
	}
	for _, id := range ids[1] {
		for _, same := range ids[0] {
			if id == same {
				t.Error("a photo has one identity in two indexes")
			}
		}
	}
	var x2 index.Index = *x.index
	x2.Records++
	if _, err := readIdentities(&x2, x.manifest, x.fetch); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("one too few: %v", err)
	}
}

func FuzzFitted(f *testing.F) {
	id := cpar.IndexID{1}
	for kind, images := range map[profile.Kind]func(int, uint64) []Photo{profile.Paper: madeImages, profile.Learned: madeImages, profile.Network: madeEmbedded} {
		b, err := Setup(context.Background(), testKey(), images(20, 2), Options{Profile: kind, PCA: 128})
		if err != nil {
			f.Fatal(err)
		}
		enc, err := appendFitted(nil, id, b.ledger.fitted)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(enc)
		f.Add(enc[:60])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := readFitted(data, id)
		if err != nil {
			if !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion) && !errors.Is(err, cpar.ErrInput) {
				t.Errorf("%v wraps none of our errors", err)
			}
			return
		}
		if again, err := appendFitted(nil, id, p); err != nil || !bytes.Equal(again, data) {
			t.Errorf("decoded, then encoded differently: %v", err)
		}
	})
}

// A device would refuse the profile, so no index with it is written.
func TestTooLargeProfileIsRefused(t *testing.T) {
	images := madeImages(40, 1)
	for i := range images {
		images[i].Keywords = nil
		for k := range 30 {
			images[i].Keywords = append(images[i].Keywords, fmt.Sprintf("%d-%d", i, k))
		}
	}
	b := setUp(t, testKey(), images, Options{Scheme: cpar.SchemeLocal, Profile: profile.Learned})
	sums := wordvector.NewSums(30_000)
	sums.Add(slices.Repeat([]int16{100}, sums.Dim()), b.ledger.keywords.Words())
	b.ledger.search = &wordvector.Vectors{Sums: sums}
	folder := filepath.Join(t.TempDir(), "index")
	if _, err := b.Encrypt(t.Context(), folder); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "--dim") {
		t.Errorf("got %v", err)
	}
}
