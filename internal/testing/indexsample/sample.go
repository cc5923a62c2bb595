// Package indexsample makes small indexes for tests: valid manifests, and
// random bytes of matching sizes, in which searches are meaningless.
package indexsample

import (
	"fmt"
	"math/rand/v2"

	"cpar"
	"cpar/internal/indexdir"
)

// Manifest returns a manifest of scheme "cpar" without segments, with an ID
// derived from `seed`.
func Manifest(seed uint64) *cpar.Manifest {
	m := &cpar.Manifest{Scheme: cpar.SchemeCPAR, Records: 5, Dim: 7, Shift: 10, Trees: 2, Place: cpar.PlaceNode,
		PlaneShift: 10, OrderBytes: 2, Fields: 3, Planes: 4, KeywordBytes: 16}
	fill(rand.New(rand.NewPCG(seed, 1)), m.ID[:])
	return m
}

// Segments returns random bytes for the segments of m, with two vectors
// segments. Different seeds give different bytes.
func Segments(m *cpar.Manifest, seed uint64) (kinds []cpar.SegmentKind, segments [][]byte) {
	rng := rand.New(rand.NewPCG(seed, 2))
	row, n := 8*int(m.Dim), int(m.Records)
	for _, s := range []struct {
		kind cpar.SegmentKind
		size int
	}{
		{cpar.SegmentVectors, (n - n/2) * row},
		{cpar.SegmentVectors, n / 2 * row},
		{cpar.SegmentKeywords, n * int(m.KeywordBytes)},
		{cpar.SegmentForest, int(m.Planes)*(2+int(m.OrderBytes)) + int(m.Trees)*n*16},
		{cpar.SegmentPlanes, int(m.Planes) * (int(m.Fields) + 1) * 8},
		{cpar.SegmentLedger, 40},
		{cpar.SegmentProfile, 48},
	} {
		forest := s.kind == cpar.SegmentForest || s.kind == cpar.SegmentPlanes
		if forest && m.Scheme != cpar.SchemeCPAR || s.kind == cpar.SegmentVectors && s.size == 0 {
			continue
		}
		b := make([]byte, s.size)
		fill(rng, b)
		kinds, segments = append(kinds, s.kind), append(segments, b)
	}
	return kinds, segments
}

func fill(rng *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
}

func Write(w *indexdir.Writer, m *cpar.Manifest, seed uint64) error {
	kinds, segments := Segments(m, seed)
	m.Segments = nil
	for i, kind := range kinds {
		s, err := w.AddSegment(kind)
		if err != nil {
			return err
		}
		if _, err := s.Write(segments[i]); err != nil {
			s.Abort()
			return err
		}
		seg, err := s.Close()
		if err != nil {
			return err
		}
		m.Segments = append(m.Segments, seg)
	}
	return w.Activate(m)
}

// Build makes an index in `folder` and returns its manifest. `id` is the seed
// of the index's ID, and `bytes` is the seed of its contents.
func Build(folder string, id, bytes uint64) (*cpar.Manifest, error) {
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		return nil, fmt.Errorf("building a sample index: %w", err)
	}
	defer w.Close()
	m := Manifest(id)
	return m, Write(w, m, bytes)
}
