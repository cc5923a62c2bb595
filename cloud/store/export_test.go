package store

import "time"

// UnloadAll takes every index out of memory.
func (s *Store[T]) UnloadAll() { s.unloadIdle(time.Now().Add(time.Hour)) }
