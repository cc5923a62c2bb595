package store

import (
	"context"
	"sync"
	"time"
)

// collectEvery is how often a daemon looks for what can go.
const collectEvery = time.Hour

// Maintain does in the background what no request should wait for, until stop is called,
// which waits for it to end: it collects what no index needs, at once and then every hour.
func (s *Store[T]) Maintain(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		broken := time.Now() // all writes of earlier processes have ended
		for {
			s.collect(ctx, broken)
			select {
			case <-ctx.Done():
				return
			case <-time.After(collectEvery):
				broken = time.Now().Add(-s.o.KeepPending)
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

func (s *Store[T]) collect(ctx context.Context, broken time.Time) {
	c, err := Collect(ctx, s.backend, time.Now().Add(-s.o.KeepPending), broken, false, nil)
	if err != nil && ctx.Err() == nil {
		s.o.Log.Warn("collecting what no index needs", "error", err)
	}
	if c != (Collection{}) {
		s.o.Log.Info("collected what no index needs", "segments", c.Segments, "indexes", c.Indexes, "abandoned", c.Abandoned,
			"bytes", c.Bytes, "remains", c.Remains.Files, "remains_bytes", c.Remains.Bytes)
	}
}
