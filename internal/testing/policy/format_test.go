package policy

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/testing/formatdoc"
	"cpar/kdforest"
)

// Other people write clients from docs/FORMAT.md, so its examples must equal
// the encoders' output.

func exampleID() (id cpar.IndexID) {
	for i := range id {
		id[i] = byte(i)
	}
	return id
}

func TestFormatExamples(t *testing.T) {
	forest := &cpar.Forest{
		Forest: kdforest.Forest{Records: 3, Planes: 1, Trees: []kdforest.Tree{{
			{Record: 1, Plane: 0, Left: 1, Right: 2},
			{Record: 0, Plane: kdforest.None, Left: kdforest.None, Right: kdforest.None},
			{Record: 2, Plane: kdforest.None, Left: kdforest.None, Right: kdforest.None},
		}}},
		Cuts: []cpar.Plane{{Field: 0, Order: 0}},
	}
	forestBytes, err := forest.AppendBinary(nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	segment := func(k cpar.SegmentKind, bytes uint64, high byte) cpar.Segment {
		s := cpar.Segment{Kind: k, Bytes: bytes}
		for i := range s.Digest {
			s.Digest[i] = high | byte(i&15)
		}
		return s
	}
	want := map[string][]byte{
		"request": marshal(t, &cpar.Request{
			Index:  exampleID(),
			Params: cpar.Params{Scheme: cpar.SchemeCPAR, L: 2, Approx: 100, Search: cpar.SearchDepthFirst, Prune: true},
			Vector: []uint64{1, 1<<64 - 2},
			Order:  []cpar.OrderCiphertext{3},
			Planes: &cpar.PlaneRequest{Vector: []uint64{5, 6}, Scale: 7, Offset: 8},
		}),
		"reply": marshal(t, &cpar.Reply{Index: exampleID(), Visited: 3, Touched: 48, Matches: []cpar.Match{
			{Record: 2, Score: -5, Keywords: []byte{0xaa, 0xbb}},
			{Record: 0, Score: 9, Keywords: []byte{0xcc, 0xdd}},
		}}),
		"forest": forestBytes,
		"manifest": marshal(t, &cpar.Manifest{
			Scheme: cpar.SchemeCAPIA, ID: exampleID(), Records: 3, Dim: 2, Shift: 28, KeywordBytes: 92,
			Segments: []cpar.Segment{segment(cpar.SegmentVectors, 48, 0xd0), segment(cpar.SegmentKeywords, 276, 0xe0), segment(cpar.SegmentLedger, 1000, 0xf0), segment(cpar.SegmentProfile, 2000, 0xc0)},
		}),
		"derivation": exampleDerivation(t),
	}
	got := formatdoc.Examples(t, "docs/FORMAT.md")
	for name, bytes := range want {
		if hex.EncodeToString(got[name]) != hex.EncodeToString(bytes) {
			t.Errorf("%s: docs/FORMAT.md has\n%x\nwant\n%x", name, got[name], bytes)
		}
	}
	for name := range got {
		// Tests of packages lattice and keyword check the examples that start
		// with "sealed-".
		if want[name] == nil && !strings.HasPrefix(name, "sealed-") {
			t.Errorf("docs/FORMAT.md has an example %q that is not checked", name)
		}
	}
}

func marshal(t *testing.T, v encoding.BinaryMarshaler) []byte {
	t.Helper()
	b, err := v.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// exampleDerivation follows docs/FORMAT.md to the letter. A test of package
// seed checks the same bytes.
func exampleDerivation(t *testing.T) []byte {
	var secret [32]byte
	for i := range secret {
		secret[i] = byte(i)
	}
	var info bytes.Buffer
	info.WriteString("cpar/v1/")
	for _, field := range []string{"label", "context", "\x00\x00\x00\x00\x00\x00\x00\x07"} {
		info.Write([]byte{0, 0, 0, byte(len(field))})
		info.WriteString(field)
	}
	out, err := hkdf.Key(sha256.New, secret[:], nil, info.String(), 32)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
