package aspe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"testing"

	"cpar"
	"cpar/internal/testing/syntheticphotos"
	"cpar/internal/wire"
	"cpar/model/profile"
	"cpar/model/vector"
)

func encoded(t *testing.T, s *ledgerPart) []byte {
	t.Helper()
	b, err := s.appendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestStateIsKept checks the round trip and rejects truncated bytes.
func TestStateIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		photos int
		opt    Options
	}{
		"forest and lists": {40, small},
		"the paper's":      {40, Options{Trees: 2, Lists: None, Split: SplitOriginal, Place: cpar.PlaceNode, Order: OrderOPE}},
		"lists":            {40, Options{Trees: None, Lists: 5}},
		"a scan":           {40, Options{Trees: None, Lists: None}},
		"one photo":        {1, Options{Trees: 1}},
	} {
		x := setUp(t, profile.Paper, syntheticphotos.Photos(c.photos, 1), c.opt)
		b, err := x.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		r := wire.NewReader(b, cpar.ErrCorrupt)
		again, err := Open(x.Index.Index, r)
		if err != nil || r.Close() != nil {
			t.Fatalf("%s: %v, %v", name, err, r.Close())
		}
		if enc, err := again.AppendBinary(nil); err != nil || !bytes.Equal(enc, b) {
			t.Errorf("%s: read, then written differently: %v", name, err)
		}
		var m, want cpar.Manifest
		again.Describe(&m)
		if x.Describe(&want); !reflect.DeepEqual(m, want) {
			t.Errorf("%s: described as %+v, was %+v", name, m, want)
		}
		for cut := 0; cut < len(b); cut += 1 + len(b)/97 {
			if _, err := Open(x.Index.Index, wire.NewReader(b[:cut], cpar.ErrCorrupt)); !errors.Is(err, cpar.ErrCorrupt) {
				t.Fatalf("%s cut to %d of %d bytes: %v", name, cut, len(b), err)
			}
		}
	}
}

func TestDamagedPartIsRefused(t *testing.T) {
	x := setUp(t, profile.Paper, syntheticphotos.Photos(40, 1), small)
	other := setUp(t, profile.Learned, syntheticphotos.Photos(40, 1), small)
	open := func(b []byte) error {
		_, err := Open(x.Index.Index, wire.NewReader(b, cpar.ErrCorrupt))
		return err
	}
	if len(x.part.planes) < 3 {
		t.Fatalf("%d planes are too few for this test", len(x.part.planes))
	}
	for name, spoil := range map[string]func(s *ledgerPart){
		"no such order":                func(s *ledgerPart) { s.order = 2 },
		"a norm below 0":               func(s *ledgerPart) { s.farthest = -1 },
		"planes out of order":          func(s *ledgerPart) { s.planes[0], s.planes[1] = s.planes[1], s.planes[0] },
		"a plane twice":                func(s *ledgerPart) { s.planes[1] = s.planes[0] },
		"a plane of no coordinate":     func(s *ledgerPart) { s.planes[len(s.planes)-1].Dim = s.split.dims(0) },
		"a plane beyond the levels":    func(s *ledgerPart) { s.planes[len(s.planes)-1].Value = vector.Beta + 1 },
		"a centre too few":             func(s *ledgerPart) { s.centres = s.centres[1:] },
		"a centre too many":            func(s *ledgerPart) { s.centres = append(s.centres, 5) },
		"a centre beyond the levels":   func(s *ledgerPart) { s.centres[0] = vector.Beta + 1 },
		"no step":                      func(s *ledgerPart) { s.split.step = 0 },
		"a step backwards":             func(s *ledgerPart) { s.split.step = -1 },
		"a step that is not a number":  func(s *ledgerPart) { s.split.step = math.NaN() },
		"a step without end":           func(s *ledgerPart) { s.split.step = math.Inf(1) },
		"components of other profiles": func(s *ledgerPart) { s.split = other.part.split },
	} {
		s := *x.part
		s.planes, s.centres = append(s.planes[:0:0], s.planes...), append(s.centres[:0:0], s.centres...)
		if err := open(encoded(t, &s)); err != nil {
			t.Fatalf("%s, before: %v", name, err)
		}
		spoil(&s)
		if err := open(encoded(t, &s)); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The split space follows order (1), trees (1), cells (4) and norm (8).
	b := encoded(t, x.part)
	if b[14] != byte(SplitPCA) {
		t.Fatal("the split space lies elsewhere")
	}
	b[14] = 7
	if err := open(b); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("no such split space: %v", err)
	}
	b = encoded(t, &ledgerPart{})
	b[14] = byte(SplitOriginal)
	binary.LittleEndian.PutUint32(b[15:], math.MaxUint32)
	if err := open(b); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("4 billion planes: %v", err)
	}
}

func TestBytesPredictsTheSize(t *testing.T) {
	for kind, photos := range kinds {
		x := setUp(t, kind, photos(40, 1), Options{Trees: None, Lists: None})
		x.Scheme = cpar.SchemeCAPIA
		x.write()
		kept, err := x.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Bytes(x.Profile.Layout(), 40)
		if want := uint64(len(x.at.Segment(cpar.SegmentVectors)) + len(kept)); err != nil || got != want {
			t.Errorf("%v: %d bytes predicted, %d written; %v", kind, got, want, err)
		}
	}
}
