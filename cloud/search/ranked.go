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

// together is how many records the requests of a batch may visit that are held in
// memory at once, 4 bytes each, whatever was asked for; one request may visit more.
const together = 1 << 22

// ranked answers requests to a forest by rank, a few at a time.
func (o Options) ranked(ctx context.Context, t task) ([]*cpar.Reply, error) {
	var replies []*cpar.Reply
	for first := 0; first < len(t.requests); {
		last, sum := first, 0
		for ; last < len(t.requests); last++ {
			visits, err := t.visits(last)
			if err != nil {
				return nil, err
			}
			if sum += visits; sum > cmp.Or(o.held, together) && last > first {
				break
			}
		}
		some, err := o.rankedTogether(ctx, task{t.x, t.spaces[first:last], t.requests[first:last]})
		if err != nil {
			return nil, err
		}
		replies = append(replies, some...)
		first = last
	}
	return replies, nil
}

// rankedTogether answers requests by rank. What they visit is settled by ranks alone,
// and is then read in the order of memory by all workers. It is what kdforest.Search
// does with one worker and one request.
func (o Options) rankedTogether(ctx context.Context, t task) ([]*cpar.Reply, error) {
	candidates := make([][]uint32, len(t.requests))
	err := workers.Run(o.workers(), len(t.requests), 1, func(_, first, last int) error {
		for i := first; i < last; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			visits, err := t.visits(i)
			if err != nil {
				return err
			}
			if candidates[i], err = t.x.Ballots().Candidates(t.spaces[i], visits, make([]uint32, 0, visits)); err != nil {
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
		for some := range slices.Chunk(records, longestPiece) {
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
	var scores [longestPiece]int64
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
