// Package sealed is the server's side of scheme sealed. It multiplies encrypted
// records by an encrypted request and cannot read the products.
//
//	groups (stored), request ──▶ one encrypted number per record
//
// The server learns the number of records, their dimension, and the times of
// requests. Package lattice describes the computation.
package sealed

import (
	"fmt"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/mod48"
)

// An Index holds the groups of an index in their original order. It is safe for
// concurrent use.
type Index struct {
	params  lattice.Params
	modulus *mod48.Modulus
	id      cpar.IndexID
	roll    lattice.Roll
	groups  []*lattice.Group
	records int
	asked   bool // requests contain a matrix for these groups
	// clustered holds the groups with several records per row, or is nil. They
	// have inClusters records.
	clustered  *Index
	inClusters int
}

// NewIndex checks that the groups are consistent and keeps them. first is the
// number of the first group, above 0 in a later shard.
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

func (x *Index) Records() int { return x.inClusters + x.records }
