package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/cloud/workers"
	"cpar/kdforest"
)

// ranked answers requests to a forest by rank. What they visit is settled by ranks
// alone, and is then read in the order of memory by all workers. It is what
// kdforest.Search does, with one worker, a record at a time.
func (o Options) ranked(ctx context.Context, t task) ([]*cpar.Reply, error) {
	if o.Trace != nil {
		return o.forest(ctx, t)
	}
	candidates := make([][]uint32, len(t.requests))
	err := workers.Run(o.workers(), len(t.requests), 1, func(_ int, first, last int) error {
		for i := first; i < last; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			visits, err := t.visits(i)
			if err != nil {
				return err
			}
			if candidates[i], err = t.x.Forest.Candidates(t.spaces[i], visits, make([]uint32, 0, visits)); err != nil {
				return fmt.Errorf("%w: %w", cpar.ErrInput, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var wants []want
	visited := make([]int, len(candidates))
	for i, records := range candidates {
		visited[i] = len(records)
		for some := range slices.Chunk(records, stride) {
			wants = append(wants, want{some, i})
		}
	}
	// Requests of a batch read the same rows at about the same time.
	slices.SortFunc(wants, func(a, b want) int {
		return cmp.Or(cmp.Compare(a.records[0], b.records[0]), cmp.Compare(a.request, b.request))
	})
	// nearest[w][i] is of worker w and request i.
	nearest := make([][]*kdforest.Queue, o.workers())
	err = workers.Run(len(nearest), len(wants), 2, func(w, first, last int) error {
		nearest[w] = t.queues()
		return t.gather(ctx, wants[first:last], nearest[w])
	})
	if err != nil {
		return nil, err
	}
	return t.merge(nearest, visited), nil
}

// A want is records, ascending, that a request visits.
type want struct {
	records []uint32
	request int
}

// gather shows the queues, one a request, what is wanted.
func (t *task) gather(ctx context.Context, all []want, queues []*kdforest.Queue) error {
	var scores [stride]int64
	for _, some := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		t.spaces[some.request].Score(some.records, scores[:len(some.records)])
		for i, r := range some.records {
			queues[some.request].Push(kdforest.Hit{Record: r, Score: scores[i]})
		}
	}
	return nil
}

// visits is how many records request i visits.
func (t *task) visits(i int) (int, error) {
	p := t.requests[i].Params
	visits, err := kdforest.Visits(int(p.Approx), int(t.x.Manifest.Records), int(p.L))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	return visits, nil
}
