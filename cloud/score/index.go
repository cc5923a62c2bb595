// Package score computes the scores of an encrypted index's records and planes
// for a request. A plane is a split of the k-d forest at one value of one field
// (a dimension of the vectors).
//
//	C(V) of a record, request vector t      ─▶ ⟨C(V), t⟩ mod 2⁶⁴ ─▶ Comp = r_s·(F·Dis − r) − 3ε + noise
//	C(H) of a plane, request's plane vector ─▶ r_p·(V_s[f] − split), signed, exact
//
// C(V) and C(H) are ciphertexts, and t encrypts the request's vector V_s. Dis
// is the distance between V_s and the record, F is a public constant, and ε is
// a random disturbance of the record. The plane splits field f at the value
// `split`.
//
// The offset r of the index and the factors r_s and r_p of the request are
// secrets of the owner. Scores of one request preserve the order of distances,
// except for differences smaller than the noise. The server therefore learns
// distances up to a scale and an offset. See SECURITY.md.
package score

import (
	"encoding/binary"
	"fmt"
	"sync"

	"cpar"
	"cpar/cloud/shard"
	"cpar/internal/wire"
	"cpar/ivf"
	"cpar/kdforest"
)

// An Index is an encrypted index ready for search. Its segments must stay in
// memory. It is immutable and safe for concurrent use.
type Index struct {
	Manifest *cpar.Manifest
	// First and Last delimit the loaded vectors: records First to Last−1.
	First, Last uint32
	// Forest is nil in an index without a forest.
	Forest *cpar.Forest
	// Cells is nil in an index without an inverted file.
	Cells *ivf.Cells
	// vectors has one row per loaded record, its ciphertext C(V).
	vectors table
	// centroids has one row per cell, the encrypted centroid.
	centroids table
	// planes has one row per plane, its ciphertext C(H).
	planes   table
	keywords []byte
	// firstCut[f] to firstCut[f+1]−1 are the numbers of the planes that split
	// field f.
	firstCut []uint32
	// Ballots returns the trees in the form that a search by rank reads. The
	// first call converts the trees.
	Ballots func() *kdforest.Ballots
}

// Load prepares an index for search. `segments` holds the bytes of all segments
// in the order of the manifest. The caller has verified their digests. Errors
// wrap cpar.ErrCorrupt.
func Load(m *cpar.Manifest, segments [][]byte) (*Index, error) {
	return LoadShard(m, shard.Range{}, segments)
}

// LoadShard prepares shard p like Load. Segments that p does not need are nil.
func LoadShard(m *cpar.Manifest, p shard.Range, segments [][]byte) (*Index, error) {
	if err := p.CheckSegments(m, segments); err != nil {
		return nil, err
	}
	x := &Index{Manifest: m}
	x.vectors.dim, x.centroids.dim, x.planes.dim = int(m.Dim), int(m.Dim), int(m.Fields)+1
	rows := uint32(0) // rows in the vectors segments seen so far
	for i, needed := range p.Needs(m) {
		s, b := m.Segments[i], segments[i]
		if s.Kind == cpar.SegmentVectors {
			if needed && x.Last == 0 {
				x.First, x.vectors.first = rows, rows
			}
			if rows += uint32(s.Bytes / 8 / uint64(m.Dim)); needed {
				x.Last = rows
			}
		}
		if !needed {
			continue
		}
		if err := x.take(s.Kind, b); err != nil {
			return nil, err
		}
	}
	for _, t := range []*table{&x.vectors, &x.centroids, &x.planes} {
		if !t.close() {
			return nil, fmt.Errorf("%w: vector segments of unequal size", cpar.ErrCorrupt)
		}
	}
	x.Ballots = sync.OnceValue(func() *kdforest.Ballots { return kdforest.NewBallots(&x.Forest.Forest) })
	return x, nil
}

// Whole reports whether the vectors of all records are loaded.
func (x *Index) Whole() bool { return x.First == 0 && x.Last == x.Manifest.Records }

func (x *Index) take(kind cpar.SegmentKind, b []byte) error {
	switch kind {
	case cpar.SegmentVectors:
		x.vectors.add(wire.View(b))
	case cpar.SegmentCentroids:
		x.centroids.add(wire.View(b))
	case cpar.SegmentPlanes:
		x.planes.add(wire.View(b))
	case cpar.SegmentKeywords:
		x.keywords = b
	case cpar.SegmentLists:
		return x.takeCells(b)
	case cpar.SegmentForest:
		return x.takeForest(b)
	}
	return nil
}

func (x *Index) takeForest(b []byte) error {
	f, err := cpar.DecodeForest(x.Manifest, b)
	if err != nil {
		return err
	}
	x.Forest = f
	x.firstCut = make([]uint32, x.Manifest.Fields+1)
	for _, c := range f.Cuts {
		x.firstCut[c.Field+1]++
	}
	for i := range x.Manifest.Fields {
		x.firstCut[i+1] += x.firstCut[i]
	}
	return nil
}

func (x *Index) takeCells(b []byte) error {
	m := x.Manifest
	first := make([]uint32, m.Lists, m.Lists+1)
	for i := range first {
		first[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	x.Cells = &ivf.Cells{First: append(first, m.Records)}
	if err := x.Cells.Validate(); err != nil {
		return fmt.Errorf("reading lists: %w: %w", cpar.ErrCorrupt, err)
	}
	return nil
}

func (x *Index) Keywords(record uint32) []byte {
	size := int(x.Manifest.KeywordBytes)
	at := int(record) * size
	return x.keywords[at : at+size : at+size]
}
