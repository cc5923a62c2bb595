package store

import (
	"time"

	"cpar"
	"cpar/internal/indexdir"
)

// Loaded indexes are bounded. An idle index is unloaded after a while, and the
// least recently used one makes way for another. Running searches keep it
// mapped, and the next request loads it again.

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

// evict unloads indexes other than x, least recently used first, while tooMuch
// reports true. The caller holds mu.
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

// unloadOldest unloads the index other than x, if any, whose last use is
// longest ago, because a backend may need its space.
func (s *Store[T]) unloadOldest(x loadRef) (done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(x, func(int64, int64) bool { first := !done; done = true; return first })
	return done
}

// unload removes an index from memory. The caller holds mu.
func (s *Store[T]) unload(e *entry[T]) {
	e.open.index.Release()
	e.open = nil
	s.counts.Unloaded++
	s.forget(e)
}

func (s *Store[T]) unloadIdle(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.open != nil && e.used.Before(since) {
			s.unload(e)
		}
	}
}
