package store

import "time"

func (s *Store[T]) UnloadAll() { s.unloadIdle(time.Now().Add(time.Hour)) }

// MapsAtMost bounds the memory maps of a new store.
func (s *Store[T]) MapsAtMost(n int) { s.maps.most = n }
