// Package shard divides indexes into shards that are searched separately. A
// shard consists of a range of the vector segments (encrypted vectors of
// consecutive records) and all other segments that a search needs. The joined
// replies of all shards equal the reply of the whole index.
package shard

import (
	"errors"
	"fmt"

	"cpar"
)

// A Range is the shard that contains vector segments First to Last−1. The zero
// Range is the whole index.
type Range struct{ First, Last int }

func (p Range) Whole() bool { return p == Range{} }

// Check returns an error that wraps cpar.ErrInput if the range is not part of
// the index.
func (p Range) Check(m *cpar.Manifest) error {
	if n := len(vectors(m)); !p.Whole() && (p.First < 0 || p.Last <= p.First || p.Last > n) {
		return fmt.Errorf("%w: a shard from %d to %d of %d vector segments", cpar.ErrInput, p.First, p.Last, n)
	}
	return nil
}

func vectors(m *cpar.Manifest) (bytes []uint64) {
	for _, s := range m.Segments {
		if s.Kind == cpar.SegmentVectors {
			bytes = append(bytes, s.Bytes)
		}
	}
	return bytes
}

// Split divides an index into shards. Each shard except the last has at least
// minBytes bytes of vector segments. A single shard is the zero Range. The result
// depends only on the arguments.
func Split(m *cpar.Manifest, minBytes uint64) []Range {
	var out []Range
	first, sum := 0, uint64(0)
	all := vectors(m)
	for i, bytes := range all {
		if sum += bytes; sum >= minBytes || i+1 == len(all) {
			out = append(out, Range{first, i + 1})
			first, sum = i+1, 0
		}
	}
	if len(out) <= 1 {
		return []Range{{}}
	}
	return out
}

// CheckSegments validates m and p, and checks that every segment that p needs
// is in `segments`, in the order of m.
func (p Range) CheckSegments(m *cpar.Manifest, segments [][]byte) error {
	if err := errors.Join(m.Validate(), p.Check(m)); err != nil {
		return err
	}
	if len(segments) != len(m.Segments) {
		return fmt.Errorf("%w: %d segments, its manifest lists %d", cpar.ErrCorrupt, len(segments), len(m.Segments))
	}
	for i, needed := range p.Needs(m) {
		if s := m.Segments[i]; needed && uint64(len(segments[i])) != s.Bytes {
			return fmt.Errorf("%w: segment %v (%v) has %d bytes, not %d", cpar.ErrCorrupt, s.Kind, s.Digest, len(segments[i]), s.Bytes)
		}
	}
	return nil
}

var searched = map[cpar.SegmentKind]bool{
	cpar.SegmentKeywords: true, cpar.SegmentForest: true, cpar.SegmentPlanes: true,
	cpar.SegmentLists: true, cpar.SegmentCentroids: true, cpar.SegmentParams: true,
}

// Needs reports for each segment of an index whether shard p needs the segment.
// The zero Range needs all segments, because the server also sends them to
// clients.
func (p Range) Needs(m *cpar.Manifest) []bool {
	out, at := make([]bool, len(m.Segments)), 0
	for i, s := range m.Segments {
		switch {
		case p.Whole():
			out[i] = true
		case s.Kind == cpar.SegmentVectors:
			out[i] = p.First <= at && at < p.Last
			at++
		default:
			out[i] = searched[s.Kind] && (s.Kind != cpar.SegmentKeywords || m.Scheme.Scored())
		}
	}
	return out
}
