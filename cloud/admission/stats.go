package admission

import (
	"math/bits"
	"time"
)

// Stats are numbers about a Gate: gauges of now, and counters since the start.
type Stats struct {
	Bodies, Replies QueueStats // in bytes
	Turns           QueueStats // of searches
	Checks, Builds  QueueStats // turns of those that read what is stored
	// Limited counts requests beyond their tenant's rate or concurrency.
	Limited uint64
	Batches BatchStats
}

// BatchStats count passes over indexes.
type BatchStats struct {
	Batches, Requests uint64
	// Sizes[i] counts passes of at most 2^i requests, and more than 2^(i−1).
	Sizes [8]uint64
}

// Passed counts a pass.
func (g *Gate) ObserveBatch(requests int) {
	if requests == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.batches
	s.Batches++
	s.Requests += uint64(requests)
	s.Sizes[min(bits.Len(uint(requests-1)), len(s.Sizes)-1)]++
}

// QueueStats are numbers about one queue.
type QueueStats struct {
	Size, Used int64
	Waiting    int64 // requests
	// Granted, Refused (the queue was full) and Expired (the wait was too long) count
	// requests and passes.
	Granted, Refused, Expired uint64
	Waited                    time.Duration // of all that were granted together
}

// Stats returns the numbers of now.
func (g *Gate) Stats() Stats {
	s := Stats{Bodies: g.bodies.stats(), Replies: g.replies.stats(), Turns: g.turns.stats(), Checks: g.checks.stats(), Builds: g.builds.stats()}
	s.Limited = g.tenants.stats()
	g.mu.Lock()
	defer g.mu.Unlock()
	s.Batches = g.batches
	return s
}

func (q *queue) stats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return QueueStats{q.size, q.used, q.waiting, q.grants, q.shed, q.expired, q.waited}
}
