package store

import (
	"fmt"
	"sync"

	"cpar"
	"cpar/internal/hint"
)

// Every segment of a loaded index is a memory map, of which Linux lets a process have 65,530.
// Beyond that Go's own memory cannot grow, which ends the process. So they are bounded, also
// those of indexes that are unloaded and still in use.
const (
	// indexMaps is what one index may have; an owner's compaction makes few of many.
	indexMaps = 8 << 10
	allMaps   = 48 << 10
)

// A mapBudget counts memory maps. Its lock is the last to be taken.
type mapBudget struct {
	most int

	mu  sync.Mutex
	all int
	by  map[string]int // by tenant
}

// take takes n for a tenant, which may have half where there are tenants. If not ok, own
// reports whether the tenant has too many, rather than all together.
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

// reserveMaps makes room for the n maps of an index: what was used longest ago goes, of the
// same tenant if that one has too many. What is returned gives them back.
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
		if !s.unloadFor(x, own) {
			return nil, fmt.Errorf("%w: %w: too many segments are in use", cpar.ErrStorage, ErrNoRoom)
		}
	}
}

// unloadFor unloads the index other than x that was used longest ago, of the same tenant if
// own. It reports whether there was one.
func (s *Store[T]) unloadFor(x loadRef, own bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest *entry[T]
	for _, e := range s.entries {
		if e.open != nil && e.loadRef != x && (!own || e.Tenant == x.Tenant) && (oldest == nil || e.used.Before(oldest.used)) {
			oldest = e
		}
	}
	if oldest != nil {
		s.unload(oldest)
	}
	return oldest != nil
}
