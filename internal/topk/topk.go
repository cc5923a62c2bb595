// Package topk keeps the best hits of a search.
//
//	Hit (record, score), in any order ─▶ Queue ─▶ the k nearest, in order
//
// Linear scans, k-d forests and inverted files all use a Queue, so that they
// order equal scores the same way.
package topk

import (
	"cmp"
	"slices"
)

// A Hit is a record and its score. Smaller scores are nearer.
type Hit struct {
	Record uint32
	Score  int64
}

// Before orders hits by (score, record). The paper's Algorithm 1 instead breaks
// ties by position in the forest. Record numbers are the same in all trees and
// in a scan, so a search of all records (AP-100) gives the same result as a
// scan.
func (h Hit) Before(g Hit) bool {
	return h.Score < g.Score || h.Score == g.Score && h.Record < g.Record
}

// A Queue keeps the k nearest of the hits pushed to it, like the Queue of
// Algorithm 1. It is a max-heap, so that rejecting a hit takes one comparison.
// If each record is pushed once, the order of pushes does not matter.
type Queue struct {
	limit int
	heap  []Hit
}

// NewQueue returns an empty queue of at most `limit` hits. Memory grows as hits
// arrive, so any limit is safe. At 0 or less, the queue keeps no hits.
func NewQueue(limit int) *Queue { return &Queue{limit: limit} }

// Full reports whether a further hit can enter only by replacing another.
func (q *Queue) Full() bool { return q.limit > 0 && len(q.heap) >= q.limit }

// Worst returns the largest score in the queue. A full queue accepts only
// smaller scores, or an equal score with a smaller record number. Worst panics
// on an empty queue, so check Full first.
func (q *Queue) Worst() int64 { return q.heap[0].Score }

func (q *Queue) Push(h Hit) {
	if q.limit <= 0 {
		return
	}
	if !q.Full() {
		q.heap = append(q.heap, h)
		q.up(len(q.heap) - 1)
		return
	}
	if h.Before(q.heap[0]) {
		q.heap[0] = h
		q.down(0)
	}
}

// Hits returns the hits in the queue, nearest first, in a new slice.
func (q *Queue) Hits() []Hit {
	hits := slices.Clone(q.heap)
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Record, b.Record))
	})
	return hits
}

// Reset empties the queue, keeps its memory, and sets a new limit.
func (q *Queue) Reset(limit int) {
	q.limit = limit
	q.heap = q.heap[:0]
}

func (q *Queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.heap[parent].Before(q.heap[i]) {
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
			if q.heap[worst].Before(q.heap[child]) {
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
