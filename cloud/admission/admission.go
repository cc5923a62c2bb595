// Package admission limits the work that a server accepts, so that no client
// can exceed its share of memory, waiting time or computing time.
//
//	connection ─▶ Door.Enter until it shows a token
//	request ─▶ Enter        rate and concurrency of its tenant
//	        ─▶ AcquireBody  before a small body is read, or AcquirePart for each
//	                        part of a large body
//	        ─▶ AcquireReply memory for the replies
//	        ─▶ QueueTurn    a turn (permission to compute) for the search
//	        ─▶ all released
//
// Each step after Enter is a queue of bounded length in which a request waits
// for a bounded time. A request that finds the queue full gets an OverloadError with an
// estimate of when to retry.
//
// The queues are fair. The next grant goes to the tenant with the smallest use
// so far. Within a tenant it goes to the class with the smallest use, either
// light (single requests) or heavy (batches), and within a class to the first
// arrival. Package golang.org/x/sync/semaphore instead serves callers in order
// of arrival, so 64 clients of one tenant would delay another tenant's only
// client.
package admission

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
)

// Limits configures a Gate. Zero fields select defaults.
type Limits struct {
	// Memory bounds the bytes of all bodies, decoded requests and replies. The
	// default is 256 MB. A quarter is reserved for replies, because otherwise
	// requests that hold memory for bodies could wait forever for memory for
	// replies. An eighth of this quarter is for answers to clients without a
	// token. A sixteenth of Memory is only for small bodies.
	Memory int64
	// Turns is the number of batches searched at once. The default is the
	// number of cores.
	Turns int
	// Queue is the number of requests that may wait in each queue, including
	// requests in batches. The default is 16,384.
	Queue int64
	// Wait is the longest wait in each queue. The default is ten seconds.
	Wait time.Duration
}

// An OverloadError wraps ErrBusy if the server is full, and ErrTooMany if the
// tenant has reached its limits. In both cases the client should retry.
var (
	ErrBusy    = errors.New("the cloud is busy")
	ErrTooMany = errors.New("too many requests")
)

// ErrExceedsCapacity means that a retry cannot succeed, because a request
// exceeds the server's capacity.
var ErrExceedsCapacity = errors.New("more than this cloud accepts at once")

type OverloadError struct {
	kind  error
	what  string
	after time.Duration
}

func (f *OverloadError) Error() string { return f.kind.Error() + ": " + f.what }

func (f *OverloadError) Unwrap() error { return f.kind }

// RetryAfter returns the time after which the client should retry, from a
// second to a minute.
func (f *OverloadError) RetryAfter() time.Duration {
	return min(max(f.after, time.Second), time.Minute)
}

// A Gate holds the queues of one server. It is safe for concurrent use.
type Gate struct {
	limits  Limits
	Door    *Door
	bodies  *queue
	replies *queue
	turns   *queue
	checks  *queue
	builds  *queue
	tenants *tenants

	mu      sync.Mutex
	batches BatchStats
}

func New(l Limits) *Gate {
	l.Memory = cmp.Or(l.Memory, 256<<20)
	l.Turns = cmp.Or(l.Turns, runtime.GOMAXPROCS(0))
	l.Queue = cmp.Or(l.Queue, 16<<10)
	l.Wait = cmp.Or(l.Wait, 10*time.Second)
	replies, answers, small := l.Memory/4, l.Memory/32, l.Memory/16
	g := &Gate{
		limits:  l,
		Door:    newDoor(answers),
		bodies:  newQueue("its memory for requests is in use", l.Memory-replies-small, byUnits, l),
		replies: newQueue("its memory for replies is in use", replies-answers, byUnits, l),
		turns:   newQueue("too many requests are waiting", int64(l.Turns), byTime, l),
		// Few checks run at once, because each may read for minutes.
		checks: newQueue("too many checks of segments are waiting", 2, byTime, l),
		builds: newQueue("too many activations are waiting", int64(max(2, l.Turns)), byTime, l),
		// The table is bounded, because every tenant adds an entry.
		tenants: &tenants{most: 4096, by: map[string]*tenant{}},
	}
	g.bodies.reserve = small
	g.checks.each = 1
	// A tenant may use only half the turns, because loading from remote storage
	// takes minutes.
	g.builds.each = int64(max(1, l.Turns/2))
	return g
}

func (g *Gate) Limits() Limits { return g.limits }

// AcquireBody takes n bytes of request memory for a small body. The caller may
// call `release` several times.
func (g *Gate) AcquireBody(ctx context.Context, tenant string, n int64) (release func(), err error) {
	return g.bodies.take(ctx, tenant, Light, n)
}

// AcquirePart takes n bytes of request memory for a part of a large body.
func (g *Gate) AcquirePart(ctx context.Context, tenant string, n int64) (release func(), err error) {
	return g.bodies.take(ctx, tenant, Heavy, n)
}

// AcquireState takes n bytes of request memory to read or write a description of
// a tenant's albums. It takes at most a quarter of this memory, so that a request
// of a tenant with many blobs still fits.
func (g *Gate) AcquireState(ctx context.Context, tenant string, n int64) (release func(), err error) {
	return g.bodies.take(ctx, tenant, sizeClass(n), min(n, g.bodies.size/4))
}

func (g *Gate) AcquireReply(ctx context.Context, tenant string, n int64) (release func(), err error) {
	return g.replies.take(ctx, tenant, sizeClass(n), n)
}

// AcquireCheck takes a turn for reading stored data other than for a search.
func (g *Gate) AcquireCheck(ctx context.Context, tenant string) (release func(), err error) {
	return g.checks.take(ctx, tenant, Light, 1)
}

// AcquireBuild takes a turn for preparing a new or unloaded index for search.
func (g *Gate) AcquireBuild(ctx context.Context, tenant string) (release func(), err error) {
	return g.builds.take(ctx, tenant, Light, 1)
}

// QueueTurn queues for turns to search requests of the given total weight. In
// each turn the caller may search requests of total weight up to `most`.
// Ticket.Yield queues for the next turn.
func (g *Gate) QueueTurn(tenant string, class Class, weight, most int64) (*Ticket, error) {
	return g.turns.enqueue(tenant, class, 1, weight, most)
}

func (q *queue) take(ctx context.Context, tenant string, class Class, n int64) (release func(), err error) {
	t, err := q.enqueue(tenant, class, n, 1, 1)
	if err != nil {
		return nil, err
	}
	if err := t.Wait(ctx); err != nil {
		return nil, err
	}
	return t.Done, nil
}

// SmallBytes is the maximum memory of a light request. Most single requests need
// less memory, and most batches need more.
const SmallBytes = 1 << 20

func sizeClass(n int64) Class {
	if n > SmallBytes {
		return Heavy
	}
	return Light
}
