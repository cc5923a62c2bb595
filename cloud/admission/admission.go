// Package admit decides what a cloud takes on, so that no client can make it hold more
// memory, wait longer or compute more than its share.
//
//	request ─▶ Enter (rate, concurrency of its tenant)
//	        ─▶ Bytes (before its body is read) ─▶ Turn (before anything is computed)
//	        ─▶ Replies (before replies are made) ─▶ all given back
//
// Each of these is a queue of bounded length in which a request waits for a bounded time.
// Whoever finds it full is told so by a Full, with an honest time to come back.
//
// The queues are fair. The next place goes to the tenant that has been given least, and
// within a tenant to the class, light or heavy, that has been given least: a single
// request overtakes the batches of its own owner too. Within a class it is first come, first
// served. golang.org/x/sync/semaphore serves everybody in the order of arrival, so that a
// tenant with 64 clients would make another's one client wait behind all of them.
package admission

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Limits configures a Gate. A zero field stands for its default.
type Limits struct {
	// Memory is the number of bytes of bodies, decoded requests and replies that may be
	// held at the same time; 0 means 256 MB. Replies have a fourth of it for themselves:
	// a request that holds its body and waits for the memory of its reply must not wait
	// for another in the same state.
	Memory int64
	// Turns is the number of passes that are computed at the same time; 0 means the number
	// of cores.
	Turns int
	// Queue is the number of requests that may wait for each thing; 0 means 16,384. A batch
	// counts as many as it has.
	Queue int64
	// Wait is the longest wait for each thing; 0 means ten seconds.
	Wait time.Duration
}

// ErrBusy: come back later. ErrTooMany: come back later, since the tenant's own limits are
// reached, whatever others do. Both come as a Full.
var (
	ErrBusy    = errors.New("the cloud is busy")
	ErrTooMany = errors.New("too many requests")
)

// ErrExceedsCapacity: it is more than this cloud takes from anybody, now or later.
var ErrExceedsCapacity = errors.New("more than this cloud takes at once")

// A Full is the error for whoever must come back later.
type OverloadError struct {
	kind  error
	what  string
	after time.Duration
}

func (f *OverloadError) Error() string { return f.kind.Error() + ": " + f.what }

// Unwrap returns ErrBusy or ErrTooMany.
func (f *OverloadError) Unwrap() error { return f.kind }

// RetryAfter is an estimate of when to come back: a second to a minute.
func (f *OverloadError) RetryAfter() time.Duration {
	return min(max(f.after, time.Second), time.Minute)
}

// A Gate holds the queues and budgets of one cloud. It is safe for concurrent use.
type Gate struct {
	limits  Limits
	bodies  *queue
	replies *queue
	turns   *queue
	checks  *queue
	builds  *queue
	tenants *tenants

	mu      sync.Mutex
	batches BatchStats
}

// New returns a Gate.
func New(l Limits) *Gate {
	if l.Memory == 0 {
		l.Memory = 256 << 20
	}
	if l.Turns == 0 {
		l.Turns = runtime.GOMAXPROCS(0)
	}
	if l.Queue == 0 {
		l.Queue = 16 << 10
	}
	if l.Wait == 0 {
		l.Wait = 10 * time.Second
	}
	replies := l.Memory / 4
	g := &Gate{
		limits:  l,
		bodies:  newQueue("its memory for requests is in use", l.Memory-replies, byUnits, l),
		replies: newQueue("its memory for replies is in use", replies, byUnits, l),
		turns:   newQueue("too many requests are waiting", int64(l.Turns), byTime, l),
		// Reading what is stored takes two cores, however many ask for it, and one of them for
		// a tenant: all that it has stored may take minutes to read.
		checks: newQueue("too many checks of segments are waiting", 2, byTime, l),
		builds: newQueue("too many activations are waiting", int64(max(2, l.Turns)), byTime, l),
		// Anybody can come with no more than a token, so what is remembered of them is bounded.
		tenants: newTenants(4096),
	}
	g.checks.each = 1
	// Loading takes minutes where indexes lie far away: half is there for others.
	g.builds.each = int64(max(1, l.Turns/2))
	return g
}

// Limits returns the limits with their defaults filled in.
func (g *Gate) Limits() Limits { return g.limits }

// Bytes takes n bytes of the memory for requests. release may be called more than once.
func (g *Gate) AcquireBody(ctx context.Context, tenant string, n int64) (release func(), err error) {
	return g.bodies.take(ctx, tenant, n)
}

// Replies takes n bytes of the memory for replies.
func (g *Gate) AcquireReply(ctx context.Context, tenant string, n int64) (release func(), err error) {
	return g.replies.take(ctx, tenant, n)
}

// Check takes a turn of those that read what is stored without searching it.
func (g *Gate) AcquireCheck(ctx context.Context, tenant string) (release func(), err error) {
	return g.checks.take(ctx, tenant, 1)
}

// Build takes a turn of those that make an index ready for search, new or not loaded.
func (g *Gate) AcquireBuild(ctx context.Context, tenant string) (release func(), err error) {
	return g.builds.take(ctx, tenant, 1)
}

// Turn asks for turns to compute something of this weight, of which one turn takes most;
// Ticket.Wait waits for the first, and Ticket.Yield asks for the next.
func (g *Gate) QueueTurn(tenant string, class Class, weight, most int64) (*Ticket, error) {
	return g.turns.enqueue(tenant, class, 1, weight, most)
}

// take waits for n units and returns what gives them back.
func (q *queue) take(ctx context.Context, tenant string, n int64) (release func(), err error) {
	class := Light
	if q.charge == byUnits && n > lightBytes {
		class = Heavy
	}
	t, err := q.enqueue(tenant, class, n, 1, 1)
	if err != nil {
		return nil, err
	}
	if err := t.Wait(ctx); err != nil {
		return nil, err
	}
	return t.Done, nil
}

// lightBytes is what a single request of any scheme needs, and a batch seldom.
const lightBytes = 1 << 20

func (q *queue) exceedsCapacity(units int64) error {
	return fmt.Errorf("%w: %d bytes, of %d in all", ErrExceedsCapacity, units, q.size)
}
