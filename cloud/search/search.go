// Package search finds the records nearest to a request in an encrypted index.
//
//	Index, Request ─▶ forest (cpar, AP-X), inverted file (ivf, AP-X)
//	                  or scan (capia) ─▶ Reply
//
// Of a forest or an inverted file, one goroutine a request plans which records to visit,
// and all cores score them.
//
// The forest is searched by Algorithm 1, corrected, or in one of the other orders of
// package kdforest; package ivf searches the inverted file. AP-100 visits every record
// and returns what the scan returns.
//
// A reply does not depend on the number of workers or on the rest of its batch.
package search

import (
	"context"
	"fmt"
	"runtime"

	"cpar"
	"cpar/cloud/score"
	"cpar/internal/topk"
	"cpar/kdforest"
)

// Options say how requests are answered; they do not change the answers.
type Options struct {
	// Workers is the number of goroutines that share a scan, the lists of an inverted
	// file, the records that a search of a forest visits, or a batch of requests; 0 means
	// the number of cores. A request to a forest that prunes or is traced runs on one
	// goroutine: planned.go says why.
	Workers int
	// Trace, if set, is called for every visit to a forest or an inverted file (where
	// Tree is the list), in the order of package kdforest or ivf.
	Trace func(kdforest.Visit)
	// Stats, if set, is called with what a forest search did, for a batch by several
	// goroutines. A search by rank counts nothing.
	Stats func(kdforest.Stats)

	maxVisits int // for tests, replaces maxBatchVisits
}

// Annotate answers q on one core.
func Annotate(x *score.Index, q *cpar.Request) (*cpar.Reply, error) {
	return Options{Workers: 1}.Annotate(context.Background(), x, q)
}

// AnnotateTraced answers q on one core and calls trace for every visit, in order. It is
// for tests and measurements.
func AnnotateTraced(x *score.Index, q *cpar.Request, trace func(kdforest.Visit)) (*cpar.Reply, error) {
	return Options{Workers: 1, Trace: trace}.Annotate(context.Background(), x, q)
}

// Annotate answers q. It checks ctx from time to time.
func (o Options) Annotate(ctx context.Context, x *score.Index, q *cpar.Request) (*cpar.Reply, error) {
	space, err := score.NewSpace(x, q)
	if err != nil {
		return nil, err
	}
	defer space.Release()
	one := task{x, []*score.Space{space}, []*cpar.Request{q}}
	replies, err := o.answer(ctx, o.kindOf(q.Params), one)
	if err != nil {
		return nil, fmt.Errorf("searching index %v: %w", x.Manifest.ID, err)
	}
	return replies[0], nil
}

// A task is a set of requests of one kind to one index.
type task struct {
	x        *score.Index
	spaces   []*score.Space
	requests []*cpar.Request
}

// A kind is a kind of search.
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
		if p.Search == cpar.SearchByRank && p.Approx == 1000 { // all records, in the order of memory
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

// answer answers requests of one kind.
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

// reply makes the reply to request i of a task.
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

// Order translates a search for package kdforest. A best-bin search at AP-100 has no
// planes to go by and needs none: it visits all records in any order.
func Order(p cpar.Params) kdforest.Order {
	switch {
	case p.Search == cpar.SearchByRank:
		return kdforest.ByRank
	case p.Search == cpar.SearchBestBin && p.UsesPlanes():
		return kdforest.BestBin
	}
	return kdforest.DepthFirst
}
