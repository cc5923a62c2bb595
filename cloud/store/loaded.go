package store

import (
	"time"

	"cpar"
	"cpar/internal/indexdir"
)

// What is loaded is bounded: an index that nobody asks goes after a while, and the one
// that was asked longest ago goes for another. Whoever still searches it keeps it until
// then. A request loads it again.

// memoryFor decides where the rows of m go, and makes room for a copy.
func (s *Store[T]) memoryFor(x loadRef, m *cpar.Manifest) indexdir.Memory {
	need := int64(min(indexdir.RowBytes(m), 1<<62))
	if s.o.Memory == indexdir.MemoryMap || need > s.o.MaxCopied {
		return indexdir.MemoryMap
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(x, func(_, copied int64) bool { return copied > s.o.MaxCopied-need })
	return s.o.Memory
}

// evict unloads indexes other than x, the one that was used longest ago first, while there
// are too many of them or too many bytes of copies. The caller holds mu.
func (s *Store[T]) evict(x loadRef, tooMuch func(loaded, copied int64) bool) {
	for {
		loaded, copied, oldest := int64(0), int64(0), (*entry[T])(nil)
		for _, e := range s.entries {
			if e.open == nil {
				continue
			}
			loaded++
			copied += int64(e.open.index.Copied())
			if e.loadRef != x && (oldest == nil || e.used.Before(oldest.used)) {
				oldest = e
			}
		}
		if oldest == nil || !tooMuch(loaded, copied) {
			return
		}
		s.unload(oldest)
	}
}

// unloadOldest unloads the index other than x that was used longest ago, if there is one:
// a backend may need the room.
func (s *Store[T]) unloadOldest(x loadRef) (done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(x, func(int64, int64) bool { first := !done; done = true; return first })
	return done
}

// unload takes an index out of memory; the caller holds mu.
func (s *Store[T]) unload(e *entry[T]) {
	e.open.index.Release()
	e.open = nil
	s.counts.Unloaded++
	s.forget(e)
}

// unloadIdle unloads what was not used since a time.
func (s *Store[T]) unloadIdle(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.open != nil && e.used.Before(since) {
			s.unload(e)
		}
	}
}
