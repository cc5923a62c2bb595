package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"cpar"
	"cpar/cloud/blob"
	"cpar/cloud/store"
)

func (s *Store) Segments(ctx context.Context, k store.IndexRef) ([]store.Stored, error) {
	x, err := s.list(ctx, k, segmentsDir)
	if err != nil {
		return nil, err
	}
	return x.segments, nil
}

// Read implements store.Backend. It bypasses the cache, so that checks read the
// storage.
func (s *Store) Read(ctx context.Context, k store.IndexRef, d cpar.Digest) (io.ReadCloser, int64, error) {
	r, size, err := s.bucket.Get(ctx, segmentName(k, d))
	if errors.Is(err, blob.ErrNotFound) {
		return nil, 0, store.SegmentNotFound(k, d)
	}
	return r, size, err
}

// Put implements store.Backend. It writes the segment to the cache first. It can
// then retry sending to the storage, and sends only bytes with the right digest.
func (s *Store) Put(ctx context.Context, k store.IndexRef, d cpar.Digest, size int64, r io.Reader) error {
	// Reserve at most one step, so that a client cannot empty the cache by
	// announcing a large size.
	f, err := s.cache.create(k, d, min(max(size, 0), step))
	if err != nil {
		return err
	}
	defer f.abort()
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{r}, make([]byte, 256<<10))
	switch {
	case err != nil:
		return fmt.Errorf("receiving segment %v: %w", d, err)
	case size >= 0 && n != size:
		return fmt.Errorf("receiving segment %v: %w: got %d bytes, %d were announced", d, cpar.ErrCorrupt, n, size)
	}
	if err := f.check(); err != nil {
		return err
	}
	if err := s.bucket.Put(ctx, segmentName(k, d), f.file, n, d); err != nil {
		return err
	}
	return f.keep()
}

// Remove implements store.Backend. It leaves tombstones to Sweep.
func (s *Store) Remove(ctx context.Context, k store.IndexRef, digests ...cpar.Digest) error {
	for _, d := range digests {
		if err := s.removeUnnamed(ctx, k, d); err != nil {
			return err
		}
	}
	return nil
}

// removeUnnamed removes a segment unless it is in the active manifest. It reads
// that manifest anew, because another process may have changed it. Activations
// of this process wait until it returns.
func (s *Store) removeUnnamed(ctx context.Context, k store.IndexRef, d cpar.Digest) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	b, err := s.Manifest(ctx, k)
	var m *cpar.Manifest
	if err == nil {
		m, err = cpar.DecodeManifest(b)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if m != nil && slices.ContainsFunc(m.Segments, func(seg cpar.Segment) bool { return seg.Digest == d }) {
		return nil
	}
	s.cache.drop(k, d)
	return s.bucket.Delete(ctx, segmentName(k, d))
}
