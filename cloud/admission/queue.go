package admission

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Class divides what one tenant asks for, so that its own single requests do not wait
// behind its batches.
type Class uint8

// The classes.
const (
	Light Class = iota
	Heavy
	classes
)

// A charge says what a place costs its tenant.
type charge uint8

const (
	byUnits charge = iota // as many as were taken
	byTime                // how long it was held, estimated until it is known
)

// A queue gives out units, fairly: start-time fair queueing over tenants, and over classes
// within a tenant.
type queue struct {
	what       string // that is full
	size       int64  // units
	charge     charge
	maxWaiting int64 // weight that may wait
	wait       time.Duration
	each       int64 // units of one tenant; 0: no bound, or its share where units are charged

	mu      sync.Mutex
	used    int64
	holders int64
	waiting int64
	flows   map[string]*flow
	clock   float64 // what the tenant that was served last had been given before
	pace    float64 // seconds for which a weight of one holds its units, of late
	grants  uint64
	shed    uint64
	expired uint64
	waited  time.Duration
}

// A flow is what one tenant has and waits for.
type flow struct {
	spent   float64 // what it was given, in units or seconds; never behind clock while it waits
	clock   float64 // as in queue, for its classes
	held    int64
	waiting int64 // weight
	classes [classes]struct {
		spent float64
		line  []*Ticket
	}
}

// A Ticket is a place in a queue, and then what the place was waited for. It belongs to
// one goroutine, but for Grow.
type Ticket struct {
	q      *queue
	tenant string
	class  Class
	units  int64

	// Guarded by q.mu.
	weight        int64 // that still waits
	maxTurnWeight int64 // weight of one turn
	running       int64 // weight of this turn
	state         state
	granted       chan struct{} // closed when it is granted
	asked         time.Time
	began         time.Time
	charged       float64
}

type state uint8

const (
	queued state = iota
	holding
	done
)

func newQueue(what string, size int64, c charge, l Limits) *queue {
	return &queue{what: what, size: size, charge: c, maxWaiting: l.Queue, wait: l.Wait, flows: map[string]*flow{}}
}

// share is how much of n one tenant may have. Where there are tenants, none can take all:
// the other half is there for whoever comes. The tenant without a name is the only one.
func share(tenant string, n int64) int64 {
	if tenant == "" {
		return n
	}
	return max(1, n/2)
}

// ask queues for units. The error is a Full or wraps ErrExceedsCapacity.
func (q *queue) enqueue(tenant string, class Class, units, weight, most int64) (*Ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	// A body may be empty. Its ticket holds something all the same, so that its flow is not
	// forgotten under it.
	units = max(units, 1)
	if q.charge == byUnits && units > share(tenant, q.size) {
		return nil, q.exceedsCapacity(units)
	}
	f := q.flows[tenant]
	if f == nil {
		f = new(flow)
		q.flows[tenant] = f
	}
	if err := q.checkRoom(tenant, f, weight); err != nil {
		q.forget(tenant, f)
		return nil, err
	}
	t := &Ticket{q: q, tenant: tenant, class: class, units: units, weight: weight, maxTurnWeight: most, granted: make(chan struct{}), asked: time.Now()}
	q.push(t, f)
	q.advance()
	return t, nil
}

// room refuses a weight for which the queue has no place, or that would not be served in
// time: it is better told now than after it has waited.
func (q *queue) checkRoom(tenant string, f *flow, weight int64) error {
	left := q.drain(f.waiting + weight)
	if q.waiting+weight <= q.maxWaiting && f.waiting+weight <= share(tenant, q.maxWaiting) && (left <= q.wait || f.waiting == 0 || q.charge == byUnits) {
		return nil
	}
	q.shed++
	return &OverloadError{ErrBusy, q.what, left}
}

// drain estimates how long a tenant with this weight waiting will wait: its turns come in
// between those of the others that wait.
func (q *queue) drain(weight int64) time.Duration {
	tenants := 0
	for _, f := range q.flows {
		if f.waiting > 0 {
			tenants++
		}
	}
	return time.Duration(float64(weight) * q.pace * float64(max(1, tenants)) / float64(max(1, q.holders)) * float64(time.Second))
}

// line puts a ticket at the end of its line.
func (q *queue) push(t *Ticket, f *flow) {
	if f.idle() {
		f.spent = max(f.spent, q.clock)
	}
	c := &f.classes[t.class]
	if len(c.line) == 0 {
		c.spent = max(c.spent, f.clock)
	}
	c.line = append(c.line, t)
	f.waiting += t.weight
	q.waiting += t.weight
}

// wants changes the weight with which a ticket waits.
func (q *queue) wants(t *Ticket, f *flow, by int64) {
	t.weight += by
	f.waiting += by
	q.waiting += by
}

// advance grants what is free.
func (q *queue) advance() {
	for {
		f, class := q.next()
		if f == nil {
			return
		}
		t := f.classes[class].line[0]
		if q.used+t.units > q.size {
			// It keeps its place, and what comes free is kept for it: a large one would
			// else wait for ever behind small ones.
			return
		}
		f.classes[class].line = slices.Delete(f.classes[class].line, 0, 1)
		t.running = min(t.weight, t.maxTurnWeight)
		q.wants(t, f, -t.running)
		q.used += t.units
		q.holders++
		f.held += t.units
		t.charged = float64(t.units)
		if q.charge == byTime {
			t.charged = q.pace * float64(t.running)
		}
		q.clock, f.clock = max(q.clock, f.spent), max(f.clock, f.classes[class].spent)
		f.spent += t.charged
		f.classes[class].spent += t.charged
		t.state, t.began = holding, time.Now()
		q.grants++
		q.waited += t.began.Sub(t.asked)
		close(t.granted)
	}
}

// next is the tenant that was given least of those that wait and may have more, and its
// class that was given least. Ties go to whoever came first.
func (q *queue) next() (best *flow, class Class) {
	var first *Ticket
	for tenant, f := range q.flows {
		t, c := f.next()
		if t == nil || q.charge == byUnits && f.held+t.units > share(tenant, q.size) || q.each > 0 && f.held+t.units > q.each {
			continue
		}
		if best == nil || f.spent < best.spent || f.spent == best.spent && t.asked.Before(first.asked) {
			best, class, first = f, c, t
		}
	}
	return best, class
}

func (f *flow) next() (first *Ticket, class Class) {
	for c := range f.classes {
		line := f.classes[c].line
		if len(line) > 0 && (first == nil || f.classes[c].spent < f.classes[class].spent) {
			first, class = line[0], Class(c)
		}
	}
	return first, class
}

// Granted is closed when the ticket is granted.
func (t *Ticket) Granted() <-chan struct{} { return t.granted }

// Wait waits until the ticket is granted. If it returns an error, a Full or that of ctx, the
// place is given up.
func (t *Ticket) Wait(ctx context.Context) error {
	select {
	case <-t.granted: // nobody waits for a timer who need not
		return nil
	default:
	}
	timer := time.NewTimer(t.q.wait)
	defer timer.Stop()
	select {
	case <-t.granted:
		return nil
	case <-ctx.Done():
		t.Done()
		return ctx.Err()
	case <-timer.C:
		t.Done()
		return t.Expired()
	}
}

// Expired is the error for whoever has waited too long.
func (t *Ticket) Expired() *OverloadError {
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expired++
	after := time.Second
	if f := q.flows[t.tenant]; f != nil {
		after = q.drain(f.waiting)
	}
	return &OverloadError{ErrBusy, q.what, after}
}

// Grow adds to the weight that waits, or takes from it. The error is a Full, and nothing
// was added.
func (t *Ticket) Grow(weight int64) error {
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.state == done {
		return nil
	}
	f := q.flows[t.tenant]
	if weight > 0 {
		if err := q.checkRoom(t.tenant, f, weight); err != nil {
			return err
		}
	}
	q.wants(t, f, weight)
	return nil
}

// Done gives back what the ticket holds, or its place.
func (t *Ticket) Done() {
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.flows[t.tenant]
	switch t.state {
	case queued:
		line := &f.classes[t.class].line
		*line = slices.DeleteFunc(*line, func(o *Ticket) bool { return o == t })
	case holding:
		q.release(t, f)
	case done:
		return
	}
	q.wants(t, f, -t.weight)
	t.state = done
	q.advance()
	q.forget(t.tenant, f)
}

// Yield gives the turn back, and queues in front of its class for the next one, with what
// is left.
func (t *Ticket) Yield(left int64) {
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.flows[t.tenant]
	q.release(t, f)
	q.wants(t, f, left-t.weight)
	t.state, t.granted, t.asked = queued, make(chan struct{}), time.Now()
	c := &f.classes[t.class]
	c.line = slices.Insert(c.line, 0, t)
	q.advance()
}

// release takes back the units of a ticket, and charges what they turned out to cost.
func (q *queue) release(t *Ticket, f *flow) {
	q.used -= t.units
	q.holders--
	f.held -= t.units
	took := time.Since(t.began).Seconds()
	if q.charge == byTime {
		f.spent += took - t.charged
		f.classes[t.class].spent += took - t.charged
	}
	each := took / float64(max(1, t.running))
	if q.pace == 0 {
		q.pace = each
	}
	q.pace += (each - q.pace) / 16
}

// forget drops what is remembered of a tenant that has nothing and waits for nothing,
// once it owes nothing to the others, or if there are no others.
func (q *queue) forget(tenant string, f *flow) {
	if f.held == 0 && f.idle() && f.spent <= q.clock {
		delete(q.flows, tenant)
	}
	if q.used == 0 && q.waiting == 0 || q.grants%1024 == 0 {
		for tenant, f := range q.flows {
			if f.held == 0 && f.idle() && (q.waiting == 0 || f.spent <= q.clock) {
				delete(q.flows, tenant)
			}
		}
	}
}

// idle reports whether no ticket waits; one of weight 0 may.
func (f *flow) idle() bool {
	for _, c := range f.classes {
		if len(c.line) > 0 {
			return false
		}
	}
	return true
}
