package scatter

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Busy counts what nodes were asked and have not answered, and remembers who was slow. It may be used
// by several goroutines at once.
type NodeLoad struct {
	mu   sync.Mutex
	of   map[string]int
	slow map[string]time.Time
}

// slowFor is how long a node that was slow is asked after others.
const slowFor = 2 * time.Second

// Slow says that a node has not answered when it should have: it may stand still.
func (b *NodeLoad) MarkSlow(node string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slow == nil {
		b.slow = map[string]time.Time{}
	}
	b.slow[node] = now.Add(slowFor)
}

// Add counts one more for a node, or with −1 one less.
func (b *NodeLoad) Add(node string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[string]int{}
	}
	if b.of[node] += n; b.of[node] <= 0 {
		delete(b.of, node)
	}
}

// Order puts the first of some places into the order in which they are asked: who has least to do
// first, and last who was slow. All of them hold the shard, so that any will do.
func (b *NodeLoad) Order(places []string, holders int, now time.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	work := func(node string) int {
		if now.Before(b.slow[node]) {
			return 1<<30 + b.of[node]
		}
		return b.of[node]
	}
	slices.SortStableFunc(places[:min(holders, len(places))], func(x, y string) int { return cmp.Compare(work(x), work(y)) })
	return places
}

// Recent remembers how long the last answers took, and so when to hedge. It may be used by several
// goroutines at once.
type Latencies struct {
	mu    sync.Mutex
	times [512]time.Duration
	n     int
	hedge time.Duration
	spare float64 // hedges that may still be sent
}

const (
	// minHedge and maxHedge bound Hedge; maxHedge it is while little is known.
	minHedge, maxHedge = 5 * time.Millisecond, 500 * time.Millisecond
	// hedgeShare is how many hedges there may be for each answer, and maxSpare how many at once: where all are slow
	// there is too much to do, and asking twice makes it more.
	hedgeShare, maxSpare = 0.1, 50
)

// Add remembers another answer.
func (r *Latencies) Add(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[r.n%len(r.times)] = d
	r.n++
	r.spare = min(r.spare+hedgeShare, maxSpare)
	if r.n%64 == 0 { // sorting all for each answer would cost more than it tells
		last := slices.Clone(r.times[:min(r.n, len(r.times))])
		slices.Sort(last)
		r.hedge = 3 * last[len(last)*99/100]
	}
}

// Spent says how many hedges a question took.
func (r *Latencies) Spent(hedges int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spare -= float64(hedges)
}

// Hedge is how long a node has before another is asked as well: three times what 99 of 100 answers
// took, or for ever where there have been too many hedges.
func (r *Latencies) Hedge() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.spare < 0:
		return never
	case r.hedge == 0:
		return maxHedge
	}
	return min(max(r.hedge, minHedge), maxHedge)
}

// Patience is how long a node has before it counts as gone.
func (r *Latencies) Patience() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(time.Second, 2*r.hedge)
}

// never is longer than anybody waits.
const never = time.Hour
