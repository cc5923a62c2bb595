package lattice

import (
	"fmt"

	"cpar"
	"cpar/internal/wire"
)

// A Group holds K encrypted records. It is not secret.
type Group struct {
	Index cpar.IndexID
	// Seed generates a_g. Every write draws a new seed.
	Seed [SeedSize]byte
	// Count is the number of records, 1 to K. Further rows encrypt zeros.
	Count int
	// Addends holds D times the evaluations of A_g at the K points, packed.
	Addends []byte
	// Matrix holds the evaluations of W_{g,b} as K rows of B·D packed words.
	Matrix []byte
}

// Fits reports whether g can be a group of index id under p.
func (g *Group) Fits(p Params, id cpar.IndexID) bool {
	return g.Index == id && g.Count >= 1 && g.Count <= p.Records() &&
		len(g.Addends) == p.Records()*WordBytes && len(g.Matrix) == p.MatrixBytes()
}

func (p Params) GroupSize() int {
	return headerSize + SeedSize + 8 + p.Records()*WordBytes + p.MatrixBytes()
}

func (g *Group) AppendBinary(b []byte) []byte {
	b = AppendHeader(b, KindGroup, g.Index)
	b = append(b, g.Seed[:]...)
	b = AppendCount(b, g.Count)
	b = append(b, g.Addends...)
	return append(b, g.Matrix...)
}

// DecodeGroup decodes a group under valid parameters. The group aliases b,
// which may be a read-only memory map. Errors wrap cpar.ErrCorrupt or
// cpar.ErrVersion.
func DecodeGroup(p Params, b []byte) (*Group, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	id, err := ReadHeader(r, KindGroup)
	if err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindGroup, err)
	}
	g := &Group{Index: id}
	copy(g.Seed[:], r.Bytes(SeedSize, "seed"))
	g.Count = ReadCount(r, "count of records")
	if r.Err() == nil && (g.Count < 1 || g.Count > p.Records()) {
		r.Fail("%d records in a group of 1 to %d", g.Count, p.Records())
	}
	g.Addends = p.Ring().elements(r, p.Records(), "the addends")
	g.Matrix = p.Ring().elements(r, p.Words(), "the matrix")
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading %v: %w", KindGroup, err)
	}
	return g, nil
}
