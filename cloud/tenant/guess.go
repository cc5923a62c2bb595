package tenant

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// These constants limit the number of wrong tokens per address and in total. A
// user who mistypes a token needs only a few attempts.
const (
	guessesPerMinute = 12
	guessBurst       = 10
	guessesInTotal   = 20 // per second
	totalBurst       = 200
	// maxAddresses bounds the table of addresses. An address that was evicted
	// from the table may again try guessBurst tokens at once.
	maxAddresses = 4096
)

type guessLimiter struct {
	now func() time.Time

	mu               sync.Mutex
	total            *rate.Limiter
	by               map[netip.Prefix]*list.Element
	order            *list.List // of *guesser, the most recent first
	refused, limited int64
}

type guesser struct {
	address netip.Prefix
	limit   *rate.Limiter
}

func newGuessLimiter(now func() time.Time) *guessLimiter {
	return &guessLimiter{now: now, total: rate.NewLimiter(guessesInTotal, totalBurst),
		by: map[netip.Prefix]*list.Element{}, order: list.New()}
}

// failed counts a wrong token. If a limit is exceeded, it returns the time that
// the address should wait. Otherwise it returns 0.
func (g *guessLimiter) failed(from netip.Prefix) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused++
	e := g.by[from]
	if e == nil {
		if g.order.Len() == maxAddresses {
			last := g.order.Back()
			delete(g.by, last.Value.(*guesser).address)
			g.order.Remove(last)
		}
		e = g.order.PushFront(&guesser{from, rate.NewLimiter(guessesPerMinute/60.0, guessBurst)})
		g.by[from] = e
	}
	g.order.MoveToFront(e)
	now := g.now()
	for _, l := range []*rate.Limiter{e.Value.(*guesser).limit, g.total} {
		if r := l.ReserveN(now, 1); r.DelayFrom(now) > 0 {
			wait := r.DelayFrom(now)
			r.CancelAt(now)
			g.limited++
			return wait
		}
	}
	return 0
}
