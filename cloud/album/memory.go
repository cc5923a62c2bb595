package album

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"cpar"
	"cpar/internal/parallel"
)

// Two limits apply. Options.States bounds the states that stay in memory, and
// Options.Memory bounds the entries that are being read or written.

const (
	// eventBytes is the estimated memory that an event adds to a state.
	eventBytes = 512
	// reservedEntry is the minimum size of an entry for which memory is reserved.
	reservedEntry = 64 << 10
	// maxWait is the longest time that a state waits for memory.
	maxWait = 10 * time.Second
)

// Unload drops the states of tenants without a request after time `since` from
// memory.
func (s *Store) Unload(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for tenant, l := range s.logs {
		if l.used.Before(since) && l.reserved.Load() == 0 && l.turn.TryLock() {
			delete(s.logs, tenant)
			l.turn.Unlock()
		}
	}
}

// Visit begins a background task that reads a tenant's albums. Function leave ends
// the task and drops the state unless it was in memory before.
func (s *Store) Visit(tenant string) (leave func()) {
	l := s.log(tenant)
	if l.memory.Load() > 0 {
		return func() {}
	}
	return l.forget
}

func (l *tenantLog) forget() {
	l.turn.Lock()
	defer l.turn.Unlock()
	l.drop()
}

// drop removes the state from memory. The caller holds l.turn.
func (l *tenantLog) drop() {
	l.view.Lock()
	defer l.view.Unlock()
	l.state = nil
	l.memory.Store(0)
}

// admit waits until the states in memory have room for another state of n bytes.
func (l *tenantLog) admit(ctx context.Context, n int64) error {
	waited := time.Duration(0)
	for wait := time.Millisecond; !l.makeRoom(n); wait = min(2*wait, 100*time.Millisecond) {
		if waited += wait; waited > maxWait {
			return fmt.Errorf("reading the log: %w: %w: too many albums are in use at once", cpar.ErrStorage, ErrBusy)
		}
		if err := parallel.Sleep(ctx, wait); err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
	}
	return nil
}

// makeRoom takes n bytes of Options.States for the state of l, or returns false.
// To make room, it drops the least recently used states that no request is using.
// It admits a single state of any size.
func (l *tenantLog) makeRoom(n int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum, by := int64(0), slices.SortedFunc(maps.Values(l.logs), func(a, b *tenantLog) int { return a.used.Compare(b.used) })
	for _, x := range by {
		sum += x.memory.Load()
	}
	for _, x := range by {
		if sum == 0 || sum+n <= l.o.States {
			break
		}
		if held := x.memory.Load(); held > 0 && x.turn.TryLock() {
			x.drop()
			x.turn.Unlock()
			sum -= held
		}
	}
	if sum > 0 && sum+n > l.o.States {
		return false
	}
	l.memory.Store(n)
	return true
}

// reserve takes memory for an encoded entry of at most n bytes. Small entries
// need no reservation.
func (l *tenantLog) reserve(ctx context.Context, n int) (release func(), err error) {
	if l.o.Memory == nil || n < reservedEntry {
		return func() {}, nil
	}
	return l.o.Memory(ctx, l.tenant, int64(n))
}
