package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/parallel"
	"cpar/kdforest"
)

// maxBatchVisits bounds the number of planned visits that a batch holds in
// memory. Each takes 4 bytes. A single request may exceed this bound.
const maxBatchVisits = 1 << 22

func (o Options) planned(ctx context.Context, t task) ([]*cpar.Reply, error) {
	var replies []*cpar.Reply
	for first := 0; first < len(t.requests); {
		last, sum := first, 0
		for ; last < len(t.requests); last++ {
			visits, err := t.visits(last)
			if err != nil {
				return nil, err
			}
			if sum += visits; sum > cmp.Or(o.maxVisits, maxBatchVisits) && last > first {
				break
			}
		}
		some, err := o.plannedBatch(ctx, task{t.x, t.spaces[first:last], t.requests[first:last]})
		if err != nil {
			return nil, err
		}
		replies = append(replies, some...)
		first = last
	}
	return replies, nil
}

// plannedBatch answers requests whose visits do not depend on scores. One
// goroutine per request searches the trees and plans the visits. Then all
// workers score the planned records in memory order, and each pushes them to its
// own queues. kdforest.Search would give the same reply, because the order of
// pushes has no effect.
//
// The paper searches the trees in parallel with a shared Queue (nearest
// records) and Vis (visited records). For visits to at most 10 % of the records,
// one goroutine per tree, with atomics for Vis and a lock for Queue, took 1.3 to
// 3.6 times as long as one goroutine for all trees. The trees also race for the
// permitted visits, so results can differ between runs. With Params.Prune,
// workers can share only a round of ten rows, and sharing took 1.2 to 1.7 times
// as long.
func (o Options) plannedBatch(ctx context.Context, t task) ([]*cpar.Reply, error) {
	candidates := make([][]uint32, len(t.requests))
	err := parallel.Runs(o.workers(), len(t.requests), 1, func(_, first, last int) error {
		for i := first; i < last; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			opt, err := o.forestOptions(t, i)
			if err != nil {
				return err
			}
			var stats kdforest.Stats
			if candidates[i], stats, err = t.x.Forest.Candidates(t.spaces[i], opt, make([]uint32, 0, opt.Visits)); err != nil {
				return fmt.Errorf("%w: %w", cpar.ErrInput, err)
			}
			if o.Stats != nil {
				o.Stats(stats)
			}
			// Candidates are in ascending order. Keep those of this shard.
			first, _ := slices.BinarySearch(candidates[i], t.x.First)
			last, _ := slices.BinarySearch(candidates[i], t.x.Last)
			candidates[i] = candidates[i][first:last]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var chunks []chunk
	visited := make([]int, len(candidates))
	for i, records := range candidates {
		visited[i] = len(records)
		for some := range slices.Chunk(records, longestChunk) {
			chunks = append(chunks, chunk{some[0], uint32(len(some)), some, i})
		}
	}
	return o.gather(ctx, t, chunks, visited)
}

func (t *task) visits(i int) (int, error) {
	p := t.requests[i].Params
	visits, err := kdforest.Visits(int(p.Approx), int(t.x.Manifest.Records), int(p.L))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	return visits, nil
}
