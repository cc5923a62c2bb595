package admission

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Class is Light for a tenant's single requests and Heavy for its batches.
// Single requests do not wait behind batches.
type Class uint8

const (
	Light Class = iota
	Heavy
	classes
)

type charge uint8

const (
	byUnits charge = iota // the number of units taken
	byTime                // the time that units are held, estimated until their release
)

// A queue grants units, such as bytes or turns (permissions to compute), by
// start-time fair queueing. It is fair among tenants, and among the classes of
// each tenant. The weight of a ticket is the number of its requests.
type queue struct {
	what       string // error text if the queue is full
	size       int64  // in units
	charge     charge
	maxWaiting int64 // maximum total weight of waiting tickets
	wait       time.Duration
	each       int64 // maximum units per tenant. 0 means the tenant's share for charge byUnits, and no limit for byTime
	reserve    int64 // further units, for light tickets only

	mu      sync.Mutex
	used    int64
	lent    int64            // units of the reserve in use
	holders int64            // tickets that hold units
	waiting int64            // total weight of waiting tickets
	flows   map[string]*flow // by tenant
	clock   float64          // flow.spent of the tenant served last, before its grant
	pace    float64          // recent average of the seconds that a ticket holds its units, per weight
	grants  uint64
	shed    uint64 // tickets refused because the queue was full
	expired uint64
	waited  time.Duration
}

// A flow is the state of one tenant in a queue.
type flow struct {
	spent   float64 // units or seconds received; at least queue.clock while the flow waits
	clock   float64 // like queue.clock, for the classes of the flow
	held    int64   // units held, without the reserve
	lent    int64   // units of the reserve held
	waiting int64   // total weight of waiting tickets
	classes [classes]struct {
		spent float64
		line  []*Ticket
	}
}

// A Ticket holds a position in a queue and, after the grant, its units. Only one
// goroutine may call Granted, Wait and Yield. The other methods are safe for
// concurrent use.
type Ticket struct {
	q      *queue
	tenant string
	class  Class
	units  int64

	weight        int64 // weight still waiting
	maxTurnWeight int64
	running       int64 // weight of the current turn
	lent          bool  // whether the units are from the reserve
	state         state
	granted       chan struct{}
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

// share returns the part of n units that one tenant may hold: half, or all on a
// server without tenants, where the tenant's name is empty.
func share(tenant string, n int64) int64 {
	if tenant == "" {
		return n
	}
	return max(1, n/2)
}

func (q *queue) enqueue(tenant string, class Class, units, weight, most int64) (*Ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	// Count at least one unit, because forget removes a flow that holds no
	// units.
	units = max(units, 1)
	if q.charge == byUnits && units > share(tenant, q.size) {
		return nil, fmt.Errorf("%w: %d bytes are needed, and there are %d in all", ErrExceedsCapacity, units, q.size)
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

// checkRoom returns an OverloadError if a ticket of this weight does not fit in
// the queue or would expire.
func (q *queue) checkRoom(tenant string, f *flow, weight int64) error {
	left := q.drain(f.waiting + weight)
	if q.waiting+weight <= q.maxWaiting && f.waiting+weight <= share(tenant, q.maxWaiting) && (left <= q.wait || f.waiting == 0 || q.charge == byUnits) {
		return nil
	}
	q.shed++
	return &OverloadError{ErrBusy, q.what, left}
}

// drain estimates the wait of a tenant with the given waiting weight. It assumes
// that the tenant's turns alternate with the turns of other waiting tenants.
func (q *queue) drain(weight int64) time.Duration {
	tenants := 0
	for _, f := range q.flows {
		if f.waiting > 0 {
			tenants++
		}
	}
	return time.Duration(float64(weight) * q.pace * float64(max(1, tenants)) / float64(max(1, q.holders)) * float64(time.Second))
}

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

func (q *queue) addWaiting(t *Ticket, f *flow, by int64) {
	t.weight += by
	f.waiting += by
	q.waiting += by
}

func (q *queue) advance() {
	for {
		f, class := q.next()
		if f == nil {
			break
		}
		t := f.classes[class].line[0]
		if q.used+t.units > q.size {
			// Stop here, so that released units accumulate for this ticket.
			// Otherwise a large request could wait forever behind small ones.
			break
		}
		q.used += t.units
		f.held += t.units
		q.grant(t, f)
	}
	for q.reserve > 0 {
		f, t := q.nextLight()
		if f == nil {
			return
		}
		t.lent = true
		q.lent += t.units
		f.lent += t.units
		q.grant(t, f)
	}
}

func (q *queue) grant(t *Ticket, f *flow) {
	c := &f.classes[t.class]
	c.line = slices.Delete(c.line, 0, 1)
	t.running = min(t.weight, t.maxTurnWeight)
	q.addWaiting(t, f, -t.running)
	q.holders++
	t.charged = float64(t.units)
	if q.charge == byTime {
		t.charged = q.pace * float64(t.running)
	}
	q.clock, f.clock = max(q.clock, f.spent), max(f.clock, c.spent)
	f.spent += t.charged
	c.spent += t.charged
	t.state, t.began = holding, time.Now()
	q.grants++
	q.waited += t.began.Sub(t.asked)
	close(t.granted)
}

// nextLight returns the tenant with the smallest use whose first light ticket
// fits in the reserve, and this ticket. A tenant may hold at most a
// quarter of the reserve.
func (q *queue) nextLight() (best *flow, first *Ticket) {
	for tenant, f := range q.flows {
		line := f.classes[Light].line
		if len(line) == 0 || q.lent+line[0].units > q.reserve || tenant != "" && f.lent+line[0].units > q.reserve/4 {
			continue
		}
		if best == nil || f.spent < best.spent {
			best, first = f, line[0]
		}
	}
	return best, first
}

// next returns the waiting tenant with the smallest use (flow.spent), and its
// class with the smallest use. It skips tenants at their limits. Between
// equals, the earlier arrival comes first.
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

func (t *Ticket) Granted() <-chan struct{} { return t.granted }

// Wait waits for the grant. On error the ticket loses its position. The error
// is an OverloadError or ctx.Err().
func (t *Ticket) Wait(ctx context.Context) error {
	select {
	case <-t.granted: // an immediate grant needs no timer
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

// Expired counts a wait that took too long and returns the error for it.
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

// Grow adds weight, which may be negative, to the ticket's waiting weight. If
// the queue has no room, it returns an OverloadError and changes nothing.
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
	q.addWaiting(t, f, weight)
	return nil
}

// Done releases the units of the ticket, or removes it from the queue.
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
	q.addWaiting(t, f, -t.weight)
	t.state = done
	q.advance()
	q.forget(t.tenant, f)
}

// Yield ends the turn and queues the ticket at the front of its class. The
// ticket's weight becomes `left`.
func (t *Ticket) Yield(left int64) {
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.flows[t.tenant]
	q.release(t, f)
	q.addWaiting(t, f, left-t.weight)
	t.state, t.granted, t.asked = queued, make(chan struct{}), time.Now()
	c := &f.classes[t.class]
	c.line = slices.Insert(c.line, 0, t)
	q.advance()
}

// release takes back the units of a ticket and charges their actual cost.
func (q *queue) release(t *Ticket, f *flow) {
	if q.holders--; t.lent {
		q.lent -= t.units
		f.lent -= t.units
	} else {
		q.used -= t.units
		f.held -= t.units
	}
	took := time.Since(t.began).Seconds()
	if q.charge == byTime {
		f.spent += took - t.charged
		f.classes[t.class].spent += took - t.charged
	}
	each := took / float64(max(1, t.running))
	q.pace = cmp.Or(q.pace, each)
	q.pace += (each - q.pace) / 16
}

// forget deletes an idle tenant's flow unless f.spent exceeds q.clock, the
// value with which a new flow starts. It checks all flows if the queue is empty,
// and every 1,024 grants.
func (q *queue) forget(tenant string, f *flow) {
	if f.held+f.lent == 0 && f.idle() && f.spent <= q.clock {
		delete(q.flows, tenant)
	}
	if q.holders == 0 && q.waiting == 0 || q.grants%1024 == 0 {
		for tenant, f := range q.flows {
			if f.held+f.lent == 0 && f.idle() && (q.waiting == 0 || f.spent <= q.clock) {
				delete(q.flows, tenant)
			}
		}
	}
}

// idle reports whether no ticket of f waits. A waiting ticket may have weight
// 0.
func (f *flow) idle() bool {
	for _, c := range f.classes {
		if len(c.line) > 0 {
			return false
		}
	}
	return true
}
