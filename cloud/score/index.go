// Package score scores the records and planes of an encrypted index against a
// request.
//
//	C(V) of a record, t of the request ─▶ ⟨C(V), t⟩ mod 2⁶⁴ ─▶ Comp = r_s·(F·Dis − r) − 3ε + noise
//	C(H) of a plane, t of the request  ─▶ r_p·(V_s[f] − split), signed, exact
//
// r_s, r and r_p are the owner's secrets. Scores of one request order as the
// distances do, unless two distances differ by less than the noise. The cloud
// thus learns distances up to a scale and an offset; see SECURITY.md.
package score

import (
	"fmt"

	"cpar"
	"cpar/internal/wire"
)

// An Index is an encrypted index laid open for search. It refers to the
// segments it was made of, which must stay in memory as long as it is used.
// It is never written to and may be used by many goroutines at once.
type Index struct {
	Manifest *cpar.Manifest
	// Forest is nil for scheme capia.
	Forest *cpar.Forest
	// chunks holds the rows of C(V): Manifest.Dim words a record, rowsOf[i]
	// the first record of chunk i.
	chunks   []chunk
	perChunk int
	planes   []uint64
	keywords []byte
	// firstCut[f] is the number of the first plane of field f, and
	// firstCut[f+1] that of the first plane beyond.
	firstCut []uint32
}

type chunk struct {
	first uint32
	rows  []uint64
}

// Load lays an index open. segments holds the bytes of each segment that the
// manifest lists, in its order, checked against their digests.
func Load(m *cpar.Manifest, segments [][]byte) (*Index, error) {
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("loading index %v: %w", m.ID, err)
	}
	if len(segments) != len(m.Segments) {
		return nil, fmt.Errorf("loading index %v: %w: %d segments, its manifest lists %d", m.ID, cpar.ErrCorrupt, len(segments), len(m.Segments))
	}
	x := &Index{Manifest: m}
	var first uint32
	for i, s := range m.Segments {
		b := segments[i]
		if uint64(len(b)) != s.Bytes {
			return nil, fmt.Errorf("loading index %v: %w: segment %v (%v) has %d bytes, not %d", m.ID, cpar.ErrCorrupt, s.Kind, s.Digest, len(b), s.Bytes)
		}
		switch s.Kind {
		case cpar.SegmentVectors:
			x.chunks = append(x.chunks, chunk{first: first, rows: wire.View(b)})
			first += uint32(len(b) / 8 / int(m.Dim))
		case cpar.SegmentKeywords:
			x.keywords = b
		case cpar.SegmentPlanes:
			x.planes = wire.View(b)
		case cpar.SegmentForest:
			f, err := cpar.DecodeForest(m, b)
			if err != nil {
				return nil, fmt.Errorf("loading index %v: %w", m.ID, err)
			}
			x.Forest = f
			x.firstCut = make([]uint32, m.Fields+1)
			for _, c := range f.Cuts {
				x.firstCut[c.Field+1]++
			}
			for i := range m.Fields {
				x.firstCut[i+1] += x.firstCut[i]
			}
		}
	}
	x.perChunk = len(x.chunks[0].rows) / int(m.Dim)
	for i, c := range x.chunks {
		// Equal chunks let a record be found by one division; only the last may
		// be smaller.
		if int(c.first) != i*x.perChunk || len(c.rows) > x.perChunk*int(m.Dim) {
			return nil, fmt.Errorf("loading index %v: %w: vector segments of unequal size", m.ID, cpar.ErrCorrupt)
		}
	}
	return x, nil
}

// row returns C(V) of a record, Dim words modulo 2⁶⁴.
func (x *Index) row(record uint32) []uint64 {
	c := x.chunks[int(record)/x.perChunk]
	dim := int(x.Manifest.Dim)
	at := int(record-c.first) * dim
	return c.rows[at : at+dim : at+dim]
}

// planeRow returns C(H) of a plane, |SF|+1 words modulo 2⁶⁴.
func (x *Index) planeRow(plane uint32) []uint64 {
	dim := int(x.Manifest.Fields) + 1
	at := int(plane) * dim
	return x.planes[at : at+dim : at+dim]
}

// Keywords returns the encrypted keyword block of a record.
func (x *Index) Keywords(record uint32) []byte {
	size := int(x.Manifest.KeywordBytes)
	at := int(record) * size
	return x.keywords[at : at+size : at+size]
}
