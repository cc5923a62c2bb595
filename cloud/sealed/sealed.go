// Package sealed is the cloud's side of scheme sealed. It multiplies encrypted records by
// an encrypted request and cannot read the products.
//
//	groups (stored), request ──▶ one encrypted number per record
//
// The cloud learns how many records there are, their dimension, and when requests arrive.
// Package lattice says what is computed.
package sealed

import (
	"fmt"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/mod48"
)

// Index holds the groups of an index in the order in which they were added. It is safe
// for concurrent use.
type Index struct {
	params  lattice.Params
	modulus *mod48.Modulus
	id      cpar.IndexID
	roll    lattice.Roll
	groups  []*lattice.Group
	records int
	asked   bool // requests have a matrix for them
	// clustered are the groups with several records in a row, which hold this many; nil
	// where there are none.
	clustered  *Index
	inClusters int
}

// NewIndex checks that the groups fit together, and keeps them. The first has the number first, 0 unless
// those before it are elsewhere.
func NewIndex(p lattice.Params, id cpar.IndexID, first int, groups []*lattice.Group) (*Index, error) {
	roll, err := lattice.NewRoll(p, id, first)
	if err != nil {
		return nil, fmt.Errorf("opening a sealed index: %w", err)
	}
	x := &Index{params: p, modulus: mod48.New(p.Ring().Q), id: id, roll: roll, groups: groups, asked: first+len(groups) > 0}
	for i, g := range groups {
		if !g.Fits(p, id) {
			return nil, fmt.Errorf("opening a sealed index: %w: group %d belongs to another index", cpar.ErrCorrupt, i)
		}
		x.records += g.Count
		x.roll = x.roll.Append(g.Seed, g.Count)
	}
	return x, nil
}

// Records is the number of records.
func (x *Index) Records() int { return x.inClusters + x.records }
