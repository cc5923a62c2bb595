package store

import (
	"fmt"
	"sync"

	"cpar"
	"cpar/internal/hint"
)

// These constants limit memory maps. Every loaded segment needs one. Linux
// allows a process 65,530 maps. When they are used up, Go's heap cannot grow,
// and the process ends.
const (
	// indexMaps bounds the maps of one index, which its owner can compact.
	indexMaps = 8 << 10
	allMaps   = 48 << 10
)

// A mapBudget counts memory maps. Its mutex is always locked last.
type mapBudget struct {
	most int

	mu  sync.Mutex
	all int
	by  map[string]int // by tenant
}

// take reserves n maps for a tenant. A tenant with a name may hold half of all
// maps. If `ok` is false, `own` reports whether the tenant's half is used up.
func (c *mapBudget) take(tenant string, n int) (ok, own bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tenant != "" && c.by[tenant]+n > c.most/2 {
		return false, true
	}
	if c.all+n > c.most {
		return false, false
	}
	c.all += n
	c.by[tenant] += n
	return true, false
}

func (c *mapBudget) give(tenant string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all -= n
	if c.by[tenant] -= n; c.by[tenant] == 0 {
		delete(c.by, tenant)
	}
}

// reserveMaps reserves n maps for an index. If necessary, it unloads the least
// recently used indexes. If the tenant's half of the maps is used up, it
// unloads only indexes of this tenant.
func (s *Store[T]) reserveMaps(x loadRef, n int) (give func(), err error) {
	if n > indexMaps {
		err := fmt.Errorf("%w: %w: it has %d segments, and this cloud maps at most %d of one index", cpar.ErrInput, ErrTooLarge, n, indexMaps)
		return nil, hint.Add(err, "compact the index, then push it")
	}
	for {
		ok, own := s.maps.take(x.Tenant, n)
		if ok {
			return func() { s.maps.give(x.Tenant, n) }, nil
		}
		if !s.unloadOldest(x, own) {
			return nil, fmt.Errorf("%w: %w: too many segments are in use", cpar.ErrStorage, ErrNoRoom)
		}
	}
}
