package kdforest

import "cpar/internal/topk"

// A Hit is a visited record and its score.
type Hit = topk.Hit

// A Queue keeps the L nearest of the hits that are pushed to it, as the Queue
// of Algorithm 1 does.
type Queue = topk.Queue

// NewQueue returns an empty queue of at most limit hits.
func NewQueue(limit int) *Queue { return topk.NewQueue(limit) }
