package search

import (
	"context"
	"slices"
	"sync"

	"cpar"
	"cpar/cloud/score"
	"cpar/internal/parallel"
	"cpar/internal/topk"
)

// stride is the number of records scored between two checks of the context. It
// is also the minimum number of records for a goroutine. Scoring them takes a
// fifth of a millisecond.
const stride = 256

func (o Options) scan(ctx context.Context, t task) ([]*cpar.Reply, error) {
	n := int(t.x.Last - t.x.First)
	run := t.spaces[0].Run
	if len(t.spaces) > 1 {
		run = score.NewBatch(t.spaces).Run
	}
	visited := slices.Repeat([]int{n}, len(t.requests))
	return o.share(t, n, stride, visited, func(queues []*topk.Queue, first, last int) error {
		return scanPart(ctx, run, queues, int(t.x.First)+first, int(t.x.First)+last)
	})
}

// share divides n pieces of work among the workers and returns the replies.
// Each worker receives at least minLen pieces. Function `do` pushes the hits of
// pieces `first` to `last`−1, in any order, to its worker's queues, one per
// request. visited[i] is the number of records scored for request i.
func (o Options) share(t task, n, minLen int, visited []int, do func(queues []*topk.Queue, first, last int) error) ([]*cpar.Reply, error) {
	nearest := make([][]*topk.Queue, o.workers())
	err := parallel.Runs(len(nearest), n, minLen, func(w, first, last int) error {
		nearest[w] = t.queues()
		return do(nearest[w], first, last)
	})
	if err != nil {
		return nil, err
	}
	replies := make([]*cpar.Reply, len(t.requests))
	for i, all := range t.queues() {
		for _, other := range nearest {
			if other == nil {
				break
			}
			for _, h := range other[i].Hits() {
				all.Push(h)
			}
		}
		replies[i] = t.reply(i, all.Hits(), visited[i])
	}
	return replies, nil
}

func (t *task) queues() []*topk.Queue {
	out := make([]*topk.Queue, len(t.requests))
	for i, q := range t.requests {
		out[i] = topk.NewQueue(int(q.Params.L))
	}
	return out
}

var scratches = sync.Pool{New: func() any { return new([]int64) }}

// scanPart scores records `first` to `last`−1 and pushes them to each request's
// queue.
func scanPart(ctx context.Context, run func(uint32, []int64), queues []*topk.Queue, first, last int) error {
	scratch := scratches.Get().(*[]int64)
	defer scratches.Put(scratch)
	var turn parallel.Turn
	for at := first; at < last; at += stride {
		if err := turn.Yield(ctx); err != nil {
			return err
		}
		n := min(stride, last-at) * len(queues)
		scores := slices.Grow((*scratch)[:0], n)[:n]
		*scratch = scores
		run(uint32(at), scores)
		for i := 0; len(scores) > 0; i++ {
			for k, q := range queues {
				q.Push(topk.Hit{Record: uint32(at + i), Score: scores[k]})
			}
			scores = scores[len(queues):]
		}
	}
	return nil
}
