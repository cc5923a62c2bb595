package store

import (
	"context"
	"maps"
	"sync"
	"time"

	"cpar/internal/parallel"
)

const collectEvery = time.Hour

// Maintain collects garbage now and every hour, unloads idle indexes, and
// scrubs, until `stop` is called. `stop` waits for running work.
func (s *Store[T]) Maintain(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		// Writes from before the start have ended with their process. Allow a
		// second, because file times are coarse.
		broken := time.Now().Add(-time.Second)
		for ctx.Err() == nil {
			s.collect(ctx, broken)
			_ = parallel.Sleep(ctx, collectEvery)
			broken = time.Now().Add(-s.o.KeepPending)
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			s.unloadIdle(time.Now().Add(-s.o.Idle))
			s.albums.Unload(time.Now().Add(-s.o.Idle))
			_ = parallel.Sleep(ctx, s.o.Idle/4)
		}
	})
	if s.o.ScrubRate > 0 {
		wg.Go(func() { s.scrub(ctx) })
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

func (s *Store[T]) collect(ctx context.Context, broken time.Time) {
	c, err := collect(ctx, s.backend, s.albums, Before{Deleted: time.Now().Add(-s.o.KeepDeleted), Unnamed: time.Now().Add(-s.o.KeepPending), Broken: broken}, false, nil)
	if err != nil && ctx.Err() == nil {
		s.o.Log.Warn("collecting unneeded data", "error", err)
	}
	s.recount(ctx)
	s.mu.Lock()
	s.counts.Collected += uint64(c.Segments)
	s.counts.CollectedBytes += uint64(c.Bytes)
	s.counts.Purged += uint64(c.Albums.Blobs)
	s.counts.PurgedBytes += uint64(c.Albums.Bytes)
	s.mu.Unlock()
	if c != (Collection{}) {
		s.o.Log.Info("collected unneeded data", "segments", c.Segments, "indexes", c.Indexes, "abandoned", c.Abandoned,
			"bytes", c.Bytes, "remains", c.Remains.Files, "remains_bytes", c.Remains.Bytes,
			"blobs", c.Albums.Blobs, "blob_uploads", c.Albums.Uploads, "blob_bytes", c.Albums.Bytes)
	}
}

// recount counts stored bytes again, because other processes may change the
// storage.
func (s *Store[T]) recount(ctx context.Context) {
	s.albums.Recount()
	s.mu.Lock()
	accounts := maps.Clone(s.accounts)
	s.mu.Unlock()
	for tenant, a := range accounts {
		if err := a.count(ctx, s.backend, tenant, true); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("counting", "tenant", tenant, "error", err)
		}
	}
}
