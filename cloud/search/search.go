// Package search finds the records nearest to a request in an encrypted index.
//
//	Index, Request ─▶ forest (scheme "cpar"), inverted file (scheme "ivf")
//	                  or scan (scheme "capia") ─▶ Reply
//
// A search of a forest or an inverted file at AP-X (approximation power X)
// visits X % of the records. One goroutine per request plans the visits, and all
// cores score the records. The forest is searched by the paper's Algorithm 1
// with corrections, or in another order of package kdforest. A search at AP-100
// returns the same reply as a scan. The number of workers and the other requests
// of a batch do not affect a reply.
package search

import (
	"context"
	"runtime"

	"cpar"
	"cpar/cloud/score"
	"cpar/internal/topk"
	"cpar/kdforest"
)

type Options struct {
	// Workers is the number of goroutines that share a request or batch. The
	// default is the number of cores. A forest search that prunes or is traced
	// runs on one goroutine (see plannedBatch for the reason).
	Workers int
	// Trace, if set, is called for every visit in a forest or an inverted file,
	// in the order of package kdforest or ivf. In an inverted file,
	// kdforest.Visit.Tree is the number of the cell.
	Trace func(kdforest.Visit)
	// Stats, if set, is called with the statistics of each forest search. For a
	// batch, several goroutines call it. All statistics of a search by rank are
	// 0.
	Stats func(kdforest.Stats)

	maxVisits int
}

// Annotate answers q on one core.
func Annotate(x *score.Index, q *cpar.Request) (*cpar.Reply, error) {
	return Options{Workers: 1}.Annotate(context.Background(), x, q)
}

// AnnotateTraced answers q on one core and calls `trace` for every visit, in
// order.
func AnnotateTraced(x *score.Index, q *cpar.Request, trace func(kdforest.Visit)) (*cpar.Reply, error) {
	return Options{Workers: 1, Trace: trace}.Annotate(context.Background(), x, q)
}

func (o Options) Annotate(ctx context.Context, x *score.Index, q *cpar.Request) (*cpar.Reply, error) {
	replies, err := o.AnnotateBatch(ctx, x, []*cpar.Request{q})
	if err != nil {
		return nil, err
	}
	return replies[0], nil
}

// A task is a set of requests to one index that are searched in the same way.
type task struct {
	x        *score.Index
	spaces   []*score.Space
	requests []*cpar.Request
}

type kind uint8

const (
	byScan kind = iota
	byForest
	byPlan
	byLists
	kinds
)

func (o Options) kindOf(p cpar.Params) kind {
	switch {
	case p.UsesForest() && !prunes(p) && o.Trace == nil:
		if p.Search == cpar.SearchByRank && p.Approx == 1000 { // it scores all records, and a scan does so faster
			return byScan
		}
		return byPlan
	case p.UsesForest():
		return byForest
	case p.Search == cpar.SearchIVF:
		return byLists
	}
	return byScan
}

func (o Options) answer(ctx context.Context, k kind, t task) ([]*cpar.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch k {
	case byForest:
		return o.forest(ctx, t)
	case byPlan:
		return o.planned(ctx, t)
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

func (t *task) reply(i int, hits []topk.Hit, visited int) *cpar.Reply {
	r := &cpar.Reply{Index: t.x.Manifest.ID, Visited: uint32(visited), Touched: t.spaces[i].Touched()}
	if len(hits) > 0 {
		r.Matches = make([]cpar.Match, len(hits))
	}
	for j, h := range hits {
		r.Matches[j] = cpar.Match{Record: h.Record, Score: h.Score, Keywords: t.x.Keywords(h.Record)}
	}
	return r
}

// Order returns the order in which package kdforest searches for p. A best-bin
// search at AP-100 becomes depth-first: it visits all records in any case, and
// depth-first needs no plane distances.
func Order(p cpar.Params) kdforest.Order {
	switch {
	case p.Search == cpar.SearchByRank:
		return kdforest.ByRank
	case p.Search == cpar.SearchBestBin && p.UsesPlanes():
		return kdforest.BestBin
	}
	return kdforest.DepthFirst
}
