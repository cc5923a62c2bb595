// Package pass answers requests to one index that wait together in one pass over it.
//
//	requests that find the turn busy ─▶ the line of their index
//	turn (package admit) ─▶ the first of the line, up to Most ─▶ Together ─▶ their answers
//
// A request that finds the turn free goes at once and alone: nothing waits for company.
// An index has one pass at a time for single requests and one for batches, in a line of
// their own, so that a single request waits for other single ones only. A batch too heavy
// for one pass is answered in several, with others' turns between them.
//
// Every answer is that which the request gets alone.
package batch

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"cpar/cloud/admission"
)

// Options says what a pass is. K names an index, Q is a request and R its answer.
type Options[K comparable, Q, R any] struct {
	// Together answers requests to one index, all or none, in the same order.
	Run func(ctx context.Context, key K, requests []Q) ([]R, error)
	// Alone reports whether an error of Together may be due to one of the requests. They
	// are then answered apart, and only those that fail alone fail.
	RetryAlone func(err error) bool
	// Weight is what a request costs in a pass that others share, Most the weight of a
	// pass. A request heavier than Most has a pass of its own.
	Weight    func(q Q) int64
	MaxWeight int64
}

// Passes answers requests. It is safe for concurrent use.
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

// A line is what waits for one index, and what is being answered.
type queue[Q, R any] struct {
	ticket  *admission.Ticket
	calls   []*call[Q, R] // those with requests that no pass has taken
	running int           // members of the pass that still want an answer
	cancel  context.CancelFunc
	quit    chan struct{} // closed when the line has ended without a pass
}

// A member is one client's single request or batch.
type call[Q, R any] struct {
	requests []Q
	answers  []R
	taken    int // requests that a pass has taken
	inBatch  bool
	left     bool // it does not want the answer any more
	err      error
	panicked any
	done     chan struct{}
}

// New returns Passes whose turns gate gives out.
func New[K comparable, Q, R any](gate *admission.Gate, o Options[K, Q, R]) *Runner[K, Q, R] {
	return &Runner[K, Q, R]{gate: gate, o: o, queues: map[queueKey[K]]*queue[Q, R]{}}
}

// Answer answers a tenant's requests to one index, all or none. It returns when nothing
// reads the requests any more, also if ctx ends before; a panic of Together arrives here.
// The error is that of Together, of ctx, or an admit.Full.
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
	// From here on a pass has taken it, and only ctx ends it.
	select {
	case <-m.done:
	case <-ctx.Done():
		p.leave(k, l, m, false)
		<-m.done
	}
	return m.outcome(ctx.Err())
}

// outcome is what Answer returns once m is done, early if it left.
func (m *call[Q, R]) outcome(early error) ([]R, error) {
	switch {
	case m.panicked != nil:
		panic(m.panicked)
	case m.err != nil && m.left: // it may say only that the pass was stopped
		return nil, early
	case m.err != nil:
		return nil, m.err
	case len(m.answers) < len(m.requests):
		return nil, early
	}
	return m.answers, nil
}

// join puts m into the line of its index, which it begins if there is none.
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

// leave takes m out of the line; what a pass has taken of it is answered in vain. It
// reports whether it did so, or m is done: onlyIfUntaken leaves alone what a pass has begun.
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

// drop takes out of the line what no pass has taken of m.
func (p *Runner[K, Q, R]) drop(l *queue[Q, R], m *call[Q, R]) {
	if i := slices.Index(l.calls, m); i >= 0 {
		l.calls = slices.Delete(l.calls, i, i+1)
		l.ticket.Grow(-p.weigh(m.requests[m.taken:]))
	}
}

// run answers the members of a line, a pass at a time, until there are none.
func (p *Runner[K, Q, R]) run(k queueKey[K], l *queue[Q, R]) {
	// As package api does for its goroutines: a fault of a memory map ends requests, not
	// the process.
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

// A part is the requests of one member that a pass has taken.
type portion[Q, R any] struct {
	m        *call[Q, R]
	requests []Q
	answers  []R
	err      error
	panicked any
	whole    bool // answers are those to all requests of m
}

// begin takes from the front of the line what one pass holds.
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

// pass answers the parts, together if it can.
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
			// The whole batch, so that the error counts its requests as its sender does.
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

// end gives the parts to their members, and the turn back. It reports whether the line
// goes on.
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
		if p.queues[k] == l { // leave may have ended it just before its turn came
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
