package store

import (
	"time"

	"cpar"
	"cpar/internal/indexdir"
)

// This file unloads idle indexes, and least recently used indexes to make room
// for others. A running search keeps its index in memory.

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

// evict unloads indexes while `tooMuch` returns true. It starts with the least
// recently used index and never unloads x. The caller holds mu.
func (s *Store[T]) evict(x loadRef, tooMuch func(loaded, copied int64) bool) {
	for {
		loaded, copied := int64(0), int64(0)
		for _, e := range s.entries {
			if e.open != nil {
				loaded++
				copied += int64(e.open.index.Copied())
			}
		}
		oldest := s.oldest(x, false)
		if oldest == nil || !tooMuch(loaded, copied) {
			return
		}
		s.unload(oldest)
	}
}

// oldest returns the least recently used loaded index except x, or nil. If
// `own` is set, it considers only indexes of x's tenant. The caller holds mu.
func (s *Store[T]) oldest(x loadRef, own bool) (oldest *entry[T]) {
	for _, e := range s.entries {
		if e.open != nil && e.loadRef != x && (!own || e.Tenant == x.Tenant) && (oldest == nil || e.used.Before(oldest.used)) {
			oldest = e
		}
	}
	return oldest
}

// unloadOldest unloads the index that oldest returns, if any, and reports
// whether it did.
func (s *Store[T]) unloadOldest(x loadRef, own bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.oldest(x, own)
	if e != nil {
		s.unload(e)
	}
	return e != nil
}

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
