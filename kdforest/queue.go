package kdforest

import (
	"cmp"
	"slices"
)

// Hit is a visited record and its score.
type Hit struct {
	Record uint32
	Score  int64
}

// before orders hits by (score, record). The record number breaks ties because
// it is the same in every tree and in a scan.
func (h Hit) before(g Hit) bool {
	return h.Score < g.Score || h.Score == g.Score && h.Record < g.Record
}

// Queue keeps the L nearest hits pushed to it: the Queue of Algorithm 1. It is
// a max-heap. Its content does not depend on the order of pushes if each record
// is pushed once.
type Queue struct {
	limit int
	heap  []Hit
}

// NewQueue returns an empty queue of at most limit hits. Memory grows as hits
// arrive, so any limit is safe. At 0 or less the queue keeps nothing.
func NewQueue(limit int) *Queue { return &Queue{limit: limit} }

// Full reports whether a further hit would have to replace another.
func (q *Queue) Full() bool { return q.limit > 0 && len(q.heap) >= q.limit }

// Worst returns the largest score kept, an upper bound for further hits once
// the queue is full. It panics on an empty queue, so check Full first.
func (q *Queue) Worst() int64 { return q.heap[0].Score }

// Push offers a hit to the queue.
func (q *Queue) Push(h Hit) {
	if q.limit <= 0 {
		return
	}
	if !q.Full() {
		q.heap = append(q.heap, h)
		q.up(len(q.heap) - 1)
		return
	}
	if h.before(q.heap[0]) {
		q.heap[0] = h
		q.down(0)
	}
}

// Hits returns the hits kept, nearest first, in a new slice.
func (q *Queue) Hits() []Hit {
	hits := slices.Clone(q.heap)
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Record, b.Record))
	})
	return hits
}

func (q *Queue) reset(limit int) {
	q.limit = limit
	q.heap = q.heap[:0]
}

func (q *Queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.heap[parent].before(q.heap[i]) {
			return
		}
		q.heap[parent], q.heap[i] = q.heap[i], q.heap[parent]
		i = parent
	}
}

func (q *Queue) down(i int) {
	for {
		worst, left := i, 2*i+1
		for child := left; child <= left+1 && child < len(q.heap); child++ {
			if q.heap[worst].before(q.heap[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		q.heap[worst], q.heap[i] = q.heap[i], q.heap[worst]
		i = worst
	}
}
