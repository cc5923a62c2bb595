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
	state   lattice.State
	groups  []*lattice.Group
	records int
	// clustered are the groups with several records in a row, which hold this many; nil
	// where there are none.
	clustered  *Index
	inClusters int
}

// NewIndex checks that the groups fit together, and keeps them.
func NewIndex(p lattice.Params, id cpar.IndexID, groups []*lattice.Group) (*Index, error) {
	state, err := lattice.NewState(p, id)
	if err != nil {
		return nil, fmt.Errorf("opening a sealed index: %w", err)
	}
	x := &Index{params: p, modulus: mod48.New(p.Ring().Q), id: id, state: state, groups: groups}
	for i, g := range groups {
		if !g.Fits(p, id) {
			return nil, fmt.Errorf("opening a sealed index: %w: group %d belongs to another index", cpar.ErrCorrupt, i)
		}
		x.records += g.Count
		x.state = x.state.Append(g.Seed, g.Count)
	}
	return x, nil
}

// Records is the number of records.
func (x *Index) Records() int { return x.inClusters + x.records }
