package store_test

import (
	"errors"
	"testing"

	"cpar"
	"cpar/cloud/store"
)

// No file is opened.
func TestIndexOfTooManySegmentsIsRefused(t *testing.T) {
	o := ofScheme(t, cpar.SchemeIVF)
	const n = 10_000
	m := *o.m
	m.Records, m.Segments = n, nil
	for i := range n {
		m.Segments = append(m.Segments, cpar.Segment{Kind: cpar.SegmentVectors, Bytes: 7 * 8, Digest: cpar.Digest{1, byte(i), byte(i >> 8)}})
	}
	for _, seg := range o.m.Segments[1:] {
		if seg.Kind == cpar.SegmentKeywords {
			seg.Bytes = n * 16
		}
		m.Segments = append(m.Segments, seg)
	}
	b, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, t.TempDir(), store.Options{})
	if err := s.PutManifest(t.Context(), o.key(), b); !errors.Is(err, store.ErrTooLarge) || !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

func TestMapsAreBounded(t *testing.T) {
	a, b := built(t, 1, 1), built(t, 2, 2)
	s := open(t, t.TempDir(), store.Options{})
	s.MapsAtMost(len(a.m.Segments) + len(b.m.Segments) - 1)
	if err := errors.Join(a.push(s), b.push(s)); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats().Loaded; n != 1 {
		t.Errorf("%d are loaded", n)
	}
	h, err := s.Get(t.Context(), a.key())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), b.key()); !errors.Is(err, store.ErrNoRoom) {
		t.Errorf("beside one in use: %v", err)
	}
	h.Release()
	b.get(t, s)
	a.get(t, s)
}
