package kdforest

import "cpar/internal/topk"

// A Hit is a visited record and its score.
type Hit = topk.Hit

// A Queue keeps the nearest hits of those pushed to it, up to a limit, like the
// Queue of Algorithm 1.
type Queue = topk.Queue

func NewQueue(limit int) *Queue { return topk.NewQueue(limit) }
