// Package part divides indexes into parts that are searched apart. A part is a run of the
// segments of vectors; of all others each has what a search needs, and they are small beside
// the vectors. What parts answer, put together, is what the whole would have answered.
package shard

import (
	"fmt"

	"cpar"
)

// A Part is a run of the segments of vectors, counted among these. The zero Part is the whole.
type Range struct{ First, Last int }

// Whole reports whether p is the whole index.
func (p Range) Whole() bool { return p == Range{} }

// Has reports whether segment of vectors number i belongs to p.
func (p Range) Contains(i int) bool { return p.Whole() || p.First <= i && i < p.Last }

// Check refuses a part that an index does not have. Errors wrap cpar.ErrInput.
func (p Range) Check(m *cpar.Manifest) error {
	if n := len(vectors(m)); !p.Whole() && (p.First < 0 || p.Last <= p.First || p.Last > n) {
		return fmt.Errorf("%w: part %d to %d of an index with %d segments of vectors", cpar.ErrInput, p.First, p.Last, n)
	}
	return nil
}

// vectors are the sizes of the segments of vectors.
func vectors(m *cpar.Manifest) (bytes []uint64) {
	for _, s := range m.Segments {
		if s.Kind == cpar.SegmentVectors {
			bytes = append(bytes, s.Bytes)
		}
	}
	return bytes
}

// Of divides an index into parts of at least so many bytes, but for the last: a message to
// another machine costs what reading some hundred records does, and should do more than that. It follows
// from the manifest alone. An index of one part is searched whole.
func Split(m *cpar.Manifest, least uint64) []Range {
	var out []Range
	first, sum := 0, uint64(0)
	all := vectors(m)
	for i, bytes := range all {
		if sum += bytes; sum >= least || i+1 == len(all) {
			out = append(out, Range{first, i + 1})
			first, sum = i+1, 0
		}
	}
	if len(out) <= 1 {
		return []Range{{}}
	}
	return out
}

// searched are the kinds of segments that a search needs besides the vectors.
var searched = map[cpar.SegmentKind]bool{
	cpar.SegmentKeywords: true, cpar.SegmentForest: true, cpar.SegmentPlanes: true,
	cpar.SegmentLists: true, cpar.SegmentCentroids: true, cpar.SegmentParams: true,
}

// Needs reports, for each of an index's segments, whether a search of p needs it. The whole has
// all, since it also hands them out.
func (p Range) Needs(m *cpar.Manifest) []bool {
	out, at := make([]bool, len(m.Segments)), 0
	for i, s := range m.Segments {
		switch {
		case p.Whole():
			out[i] = true
		case s.Kind == cpar.SegmentVectors:
			out[i] = p.Contains(at)
			at++
		default:
			out[i] = searched[s.Kind] && (s.Kind != cpar.SegmentKeywords || m.Scheme.Scored())
		}
	}
	return out
}
