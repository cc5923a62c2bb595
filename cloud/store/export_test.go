package store

import "time"

// UnloadAll takes every index out of memory.
func (s *Store[T]) UnloadAll() { s.unloadIdle(time.Now().Add(time.Hour)) }

// MapsAtMost bounds the memory maps of a store that was just opened.
func (s *Store[T]) MapsAtMost(n int) { s.maps.most = n }
