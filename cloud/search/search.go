// Package search finds the records nearest to a request in an encrypted index.
//
//	Index, Request ─▶ forest (cpar, AP-X), inverted file (cpar, AP-X)
//	                  or scan (capia) ─▶ Reply
//
// The forest is searched by Algorithm 1, corrected, or by one of the other orders
// of package kdforest; the inverted file is that of package ivf. AP-100 visits
// every record and returns what the scan returns.
//
// A reply does not depend on the number of workers, nor on what else is answered
// in the same batch.
package search

import (
	"context"
	"fmt"
	"runtime"

	"cpar"
	"cpar/cloud/score"
	"cpar/kdforest"
)

// Options say how requests are answered, not what is answered.
type Options struct {
	// Workers is how many goroutines share a scan, the lists of an inverted file or
	// what a search by rank visits, and the requests of a batch to a forest; as
	// many as there are cores where 0. One request to a forest depth first or best
	// bin first is always one goroutine's: a round is ten rows, which take 4 to 7 µs,
	// and halving them took 1.6 times as long.
	Workers int
	// Trace, if set, is told of every visit to a forest or to an inverted file
	// (the visit's tree being its list), in the order of package kdforest or ivf.
	Trace func(kdforest.Visit)

	held int // what tests put in the place of together
}

// Annotate answers q on one core.
func Annotate(x *score.Index, q *cpar.Request) (*cpar.Reply, error) {
	return Options{Workers: 1}.Annotate(context.Background(), x, q)
}

// AnnotateTraced answers q on one core and tells trace of every visit, in
// order, for tests and measurements.
func AnnotateTraced(x *score.Index, q *cpar.Request, trace func(kdforest.Visit)) (*cpar.Reply, error) {
	return Options{Workers: 1, Trace: trace}.Annotate(context.Background(), x, q)
}

// Annotate answers q. It looks now and then whether ctx is done.
func (o Options) Annotate(ctx context.Context, x *score.Index, q *cpar.Request) (*cpar.Reply, error) {
	space, err := score.NewSpace(x, q)
	if err != nil {
		return nil, err
	}
	defer space.Release()
	one := task{x, []*score.Space{space}, []*cpar.Request{q}}
	replies, err := o.answer(ctx, o.way(q.Params), one)
	if err != nil {
		return nil, fmt.Errorf("searching index %v: %w", x.Manifest.ID, err)
	}
	return replies[0], nil
}

// A task is requests of one kind, laid against an index.
type task struct {
	x        *score.Index
	spaces   []*score.Space
	requests []*cpar.Request
}

// A kind of search.
type kind uint8

const (
	byScan kind = iota
	byForest
	byRank
	byLists
	kinds
)

func (o Options) way(p cpar.Params) kind {
	switch {
	case p.UsesForest() && p.Search == cpar.SearchByRank && o.Trace == nil:
		if p.Approx == 1000 { // all records, in the order of memory
			return byScan
		}
		return byRank
	case p.UsesForest():
		return byForest
	case p.Scheme == cpar.SchemeCPAR:
		return byLists
	}
	return byScan
}

// answer answers requests of one kind.
func (o Options) answer(ctx context.Context, k kind, t task) ([]*cpar.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch k {
	case byForest:
		return o.forest(ctx, t)
	case byRank:
		return o.ranked(ctx, t)
	case byLists:
		return o.lists(ctx, t)
	}
	return o.scan(ctx, t)
}

func (o Options) workers() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// reply makes the reply to request i of a task.
func (t *task) reply(i int, hits []kdforest.Hit, visited int) *cpar.Reply {
	r := &cpar.Reply{Index: t.x.Manifest.ID, Visited: uint32(visited), Touched: t.spaces[i].Touched()}
	if len(hits) > 0 {
		r.Matches = make([]cpar.Match, len(hits))
	}
	for j, h := range hits {
		r.Matches[j] = cpar.Match{Record: h.Record, Score: h.Score, Keywords: t.x.Keywords(h.Record)}
	}
	return r
}

// Order is how package kdforest calls a search. At AP-100 a best-bin search has no
// planes to go by, nor needs any: all records are visited in whatever order.
func Order(p cpar.Params) kdforest.Order {
	switch {
	case p.Search == cpar.SearchByRank:
		return kdforest.ByRank
	case p.Search == cpar.SearchBestBin && p.UsesPlanes():
		return kdforest.BestBin
	}
	return kdforest.BottomUp
}
