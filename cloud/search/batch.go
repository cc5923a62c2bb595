package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/cloud/score"
)

// AnnotateBatch answers requests like Options.AnnotateBatch, on one core.
func AnnotateBatch(x *score.Index, requests []*cpar.Request) ([]*cpar.Reply, error) {
	return Options{Workers: 1}.AnnotateBatch(context.Background(), x, requests)
}

// AnnotateBatch answers requests to one index. Reply i equals the result of
// Annotate for requests[i]. Scans read each row from memory once for all
// requests. Searches of the inverted file read each cell once for all requests
// that visit it. Searches of the forest read the same rows at about the same
// time. If a request is invalid, all requests fail, and the error contains its
// number.
func (o Options) AnnotateBatch(ctx context.Context, x *score.Index, requests []*cpar.Request) ([]*cpar.Reply, error) {
	spaces := make([]*score.Space, len(requests))
	defer func() {
		for _, s := range spaces {
			if s != nil {
				s.Release()
			}
		}
	}()
	var tasks [kinds]task
	var places [kinds][]int
	for i, q := range requests {
		var err error
		if spaces[i], err = score.NewSpace(x, q); err != nil {
			if len(requests) > 1 {
				err = fmt.Errorf("request %d of %d: %w", i+1, len(requests), err)
			}
			return nil, err
		}
		k := o.kindOf(q.Params)
		t := &tasks[k]
		t.x, t.spaces, t.requests = x, append(t.spaces, spaces[i]), append(t.requests, q)
		places[k] = append(places[k], i)
	}
	replies := make([]*cpar.Reply, len(requests))
	for k, t := range tasks {
		if len(t.requests) == 0 {
			continue
		}
		some, err := o.answer(ctx, kind(k), t)
		if err != nil {
			return nil, fmt.Errorf("searching index %v: %w", x.Manifest.ID, err)
		}
		for j, i := range places[k] {
			replies[i] = some[j]
		}
	}
	return replies, nil
}

// Join merges the replies of all shards to one request into the reply of the
// whole index. Scores of one request are comparable across machines.
func Join(q *cpar.Request, parts []*cpar.Reply) *cpar.Reply {
	out := &cpar.Reply{Index: q.Index}
	for _, r := range parts {
		out.Visited += r.Visited
		out.Touched += r.Touched
		out.Matches = append(out.Matches, r.Matches...)
	}
	slices.SortFunc(out.Matches, func(a, b cpar.Match) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Record, b.Record))
	})
	out.Matches = out.Matches[:min(len(out.Matches), int(q.Params.L))]
	return out
}
