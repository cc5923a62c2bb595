package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"cpar"
	"cpar/cloud/shard"
)

// A Handle keeps a loaded index in memory until it is released.
type Handle[T any] struct {
	open  *loadedIndex[T]
	fault func(error)
}

// Manifest returns the manifest of the whole index, which must not be modified.
func (h *Handle[T]) Manifest() *cpar.Manifest { return h.open.manifest }

func (h *Handle[T]) Segments() [][]byte { return h.open.index.Segments() }

func (h *Handle[T]) Value() T { return h.open.value }

// Release releases the index. Its data must not be used afterwards.
func (h *Handle[T]) Release() {
	h.open.index.Release()
	h.open = nil
}

// Reading calls f, which reads the index. If a memory map cannot be read,
// Reading ends f as a panic would, unloads the index, and returns an error that
// wraps ErrDamaged.
func (h *Handle[T]) Reading(f func() error) error {
	fault := error(nil)
	err := catch(&fault, f)
	if fault == nil {
		return err
	}
	h.fault(fault)
	return fmt.Errorf("index %v: %w: %w: %w", h.Manifest().ID, cpar.ErrCorrupt, ErrDamaged, fault)
}

func catch(fault *error, f func() error) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(interface{ Addr() uintptr }); !ok {
				panic(p)
			}
			*fault = errMap
		}
	}()
	return f()
}

// Get returns the active index. If necessary, it loads and checks the index.
func (s *Store[T]) Get(ctx context.Context, k IndexRef) (*Handle[T], error) {
	return s.get(ctx, loadRef{IndexRef: k}, func() (*cpar.Manifest, error) { return readManifest(ctx, s.backend, k) })
}

// GetShard returns shard p of the generation (version of the index) whose
// manifest has the digest `version`. Unlike Get, it does not record damage,
// because other machines may have an intact copy.
func (s *Store[T]) GetShard(ctx context.Context, k IndexRef, version cpar.Digest, p shard.Range, manifest func() (*cpar.Manifest, error)) (*Handle[T], error) {
	return s.get(ctx, loadRef{k, version, p}, manifest)
}

func (s *Store[T]) get(ctx context.Context, x loadRef, manifest func() (*cpar.Manifest, error)) (*Handle[T], error) {
	e, err := s.acquire(x)
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
		return h, err
	}
	m, err := manifest()
	if errors.Is(err, ErrNotFound) {
		return nil, err
	}
	var open *loadedIndex[T]
	if err == nil {
		open, err = s.loadIndex(ctx, x, m)
	}
	if err == nil {
		err = s.swap(e, open)
	}
	switch {
	case faultOf(err) != "" && x == loadRef{IndexRef: x.IndexRef}:
		return nil, s.damaged(e, err)
	case err != nil:
		return nil, fmt.Errorf("index %v: %w", x.Index, err)
	}
	return s.handle(e)
}

// Loaded reports whether Get returns without reading the index.
func (s *Store[T]) Loaded(k IndexRef) bool { return s.loaded(loadRef{IndexRef: k}) }

func (s *Store[T]) ShardLoaded(k IndexRef, version cpar.Digest, p shard.Range) bool {
	return s.loaded(loadRef{k, version, p})
}

func (s *Store[T]) loaded(x loadRef) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[x]
	return e != nil && (e.open != nil || e.damage != nil)
}

// A SegmentReader reads a segment and keeps its index in memory.
type SegmentReader struct {
	size    int64
	read    func(p []byte) (int, error)
	release func()
}

func (r *SegmentReader) Size() int64 { return r.size }

func (r *SegmentReader) Read(p []byte) (int, error) { return r.read(p) }

func (r *SegmentReader) Close() error {
	if r.release != nil {
		r.release()
		r.read, r.release = nil, nil
	}
	return nil
}

// OpenStored returns a segment of the active index from the backend without
// checking its bytes.
func (s *Store[T]) OpenStored(ctx context.Context, k IndexRef, d cpar.Digest) (*SegmentReader, error) {
	m, err := readManifest(ctx, s.backend, k)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(m.Segments, func(seg cpar.Segment) bool { return seg.Digest == d }) {
		return nil, SegmentNotFound(k, d)
	}
	r, size, err := s.backend.Read(ctx, k, d)
	if err != nil {
		return nil, err
	}
	return &SegmentReader{size, r.Read, func() { r.Close() }}, nil
}

func (s *Store[T]) OpenSegment(ctx context.Context, k IndexRef, d cpar.Digest) (*SegmentReader, error) {
	h, err := s.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	for i, seg := range h.Manifest().Segments {
		if seg.Digest == d {
			from := bytes.NewReader(h.Segments()[i])
			read := func(p []byte) (n int, err error) {
				err = h.Reading(func() (err error) { n, err = from.Read(p); return err })
				return n, err
			}
			return &SegmentReader{int64(seg.Bytes), read, h.Release}, nil
		}
	}
	h.Release()
	return nil, SegmentNotFound(k, d)
}
