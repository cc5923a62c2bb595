package store

import (
	"context"
	"time"
)

func (s *Store[T]) UnloadAll() { s.unloadIdle(time.Now().Add(time.Hour)) }

// MapsAtMost bounds the memory maps of a new store.
func (s *Store[T]) MapsAtMost(n int) { s.maps.most = n }

func (s *Store[T]) CollectNow(ctx context.Context) { s.collect(ctx, time.Now()) }

func (s *Store[T]) ScrubNow(ctx context.Context) {
	s.scrubRound(ctx, func(ctx context.Context, _ int) error { return ctx.Err() })
}
