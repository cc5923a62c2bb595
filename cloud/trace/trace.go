// Package trace records the work on one request: the time of each stage, the
// bytes read, and the outcome.
//
//	guard ─▶ Request in the context ─▶ Enter(ctx, Search) … leave() ─▶ observer
//
// A Request contains numbers and names from closed lists. It has no field for a
// token, an address, an index or body data, so an observer cannot leak these.
package trace

import (
	"context"
	"sync"
	"time"

	"cpar"
)

type Stage uint8

const (
	Body   Stage = iota // reading the body
	Queue               // waiting for memory or a turn
	Load                // loading the index
	Search              // searching the index
	Encode              // encoding the reply
	Send                // sending the response
	numStages
)

var names = [numStages]string{"body", "queue", "load", "search", "encode", "send"}

func (s Stage) String() string { return names[s] }

// A Time contains the start, end and total duration of a stage. The duration
// excludes interruptions of the stage.
type Time struct {
	First, Last time.Time
	Took        time.Duration
}

type Request struct {
	ID     string // a random UUID drawn by the server
	Method string // "-" if not a known method
	Route  string // the route's pattern, without the values of the path
	Start  time.Time
	Took   time.Duration
	Status int // 0 without a response
	// Panicked means that a bug or an unreadable memory map ended the request.
	Panicked bool
	// Received and Sent count bytes of bodies.
	Received, Sent int64

	mu      sync.Mutex
	times   [numStages]Time
	outcome Outcome
}

type Outcome struct {
	Code   string // code of the returned problem, or ""
	Tenant string // random id of the tenant, or ""
	// Annotations is the number of annotation requests, all with this Scheme.
	Scheme      cpar.Scheme
	Annotations int
	// Visited counts the records scored. Touched counts the bytes of the index
	// read.
	Visited, Touched uint64
}

type key struct{}

func (r *Request) NewContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, r)
}

func from(ctx context.Context) *Request {
	if r, ok := ctx.Value(key{}).(*Request); ok {
		return r
	}
	return new(Request)
}

// Enter starts a stage of the request in ctx. Calling `leave` ends the stage.
func Enter(ctx context.Context, s Stage) (leave func()) {
	r, start := from(ctx), time.Now()
	return func() { r.Add(s, start, time.Now()) }
}

func Add(ctx context.Context, s Stage, start, end time.Time) { from(ctx).Add(s, start, end) }

func (r *Request) Add(s Stage, start, end time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &r.times[s]
	if t.First.IsZero() || start.Before(t.First) {
		t.First = start
	}
	if end.After(t.Last) {
		t.Last = end
	}
	t.Took += end.Sub(start)
}

func SetAnnotations(ctx context.Context, scheme cpar.Scheme, requests int) {
	from(ctx).update(func(o *Outcome) { o.Scheme, o.Annotations = scheme, requests })
}

func AddWork(ctx context.Context, visited, touched uint64) {
	from(ctx).update(func(o *Outcome) { o.Visited, o.Touched = o.Visited+visited, o.Touched+touched })
}

func SetTenant(ctx context.Context, tenant string) {
	from(ctx).update(func(o *Outcome) { o.Tenant = tenant })
}

// SetProblem records the code of the problem returned to the client. Result
// `instance` identifies the request to the client and in the log.
func SetProblem(ctx context.Context, code string) (instance string) {
	r := from(ctx)
	r.update(func(o *Outcome) { o.Code = code })
	return "urn:uuid:" + r.ID
}

func (r *Request) update(f func(*Outcome)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.outcome)
}

func (r *Request) Outcome() Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome
}

// Times calls f for every stage of the request, in order.
func (r *Request) Times(f func(Stage, Time)) {
	r.mu.Lock()
	times := r.times
	r.mu.Unlock()
	for s, t := range times {
		if !t.First.IsZero() {
			f(Stage(s), t)
		}
	}
}
