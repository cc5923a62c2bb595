package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"cpar"
	"cpar/internal/hint"
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
func (s *Store[T]) Get(k Key) (*Handle[T], error) {
	e, err := s.existing(k)
	if err != nil {
		return nil, err
	}
	if h := e.handle(); h != nil {
		return h, nil
	}
	e, err = s.locked(k, s.existing)
	if err != nil {
		return nil, err
	}
	defer e.work.Unlock()
	if h := e.handle(); h != nil {
		return h, nil // another call loaded it meanwhile
	}
	m, err := readManifest(e.folder, k)
	if err != nil {
		return nil, err
	}
	open, err := s.loadIndex(e, m)
	if err != nil {
		if errors.Is(err, cpar.ErrCorrupt) {
			e.unverify()
			err = hint.Add(err, "push the index again")
		}
		return nil, fmt.Errorf("index %v: %w", k.Index, err)
	}
	e.swap(open)
	return e.handle(), nil
}

// handle returns the loaded index with a new reference, or nil.
func (e *entry[T]) handle() *Handle[T] {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		return nil
	}
	e.open.index.Retain()
	return &Handle[T]{e.open}
}

func (s *Store[T]) loadIndex(e *entry[T], m *cpar.Manifest) (open *opened[T], err error) {
	x, err := s.o.Memory.Load(e.folder, m, s.o.Log)
	if err != nil {
		return nil, err
	}
	defer func() {
		if open == nil { // refused, or the Loader panicked
			x.Release()
		}
	}()
	value, err := s.load(m, x.Segments())
	if err != nil {
		return nil, err
	}
	return &opened[T]{x, value}, nil
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
func (s *Store[T]) OpenSegment(k Key, d cpar.Digest) (*SegmentReader, error) {
	h, err := s.Get(k)
	if err != nil {
		return nil, err
	}
	for i, seg := range h.Manifest().Segments {
		if seg.Digest == d {
			return &SegmentReader{bytes.NewReader(h.Segments()[i]), h.Release}, nil
		}
	}
	h.Release()
	return nil, fmt.Errorf("index %v: segment %v: %w: %w", k.Index, d, cpar.ErrInput, ErrNotFound)
}
