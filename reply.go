package cpar

import (
	"encoding/binary"
	"fmt"
)

// A Reply holds the records that the cloud found nearest.
type Reply struct {
	Index IndexID
	// Visited is the number of distinct records scored.
	Visited uint32
	// Touched is the number of ciphertext bytes read to score them.
	Touched uint64
	// Matches are in ascending order of (Score, Record).
	Matches []Match
	// Opaque is the whole reply to an opaque request, in the scheme's own encoding (for
	// sealed: cpar/internal/lattice); nil for other requests.
	Opaque []byte
}

// A Match is one record of a reply.
type Match struct {
	Record uint32
	// Score is Comp = r_s·(F·Dis − r) − 3ε, rounded. Only the owner, who knows r_s and r,
	// can turn it into a distance.
	Score int64
	// Keywords is the record's keyword block, as stored in the index.
	Keywords []byte
}

// AppendBinary appends the canonical encoding of a. All keyword blocks must
// have the same length.
func (a *Reply) AppendBinary(b []byte) ([]byte, error) {
	if _, m, ok := schemeOf(a.Opaque, asReply); ok || a.Opaque != nil {
		return appendOpaque(b, a.Opaque, m, a.Index)
	}
	b = appendHeader(b, kindReply)
	b = append(b, a.Index[:]...)
	b = binary.LittleEndian.AppendUint32(b, a.Visited)
	b = binary.LittleEndian.AppendUint64(b, a.Touched)
	size := 0
	if len(a.Matches) > 0 {
		size = len(a.Matches[0].Keywords)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(a.Matches)))
	for i, m := range a.Matches {
		if len(m.Keywords) != size {
			return nil, fmt.Errorf("writing reply: match %d has a keyword block of %d bytes, match 0 has %d", i, len(m.Keywords), size)
		}
		b = binary.LittleEndian.AppendUint32(b, m.Record)
		b = binary.LittleEndian.AppendUint64(b, uint64(m.Score))
		b = append(b, m.Keywords...)
	}
	return b, nil
}

// MarshalBinary returns the canonical encoding of a.
func (a *Reply) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// Scheme returns the scheme of an opaque reply. ok is false for a reply in the common
// encoding, which does not carry its scheme.
func (a *Reply) Scheme() (s Scheme, ok bool) {
	s, _, ok = schemeOf(a.Opaque, asReply)
	return s, ok
}

func asReply(f schemeSpec) message { return f.reply }

// DecodeReply reads a reply. An opaque reply keeps b. Errors wrap ErrCorrupt or ErrVersion.
func DecodeReply(b []byte) (*Reply, error) {
	if _, m, ok := schemeOf(b, asReply); ok {
		id, err := readOpaque(b, m)
		if err != nil {
			return nil, err
		}
		return &Reply{Index: id, Opaque: b}, nil
	}
	r, err := readHeader(b, kindReply)
	if err != nil {
		return nil, err
	}
	a := new(Reply)
	copy(a.Index[:], r.Bytes(len(a.Index), "index id"))
	a.Visited = r.U32("visited")
	a.Touched = r.U64("touched")
	size := int(r.U32("keyword block size"))
	n := r.Count(4+8+size, "matches")
	if r.Err() == nil && (n > MaxNeighbours || n == 0 && size != 0) {
		r.Fail("%d matches with keyword blocks of %d bytes", n, size)
	}
	for i := 0; i < n && r.Err() == nil; i++ {
		m := Match{Record: r.U32("record"), Score: int64(r.U64("score")), Keywords: r.Bytes(size, "keyword block")}
		if i > 0 && !a.Matches[i-1].before(m) {
			r.Fail("match %d is out of order", i)
		}
		a.Matches = append(a.Matches, m)
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading reply: %w", err)
	}
	return a, nil
}

func (m Match) before(o Match) bool {
	return m.Score < o.Score || m.Score == o.Score && m.Record < o.Record
}
