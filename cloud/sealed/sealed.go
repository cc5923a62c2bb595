// Package sealed implements scheme "sealed" on the server. It multiplies
// encrypted records by an encrypted request and cannot read the products.
//
//	groups (stored), request ──▶ one encrypted number per record
//
// The server learns the number of records, their dimension, and the times of
// requests. Package lattice describes the computation.
package sealed

import (
	"fmt"
	"sync"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/mod48"
)

// An Index holds the groups of an index in their original order. A group is a
// set of encrypted records (package lattice). An Index is safe for concurrent
// use.
type Index struct {
	params  lattice.Params
	modulus *mod48.Modulus
	id      cpar.IndexID
	roll    lattice.Roll
	groups  []*lattice.Group
	records int
	asked   bool // whether requests contain a matrix for these groups
	// corrected returns each row's addend plus mod48.Modulus.Correction, which
	// the first request computes.
	corrected func() []uint64
	// clustered holds the groups of hidden cells, which have several records
	// per row. It is nil in an index without cells.
	clustered *Index
	// inClusters is the number of records in clustered.
	inClusters int
}

// NewIndex returns an Index of the groups after checking that they belong to
// index id. The first group has number `first`, which is above 0 if earlier
// groups are in other shards.
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
	x.corrected = sync.OnceValue(func() []uint64 {
		k := p.Records()
		out := make([]uint64, len(groups)*k)
		for i, g := range groups {
			lattice.Words(out[i*k:][:k], g.Addends)
			for row := range k {
				out[i*k+row] = x.modulus.Add(out[i*k+row], x.modulus.Correction(p.Row(g.Matrix, row)))
			}
		}
		return out
	})
	return x, nil
}

func (x *Index) Records() int { return x.inClusters + x.records }
