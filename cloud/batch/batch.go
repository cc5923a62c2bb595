// Package batch joins waiting requests to one index into batches.
//
//	requests that cannot get a turn at once ─▶ queue of their index
//	turn (package admission) ─▶ head of the queue, up to MaxWeight ─▶ Run ─▶ replies
//
// A turn is the permission to run one batch. If a turn is free, a request runs
// at once and alone. Several requests that a client sends in one call are a
// client batch. Each index has two queues, for single requests and for client
// batches, and each queue runs one batch at a time. A client batch heavier than
// MaxWeight is split, and other requests get turns in between. A request gets
// the same reply as if it ran alone.
package batch

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"cpar/cloud/admission"
)

// Options configures a Runner. K is the type of an index's key, Q the type of a
// request, and R the type of a reply.
type Options[K comparable, Q, R any] struct {
	// Run answers all requests to one index, in order, or returns an error.
	Run func(ctx context.Context, key K, requests []Q) ([]R, error)
	// RetryAlone reports whether err, an error of Run, may be due to a single
	// call of Answer. If so, Run is repeated for each call separately.
	RetryAlone func(err error) bool
	Weight     func(q Q) int64
	// MaxWeight bounds the weight of a batch. A heavier request runs alone.
	MaxWeight int64
}

// A Runner runs requests in batches. It is safe for concurrent use.
type Runner[K comparable, Q, R any] struct {
	gate *admission.Gate
	o    Options[K, Q, R]

	mu     sync.Mutex
	queues map[queueKey[K]]*queue[Q, R]
}

type queueKey[K comparable] struct {
	key   K
	class admission.Class
}

type queue[Q, R any] struct {
	ticket  *admission.Ticket
	calls   []*call[Q, R] // calls with requests not yet in a batch
	running int           // calls that wait for replies of the running batch
	cancel  context.CancelFunc
	quit    chan struct{} // closed if all calls leave before the next turn
}

type call[Q, R any] struct {
	requests []Q
	answers  []R
	taken    int  // requests run or in the running batch
	inBatch  bool // whether the running batch has requests of this call
	left     bool // the caller has given up
	err      error
	panicked any
	done     chan struct{}
}

func New[K comparable, Q, R any](gate *admission.Gate, o Options[K, Q, R]) *Runner[K, Q, R] {
	return &Runner[K, Q, R]{gate: gate, o: o, queues: map[queueKey[K]]*queue[Q, R]{}}
}

// Answer answers all of a tenant's requests to one index, or returns an error
// of Run, an admission.OverloadError, or the error of ctx. Even if ctx ends,
// Answer waits until no goroutine reads the requests. If Run panics, Answer
// panics with the same value.
func (p *Runner[K, Q, R]) Answer(ctx context.Context, tenant string, key K, requests []Q) ([]R, error) {
	m := &call[Q, R]{requests: requests, answers: make([]R, 0, len(requests)), done: make(chan struct{})}
	k := queueKey[K]{key, admission.Light}
	if len(requests) > 1 {
		k.class = admission.Heavy
	}
	l, err := p.join(tenant, k, m)
	if err != nil {
		return nil, err
	}
	patience := time.NewTimer(p.gate.Limits().Wait)
	defer patience.Stop()
	select {
	case <-m.done:
		return m.outcome(nil)
	case <-patience.C:
		if p.leave(k, l, m, true) {
			return m.outcome(l.ticket.Expired())
		}
	case <-ctx.Done():
	}
	// Either ctx has ended, or requests of the call are in a batch. In a batch,
	// only ctx can end the call early.
	select {
	case <-m.done:
	case <-ctx.Done():
		p.leave(k, l, m, false)
		<-m.done
	}
	return m.outcome(ctx.Err())
}

func (m *call[Q, R]) outcome(early error) ([]R, error) {
	switch {
	case m.panicked != nil:
		panic(m.panicked)
	case m.err != nil && m.left: // m.err may only report the cancellation
		return nil, early
	case m.err != nil:
		return nil, m.err
	case len(m.answers) < len(m.requests):
		return nil, early
	}
	return m.answers, nil
}

func (p *Runner[K, Q, R]) join(tenant string, k queueKey[K], m *call[Q, R]) (*queue[Q, R], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	weight := p.weigh(m.requests)
	l := p.queues[k]
	if l != nil {
		if err := l.ticket.Grow(weight); err != nil {
			return nil, err
		}
		l.calls = append(l.calls, m)
		return l, nil
	}
	t, err := p.gate.QueueTurn(tenant, k.class, weight, p.o.MaxWeight)
	if err != nil {
		return nil, err
	}
	l = &queue[Q, R]{ticket: t, calls: []*call[Q, R]{m}, quit: make(chan struct{})}
	p.queues[k] = l
	go p.run(k, l)
	return l, nil
}

func (p *Runner[K, Q, R]) weigh(requests []Q) (sum int64) {
	for _, q := range requests {
		sum += p.o.Weight(q)
	}
	return sum
}

// leave removes call m from the queue and discards the replies to its running
// requests. If `onlyIfUntaken` is set, leave keeps a call of which a batch has
// taken requests. It reports whether the call was removed or is done.
func (p *Runner[K, Q, R]) leave(k queueKey[K], l *queue[Q, R], m *call[Q, R], onlyIfUntaken bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if onlyIfUntaken && m.taken > 0 {
		return false
	}
	select {
	case <-m.done:
		return true
	default:
	}
	m.left = true
	p.drop(l, m)
	switch {
	case m.inBatch:
		if l.running--; l.running == 0 {
			l.cancel()
		}
		return true
	case len(l.calls) == 0 && l.cancel == nil && p.queues[k] == l:
		delete(p.queues, k)
		close(l.quit)
		l.ticket.Done()
	}
	close(m.done)
	return true
}

func (p *Runner[K, Q, R]) drop(l *queue[Q, R], m *call[Q, R]) {
	if i := slices.Index(l.calls, m); i >= 0 {
		l.calls = slices.Delete(l.calls, i, i+1)
		l.ticket.Grow(-p.weigh(m.requests[m.taken:]))
	}
}

func (p *Runner[K, Q, R]) run(k queueKey[K], l *queue[Q, R]) {
	// Turn a fault in a memory map into a panic, which does not end the
	// process.
	debug.SetPanicOnFault(true)
	for {
		select {
		case <-l.quit:
			return
		case <-l.ticket.Granted():
		}
		ctx, parts := p.begin(l)
		if len(parts) > 0 {
			p.runBatch(ctx, k.key, parts)
		}
		if !p.end(k, l, parts) {
			return
		}
	}
}

// A portion contains the requests of a call in the current batch.
type portion[Q, R any] struct {
	m        *call[Q, R]
	requests []Q
	answers  []R
	err      error
	panicked any
	whole    bool // whether `answers` covers all requests of the call
}

func (p *Runner[K, Q, R]) begin(l *queue[Q, R]) (ctx context.Context, parts []*portion[Q, R]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	weight := int64(0)
	ctx, l.cancel = context.WithCancel(context.Background())
	for len(l.calls) > 0 {
		m := l.calls[0]
		first := m.taken
		for ; m.taken < len(m.requests); m.taken++ {
			w := p.o.Weight(m.requests[m.taken])
			if weight+w > p.o.MaxWeight && weight > 0 {
				break
			}
			weight += w
		}
		if m.taken > first {
			parts = append(parts, &portion[Q, R]{m: m, requests: m.requests[first:m.taken]})
			m.inBatch = true
			l.running++
		}
		if m.taken < len(m.requests) {
			break
		}
		l.calls = slices.Delete(l.calls, 0, 1)
	}
	p.gate.ObserveBatch(count(parts))
	return ctx, parts
}

func count[Q, R any](parts []*portion[Q, R]) (n int) {
	for _, t := range parts {
		n += len(t.requests)
	}
	return n
}

func (p *Runner[K, Q, R]) runBatch(ctx context.Context, key K, parts []*portion[Q, R]) {
	all := parts[0].requests
	if len(parts) > 1 {
		all = make([]Q, 0, count(parts))
		for _, t := range parts {
			all = append(all, t.requests...)
		}
	}
	answers, panicked, err := p.execute(ctx, key, all)
	if err != nil && p.o.RetryAlone(err) && (len(parts) > 1 || len(all) < len(parts[0].m.requests)) {
		for _, t := range parts {
			// Run the whole client batch again, so that errors number the
			// requests as the client does.
			t.answers, t.panicked, t.err = p.execute(ctx, key, t.m.requests)
			t.whole = true
		}
		return
	}
	for _, t := range parts {
		if t.err, t.panicked = err, panicked; err == nil && panicked == nil {
			t.answers, answers = answers[:len(t.requests):len(t.requests)], answers[len(t.requests):]
		}
	}
}

func (p *Runner[K, Q, R]) execute(ctx context.Context, key K, requests []Q) (answers []R, panicked any, err error) {
	defer func() { panicked = recover() }()
	answers, err = p.o.Run(ctx, key, requests)
	return answers, nil, err
}

// end passes results to the calls, ends the turn, and reports whether calls
// remain in the queue.
func (p *Runner[K, Q, R]) end(k queueKey[K], l *queue[Q, R], parts []*portion[Q, R]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.cancel()
	l.cancel, l.running = nil, 0
	for _, t := range parts {
		m := t.m
		m.inBatch = false
		m.err, m.panicked = t.err, t.panicked
		if t.whole {
			m.answers = t.answers
		} else {
			m.answers = append(m.answers, t.answers...)
		}
		if t.whole || m.left || m.err != nil || m.panicked != nil {
			p.drop(l, m)
			m.taken = len(m.requests)
		}
		if m.taken == len(m.requests) {
			close(m.done)
		}
	}
	if len(l.calls) == 0 {
		if p.queues[k] == l { // false if leave removed the queue just before the turn
			delete(p.queues, k)
		}
		l.ticket.Done()
		return false
	}
	left := int64(0)
	for _, m := range l.calls {
		left += p.weigh(m.requests[m.taken:])
	}
	l.ticket.Yield(left)
	return true
}
