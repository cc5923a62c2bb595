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
	"runtime"

	"cpar"
	share "cpar/cloud/workers"
	"cpar/internal/lattice"
)

// Index holds the groups of an index in the order in which they were added. It is safe
// for concurrent use.
type Index struct {
	params  lattice.Params
	id      cpar.IndexID
	state   lattice.State
	groups  []*lattice.Group
	first   []int // number of each group's first record
	records int
}

// NewIndex checks that the groups fit together, and keeps them.
func NewIndex(p lattice.Params, id cpar.IndexID, groups []*lattice.Group) (*Index, error) {
	state, err := lattice.NewState(p, id)
	if err != nil {
		return nil, fmt.Errorf("opening a sealed index: %w", err)
	}
	x := &Index{params: p, id: id, state: state, groups: groups}
	for i, g := range groups {
		if !g.Fits(p, id) {
			return nil, fmt.Errorf("opening a sealed index: %w: group %d belongs to another index", cpar.ErrCorrupt, i)
		}
		x.first = append(x.first, x.records)
		x.records += g.Count
		x.state = x.state.Append(g.Seed, g.Count)
	}
	return x, nil
}

// Records is the number of records.
func (x *Index) Records() int { return x.records }

// Evaluate multiplies every record by the request. It reads every group once,
// sequentially. workers bounds the number of goroutines.
func (x *Index) Evaluate(q *lattice.Request, workers int) (*lattice.Reply, error) {
	if q.Index != x.id || len(q.Matrix) != x.params.Words() {
		return nil, fmt.Errorf("evaluating a sealed request: %w: it is for another index", cpar.ErrInput)
	}
	r := &lattice.Reply{Index: x.id, Number: q.Number, State: x.state, Scores: make([]uint64, x.records)}
	err := share.Run(workers, len(x.groups), 1, func(_, from, to int) error {
		x.evaluate(r.Scores, q, from, to)
		return nil
	})
	return r, err
}

// evaluate writes the encrypted scores of groups from to to−1, four groups at a time
// while it can. InterpolateFolded removes the factors 1/D and that of Dot.
func (x *Index) evaluate(scores []uint64, q *lattice.Request, from, to int) {
	p := x.params
	y := make([][]uint64, 4)
	for i := range y {
		y[i] = make([]uint64, p.Records())
	}
	for ; to-from >= 4; from += 4 {
		runtime.Gosched() // requests of others need a core for a moment
		groups := x.groups[from : from+4]
		for k := range p.Records() {
			var rows [4][]uint64
			for i, g := range groups {
				rows[i] = p.Row(g.Matrix, k)
			}
			for i, dot := range lattice.DotFour(&rows, p.Row(q.Matrix, k)) {
				y[i][k] = dot
			}
		}
		for i := range groups {
			x.finish(scores, y[i], from+i)
		}
	}
	for ; from < to; from++ {
		for k := range y[0] {
			y[0][k] = lattice.Dot(p.Row(x.groups[from].Matrix, k), p.Row(q.Matrix, k))
		}
		x.finish(scores, y[0], from)
	}
}

// finish turns the products at the points of one group into encrypted scores.
func (x *Index) finish(scores, y []uint64, group int) {
	g := x.groups[group]
	lattice.InterpolateFolded(y)
	for i, c := range y[:g.Count] {
		scores[x.first[group]+i] = lattice.Round(lattice.Add(c, g.Addends[i]), x.params.ReplyBits())
	}
}
