package admission

import (
	"math/bits"
	"time"
)

// Stats contains the current state of a Gate and counters since its start.
type Stats struct {
	Bodies, Replies QueueStats
	Turns           QueueStats
	Checks, Builds  QueueStats // turns for reading stored data and loading indexes
	// Strangers counts connections without a token. Closed connections count as
	// Refused or Expired.
	Strangers QueueStats
	// Answers counts the bytes of answers being sent to strangers.
	Answers QueueStats
	// Limited counts requests refused because of their tenant's rate or
	// concurrency.
	Limited uint64
	Batches BatchStats
}

type BatchStats struct {
	Batches, Requests uint64
	// Sizes[i] counts batches of more than 2^(i−1) and at most 2^i requests.
	Sizes [8]uint64
}

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

type QueueStats struct {
	Size, Used int64         // in units, such as bytes or turns
	Waiting    int64         // requests
	Granted    uint64        // single requests and batches granted
	Refused    uint64        // single requests and batches that found the queue full
	Expired    uint64        // single requests and batches that waited too long
	Waited     time.Duration // total wait of granted requests
}

func (g *Gate) Stats() Stats {
	s := Stats{Bodies: g.bodies.stats(), Replies: g.replies.stats(), Turns: g.turns.stats(), Checks: g.checks.stats(), Builds: g.builds.stats()}
	s.Strangers, s.Answers = g.Door.stats()
	s.Limited = g.tenants.stats()
	g.mu.Lock()
	defer g.mu.Unlock()
	s.Batches = g.batches
	return s
}

func (q *queue) stats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return QueueStats{q.size + q.reserve, q.used + q.lent, q.waiting, q.grants, q.shed, q.expired, q.waited}
}
