package admission

import (
	"cmp"
	"maps"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Rate limits the requests of one tenant. PerSecond and Concurrent are
// unlimited if 0.
type Rate struct {
	PerSecond  float64
	Burst      int // requests at once after a pause; 0 means PerSecond, rounded up
	Concurrent int
}

type tenants struct {
	most int // maximum length of map `by`

	mu      sync.Mutex
	by      map[string]*tenant
	limited uint64
}

type tenant struct {
	rate    Rate
	limiter *rate.Limiter
	running int
}

// Enter counts a request towards its tenant's rate. Until `leave` is called,
// the request also counts towards the tenant's concurrency. The caller may call
// `leave` several times. The error is an OverloadError.
func (g *Gate) Enter(name string, r Rate) (leave func(), err error) {
	if r.PerSecond == 0 && r.Concurrent == 0 {
		return func() {}, nil
	}
	return g.tenants.enter(name, r, time.Now())
}

func (s *tenants) enter(name string, r Rate, now time.Time) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.by[name]
	if t == nil {
		s.prune(now)
		t = new(tenant)
		s.by[name] = t
	}
	if t.limiter == nil || t.rate != r { // the operator may change the rate
		t.rate, t.limiter = r, r.limiter()
	}
	if r.Concurrent > 0 && t.running >= r.Concurrent {
		s.limited++
		return nil, &OverloadError{ErrTooMany, "your limit of concurrent requests is reached", time.Second}
	}
	if reserved := t.limiter.ReserveN(now, 1); reserved.DelayFrom(now) > 0 {
		after := reserved.DelayFrom(now)
		reserved.CancelAt(now)
		s.limited++
		return nil, &OverloadError{ErrTooMany, "your limit of requests per second is reached", after}
	}
	t.running++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.running--
	}), nil
}

func (r Rate) limiter() *rate.Limiter {
	if r.PerSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(r.PerSecond), cmp.Or(r.Burst, int(math.Ceil(r.PerSecond))))
}

// prune makes room in a full table. It drops idle tenants whose limiter allows a
// full burst, because a new limiter would allow the same. If over half of the
// table remains, it also drops other tenants without running requests.
func (s *tenants) prune(now time.Time) {
	if len(s.by) < s.most {
		return
	}
	maps.DeleteFunc(s.by, func(_ string, t *tenant) bool {
		return t.running == 0 && t.limiter.TokensAt(now) >= float64(t.limiter.Burst())
	})
	for name, t := range s.by {
		if len(s.by) <= s.most/2 {
			return
		}
		if t.running == 0 {
			delete(s.by, name)
		}
	}
}

func (s *tenants) stats() (limited uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limited
}
