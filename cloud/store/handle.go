package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"cpar"
)

// A Handle keeps an index mapped while it is in use.
type Handle[T any] struct {
	open *opened[T]
}

// Manifest returns the index's manifest, which must not be modified.
func (h *Handle[T]) Manifest() *cpar.Manifest { return h.open.index.Manifest() }

// Segments returns the bytes of the segments in the manifest's order, read-only.
func (h *Handle[T]) Segments() [][]byte { return h.open.index.Segments() }

// Value returns what the Loader made.
func (h *Handle[T]) Value() T { return h.open.value }

// Release gives the index back. The handle's data must not be used afterwards.
func (h *Handle[T]) Release() {
	h.open.index.Release()
	h.open = nil
}

// Get returns the active index, loading and checking it if necessary.
func (s *Store[T]) Get(ctx context.Context, k Key) (*Handle[T], error) {
	e, err := s.acquire(k)
	if err != nil {
		return nil, err
	}
	defer s.release(e)
	if h, err := s.handle(e); h != nil || err != nil {
		return h, err
	}
	e.work.Lock()
	defer e.work.Unlock()
	if h, err := s.handle(e); h != nil || err != nil {
		return h, err // another call loaded it meanwhile
	}
	m, err := readManifest(ctx, s.backend, k)
	if err != nil {
		return nil, err
	}
	open, err := s.loadIndex(ctx, k, m)
	if errors.Is(err, cpar.ErrCorrupt) {
		return nil, s.damaged(e, err)
	}
	if err == nil {
		err = s.swap(e, open)
	}
	if err != nil {
		return nil, fmt.Errorf("index %v: %w", k.Index, err)
	}
	return s.handle(e)
}

// A SegmentReader reads a segment and keeps its index mapped.
type SegmentReader struct {
	*bytes.Reader
	release func()
}

// Close releases the index.
func (r *SegmentReader) Close() error {
	if r.release != nil {
		r.release()
		r.Reader, r.release = nil, nil
	}
	return nil
}

var _ io.ReadSeekCloser = (*SegmentReader)(nil)

// OpenSegment returns a segment of the active index.
func (s *Store[T]) OpenSegment(ctx context.Context, k Key, d cpar.Digest) (*SegmentReader, error) {
	h, err := s.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	for i, seg := range h.Manifest().Segments {
		if seg.Digest == d {
			return &SegmentReader{bytes.NewReader(h.Segments()[i]), h.Release}, nil
		}
	}
	h.Release()
	return nil, segmentNotFound(k, d)
}
