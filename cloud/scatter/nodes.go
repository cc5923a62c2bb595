package scatter

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// NodeLoad counts outstanding requests per node and remembers slow nodes. It is
// safe for concurrent use.
type NodeLoad struct {
	mu   sync.Mutex
	of   map[string]int       // outstanding requests by node
	slow map[string]time.Time // the time until which a node counts as slow
}

const slowFor = 2 * time.Second

// MarkSlow records that a node has not answered within the hedging delay and
// may hang.
func (b *NodeLoad) MarkSlow(node string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slow == nil {
		b.slow = map[string]time.Time{}
	}
	b.slow[node] = now.Add(slowFor)
}

// Add adds n (1 or −1) to the number of outstanding requests of a node.
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

// Order sorts the nodes that hold a shard (the first `holders` elements of
// `places`) by outstanding requests, with slow nodes last. The other elements
// keep their positions.
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

// Latencies computes the hedging delay from recent response times. After this
// delay, a second node is asked (a hedge). It is safe for concurrent use.
type Latencies struct {
	mu    sync.Mutex
	times [512]time.Duration
	n     int
	hedge time.Duration
	spare float64 // hedges still allowed
}

const (
	// minHedge and maxHedge bound the hedging delay. Until 64 response times are
	// known, the delay is maxHedge.
	minHedge, maxHedge = 5 * time.Millisecond, 500 * time.Millisecond
	// hedgeShare is the number of hedges that each response adds to the
	// allowance. The allowance is limited because hedging adds load. Its maximum
	// is maxSpare.
	hedgeShare, maxSpare = 0.1, 50
)

func (r *Latencies) Add(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[r.n%len(r.times)] = d
	r.n++
	r.spare = min(r.spare+hedgeShare, maxSpare)
	if r.n%64 == 0 { // sorting after every response would take too long
		last := slices.Clone(r.times[:min(r.n, len(r.times))])
		slices.Sort(last)
		r.hedge = 3 * last[len(last)*99/100]
	}
}

// Spent subtracts the hedges of a query from the allowance.
func (r *Latencies) Spent(hedges int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spare -= float64(hedges)
}

// Hedge returns the hedging delay, or `never` if the allowance is used up.
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

func (r *Latencies) Patience() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(time.Second, 2*r.hedge)
}

const never = time.Hour
