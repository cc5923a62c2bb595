package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/cloud/blob"
	"cpar/cloud/store"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

const fetches = 4

// Open implements store.Backend. It fetches missing and damaged segments into
// the cache.
func (s *Store) Open(ctx context.Context, k store.IndexRef, m *cpar.Manifest, memory indexdir.Memory, log *slog.Logger) (*indexdir.Index, error) {
	pins, err := s.cache.pin(k, m)
	if err != nil {
		return nil, fmt.Errorf("index %v: %w", k.Index, err)
	}
	for attempt := 0; ; attempt++ {
		if err = s.fetchAll(ctx, k, pins.missing()); err != nil {
			break
		}
		var x *indexdir.Index
		if x, err = memory.Load(s.cache.folder(k), m, log); err == nil {
			x.OnRelease(pins.release)
			return x, nil
		}
		if !errors.Is(err, cpar.ErrCorrupt) {
			break
		}
		if attempt > 0 {
			// The digest was right when the file was written, so the local disk
			// is at fault.
			err = fmt.Errorf("%w: the cache changes what is written to it: %v", cpar.ErrStorage, err)
			err = hint.Add(err, "check the disk of %s", s.cache.dir)
			break
		}
		s.log.Warn("the cache is damaged; fetching again", "index", k.Index.String(), "fault", err)
		s.cache.distrust(k, m)
	}
	pins.release()
	return nil, err
}

func (s *Store) fetchAll(ctx context.Context, k store.IndexRef, segments []cpar.Segment) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fetches)
	for _, seg := range segments {
		group.Go(func() error { return s.fetch(ctx, k, seg) })
	}
	return group.Wait()
}

func (s *Store) fetch(ctx context.Context, k store.IndexRef, seg cpar.Segment) error {
	r, size, err := s.bucket.Get(ctx, segmentName(k, seg.Digest))
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return indexdir.Fault(seg, indexdir.ErrMissing)
	case err != nil:
		return err
	}
	defer r.Close()
	if uint64(size) != seg.Bytes {
		return indexdir.Fault(seg, fmt.Errorf("%w: it has %d bytes, want %d", indexdir.ErrSize, size, seg.Bytes))
	}
	f, err := s.cache.create(k, seg.Digest, -1)
	if err != nil {
		return err
	}
	defer f.abort()
	if _, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{r}, make([]byte, 256<<10)); err != nil {
		return err
	}
	if f.check() != nil {
		return indexdir.Fault(seg, indexdir.ErrDigest)
	}
	return f.keep()
}
