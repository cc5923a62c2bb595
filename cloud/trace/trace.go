// Package stage is what the parts of a cloud write down about a request while they work on
// it: how long each stage took, how much was read, and how it ended.
//
//	guard ─▶ Record in the context ─▶ Enter(ctx, Search) … leave() ─▶ observer
//
// A Record has numbers and names from closed lists. It has no place for a token, an
// address, an index or anything of a body, so that no observer can pass one on.
package trace

import (
	"context"
	"sync"
	"time"

	"cpar"
)

// A Stage is a part of the way of a request.
type Stage uint8

// The stages, in the order in which an annotation goes through them.
const (
	Body   Stage = iota // reading the body
	Queue               // waiting for memory or a turn
	Load                // opening the index
	Search              // searching it
	Encode              // writing down the reply
	Send                // sending the answer
	numStages
)

var names = [numStages]string{"body", "queue", "load", "search", "encode", "send"}

func (s Stage) String() string { return names[s] }

// A Time is when a stage began and ended, and how long it took: less than from First to
// Last if it was left in between, as the body is between two reads.
type Time struct {
	First, Last time.Time
	Took        time.Duration
}

// A Record is what is known of one request when it has ended.
type Request struct {
	ID     string // a random UUID, drawn here
	Method string // of a closed list, else "-"
	Route  string // the pattern, not the path
	Start  time.Time
	Took   time.Duration
	Status int // 0 if nothing was answered
	// Panicked: a bug of ours, or a disk that failed under a memory map.
	Panicked bool
	// Received and Sent count bytes of bodies.
	Received, Sent int64

	mu          sync.Mutex
	times       [numStages]Time
	code        string
	tenant      string
	scheme      cpar.Scheme
	annotations int
	visited     uint64
	touched     uint64
}

type key struct{}

// In returns ctx with r.
func (r *Request) NewContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, r)
}

// from returns the record of a request, or one that nobody reads.
func from(ctx context.Context) *Request {
	if r, ok := ctx.Value(key{}).(*Request); ok {
		return r
	}
	return new(Request)
}

// Enter begins a stage of the request of ctx; leave ends it.
func Enter(ctx context.Context, s Stage) (leave func()) {
	r, start := from(ctx), time.Now()
	return func() { r.Add(s, start, time.Now()) }
}

// Add counts the time from start to end for a stage of the request of ctx.
func Add(ctx context.Context, s Stage, start, end time.Time) { from(ctx).Add(s, start, end) }

// Add counts the time from start to end for a stage.
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

// Asked notes the scheme of an annotation and how many requests it has.
func SetAnnotations(ctx context.Context, scheme cpar.Scheme, requests int) {
	r := from(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scheme, r.annotations = scheme, requests
}

// Searched notes how many records were scored and how many bytes of the index were read.
func AddWork(ctx context.Context, visited, touched uint64) {
	r := from(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.visited += visited
	r.touched += touched
}

// Of notes the tenant of the request, by its opaque id.
func SetTenant(ctx context.Context, tenant string) {
	r := from(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tenant = tenant
}

// Failed notes the code of the problem that a request ends with, and returns the URI under
// which client and log speak of this request.
func SetProblem(ctx context.Context, code string) (instance string) {
	r := from(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.code = code
	return "urn:uuid:" + r.ID
}

// Code is that of the problem, "" if there was none.
func (r *Request) Code() string { r.mu.Lock(); defer r.mu.Unlock(); return r.code }

// Tenant is the tenant's opaque id, "" without one.
func (r *Request) Tenant() string { r.mu.Lock(); defer r.mu.Unlock(); return r.tenant }

// Asked returns the scheme and number of the requests of an annotation; the number is 0 for
// anything else.
func (r *Request) Annotations() (scheme cpar.Scheme, requests int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.scheme, r.annotations
}

// Searched returns how many records were scored, and bytes read for that.
func (r *Request) Work() (visited, touched uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.visited, r.touched
}

// Times calls f for every stage that the request went through, in their order.
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
