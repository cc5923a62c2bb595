package search

import (
	"context"
	"slices"
	"sync"

	"cpar"
	"cpar/cloud/score"
	"cpar/internal/parallel"
	"cpar/internal/topk"
	"cpar/ivf"
	"cpar/kdforest"
)

// lists answers requests to the inverted file. Package ivf plans the visits
// from the scores of centroids. Then all workers score the planned records in
// memory order. Each piece of a cell is read once for all requests that visit
// it.
func (o Options) lists(ctx context.Context, t task) ([]*cpar.Reply, error) {
	plan := plans.Get().(*plan)
	defer plans.Put(plan)
	if err := plan.fill(o, t); err != nil {
		return nil, err
	}
	return o.gather(ctx, t, plan.chunks, plan.visited)
}

type plan struct {
	chunks  []chunk
	visited []int
	scores  []int64
}

var plans = sync.Pool{New: func() any { return new(plan) }}

func (p *plan) fill(o Options, t task) error {
	p.chunks, p.visited = p.chunks[:0], p.visited[:0]
	k, n := t.x.Cells.Len(), len(t.requests)
	p.scores = slices.Grow(p.scores[:0], k*n)[:k*n]
	run := t.spaces[0].Centroids
	if n > 1 {
		run = score.NewBatch(t.spaces).Centroids
	}
	err := parallel.Runs(o.workers(), k, longestChunk, func(_, first, last int) error {
		run(uint32(first), p.scores[first*n:last*n])
		return nil
	})
	if err != nil {
		return err
	}
	for i, q := range t.requests {
		visits, err := t.visits(i)
		if err != nil {
			return err
		}
		opt := ivf.Options{Visits: visits, L: int(q.Params.L)}
		if o.Trace != nil {
			opt.Trace = func(v ivf.Visit) {
				var score [1]int64 // v has no score, because a planner computes no scores
				t.spaces[i].Run(v.Record, score[:])
				o.Trace(kdforest.Visit{Tree: int(v.Cell), Hit: topk.Hit{Record: v.Record, Score: score[0]}})
			}
		}
		p.visited = append(p.visited, 0)
		if _, _, err := t.x.Cells.Search(column{p.scores, i, n}, planner{p, t.x, i}, opt); err != nil {
			return err
		}
	}
	return nil
}

type column struct {
	scores []int64
	i, n   int
}

func (c column) Run(first uint32, scores []int64) {
	for j := range scores {
		scores[j] = c.scores[(int(first)+j)*c.n+c.i]
	}
}

// A planner is an ivf.Scorer that records the visits of a request to this shard
// and computes no scores. It divides a cell into chunks from the first record
// of the cell on, so that chunks of different requests coincide.
type planner struct {
	*plan
	x       *score.Index
	request int
}

func (w planner) Run(first uint32, scores []int64) {
	clear(scores)
	for last := first + uint32(len(scores)); first < last; first += longestChunk {
		from, to := max(first, w.x.First), min(first+longestChunk, last, w.x.Last)
		if from < to {
			w.chunks = append(w.chunks, chunk{from, to - from, nil, w.request})
			w.visited[w.request] += int(to - from)
		}
	}
}
