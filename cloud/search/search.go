// Package search finds the records nearest to a request in an encrypted index.
//
//	Index, Request ─▶ forest (cpar, AP-X) or scan (capia) ─▶ Reply
//
// The forest is searched by Algorithm 1, corrected (package kdforest). AP-100
// visits every record and returns what the scan returns.
package search

import (
	"fmt"

	"cpar"
	"cpar/cloud/score"
	"cpar/kdforest"
)

// Annotate answers q.
func Annotate(x *score.Index, q *cpar.Request) (*cpar.Reply, error) {
	return AnnotateTraced(x, q, nil)
}

// AnnotateTraced answers q and tells trace of every visit to the forest, in
// order, for tests and measurements.
func AnnotateTraced(x *score.Index, q *cpar.Request, trace func(kdforest.Visit)) (*cpar.Reply, error) {
	space, err := score.NewSpace(x, q)
	if err != nil {
		return nil, err
	}
	m := x.Manifest
	n, l := int(m.Records), int(q.Params.L)
	reply := &cpar.Reply{Index: m.ID, Visited: m.Records}
	var hits []kdforest.Hit
	if q.Params.Scheme == cpar.SchemeCAPIA {
		hits, err = kdforest.Scan(space, n, l, 0)
	} else {
		visits, e := kdforest.Visits(int(q.Params.Approx), n, l)
		if e != nil {
			return nil, fmt.Errorf("searching index %v: %w: %w", m.ID, cpar.ErrInput, e)
		}
		var stats kdforest.Stats
		hits, stats, err = x.Forest.Search(space, kdforest.Options{
			Visits: visits,
			L:      l,
			Prune:  q.Params.UsesPlanes(),
			Order:  Order(q.Params.Search),
			Trace:  trace,
		})
		reply.Visited = uint32(stats.Visited)
	}
	if err != nil {
		return nil, fmt.Errorf("searching index %v: %w", m.ID, err)
	}
	for _, h := range hits {
		reply.Matches = append(reply.Matches, cpar.Match{Record: h.Record, Score: h.Score, Keywords: x.Keywords(h.Record)})
	}
	reply.Touched = space.Touched
	return reply, nil
}

// Order is how package kdforest calls a search.
func Order(s cpar.Search) kdforest.Order {
	if s == cpar.SearchByRank {
		return kdforest.ByRank
	}
	return kdforest.BottomUp
}
