package index_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/internal/seed"
	"cpar/internal/testing/syntheticphotos"
	"cpar/model/vector"
	"cpar/user/internal/fixtures"
	"cpar/user/internal/index"
)

// TestDigestsTellContentsApart includes equal numbers divided differently or of
// another type.
func TestDigestsTellContentsApart(t *testing.T) {
	sums := map[[32]byte]string{}
	for name, add := range map[string]func(d index.Digest){
		"nothing":       func(index.Digest) {},
		"an empty one":  func(d index.Digest) { index.Add(d, []int16{}) },
		"two empty":     func(d index.Digest) { index.Add(d, []int16{}); index.Add(d, []int16{}) },
		"one of three":  func(d index.Digest) { index.Add(d, []int16{1, 2, 3}) },
		"one and two":   func(d index.Digest) { index.Add(d, []int16{1}); index.Add(d, []int16{2, 3}) },
		"two and one":   func(d index.Digest) { index.Add(d, []int16{1, 2}); index.Add(d, []int16{3}) },
		"wider":         func(d index.Digest) { index.Add(d, []int64{1, 2, 3}) },
		"other numbers": func(d index.Digest) { index.Add(d, []int16{1, 2, 4}) },
		"floats":        func(d index.Digest) { index.Add(d, []float64{1, 2, 3}) },
		"bytes":         func(d index.Digest) { index.Add(d, []byte{1, 2, 3}) },
	} {
		d := index.NewDigest()
		add(d)
		if other, there := sums[d.Sum()]; there {
			t.Errorf("%s and %s have one digest", name, other)
		}
		sums[d.Sum()] = name
	}
}

// TestSecretsAreOfOneIndexAndPurpose repeats the random numbers.
func TestSecretsAreOfOneIndexAndPurpose(t *testing.T) {
	x := func(id, key byte) *index.Index {
		x := &index.Index{ID: cpar.IndexID{id}, Key: seed.Secret{key}, Generation: 1}
		x.Source = seed.NewSource(x.Secret("fresh"), syntheticphotos.Stuck{})
		return x
	}
	later := x(1, 1)
	later.Generation++
	seen := map[seed.Secret]string{}
	for name, s := range map[string]seed.Secret{
		"a":                     x(1, 1).Secret("a"),
		"b":                     x(1, 1).Secret("b"),
		"with context":          x(1, 1).Secret("a", []byte("c")),
		"another index":         x(2, 1).Secret("a"),
		"another key":           x(1, 2).Secret("a"),
		"fresh":                 x(1, 1).Fresh("a", [32]byte{1}),
		"fresh, other contents": x(1, 1).Fresh("a", [32]byte{2}),
		"fresh, other purpose":  x(1, 1).Fresh("b", [32]byte{1}),
		"fresh, another index":  x(2, 1).Fresh("a", [32]byte{1}),
		"fresh, another key":    x(1, 2).Fresh("a", [32]byte{1}),
		"fresh, later":          later.Fresh("a", [32]byte{1}),
	} {
		if other, there := seen[s]; there {
			t.Errorf("%s and %s are one secret", name, other)
		}
		seen[s] = name
	}
	if x(1, 1).Secret("a") != later.Secret("a") {
		t.Error("secrets of one index and key differ")
	}
}

func TestReorderMovesRecordsWhole(t *testing.T) {
	c := index.NewCollection(make([]*vector.Vector, 3), [][]string{{"a"}, {"b"}, {"c"}})
	c.Reorder([]uint32{2, 0, 1})
	c.Reorder([]uint32{0, 2, 1})
	for i, r := range c.Records {
		if r.Photo != 2-i || r.Keywords[0] != string(rune('c'-i)) {
			t.Errorf("record %d: %+v", i, r)
		}
	}
}

func TestWriterEntersWhatItWrote(t *testing.T) {
	folder := fixtures.Folder(t)
	dir, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	w := &index.Writer{Dir: dir, Manifest: &cpar.Manifest{}}
	broken := errors.New("broken")
	if err := w.Segment(cpar.SegmentForest, func(to io.Writer) error {
		to.Write([]byte("half"))
		return broken
	}); !errors.Is(err, broken) {
		t.Errorf("a segment that could not be made: %v", err)
	}
	contents := map[cpar.SegmentKind][]byte{cpar.SegmentLedger: []byte("a ledger"), cpar.SegmentKeywords: []byte("keywords"), cpar.SegmentVectors: []byte("vectors")}
	for _, kind := range []cpar.SegmentKind{cpar.SegmentLedger, cpar.SegmentKeywords, cpar.SegmentVectors} {
		if err := w.Bytes(kind, contents[kind]); err != nil {
			t.Fatal(err)
		}
	}
	w.Sort()
	for i, s := range w.Manifest.Segments {
		if i > 0 && s.Kind < w.Manifest.Segments[i-1].Kind {
			t.Error("segments are out of order")
		}
		want := contents[s.Kind]
		delete(contents, s.Kind)
		if s.Bytes != uint64(len(want)) {
			t.Errorf("%v has %d bytes, want %q", s.Kind, s.Bytes, want)
		}
	}
	if len(contents) != 0 || len(w.Manifest.Segments) != 3 {
		t.Errorf("segments %v", w.Manifest.Segments)
	}
	if bytes.Equal(w.Manifest.Segments[0].Digest[:], w.Manifest.Segments[1].Digest[:]) {
		t.Error("two segments have one digest")
	}
}
