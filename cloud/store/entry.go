package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cpar"
	"cpar/cloud/shard"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

// A loadRef names a loaded index: the active generation, or a shard of any
// generation.
type loadRef struct {
	IndexRef
	version cpar.Digest // digest of the manifest; zero for the active generation
	shard   shard.Range
}

// An entry is an index that is in use, loaded, or known to be damaged.
type entry[T any] struct {
	loadRef
	work sync.Mutex // held while loading, activating or deleting; locked before Store.mu

	// The fields below are guarded by Store.mu.
	users  int // number of acquire calls without a release
	open   *loadedIndex[T]
	used   time.Time
	damage error // known damage, or nil
}

type loadedIndex[T any] struct {
	manifest *cpar.Manifest // of the whole index
	index    *indexdir.Index
	value    T
}

// acquire returns the entry of an index, which exists until release.
func (s *Store[T]) acquire(x loadRef) (*entry[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("index %v: %w: the store is closed", x.Index, cpar.ErrStorage)
	}
	e := s.entries[x]
	if e == nil {
		e = &entry[T]{loadRef: x}
		s.entries[x] = e
	}
	e.users++
	return e, nil
}

func (s *Store[T]) release(e *entry[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.users--
	s.forget(e)
}

func (s *Store[T]) forget(e *entry[T]) {
	if e.users == 0 && e.open == nil && e.damage == nil {
		delete(s.entries, e.loadRef)
	}
}

// locked returns the entry of an index with its lock e.work held. The returned
// function releases the lock and the entry.
func (s *Store[T]) locked(k IndexRef) (*entry[T], func(), error) {
	e, err := s.acquire(loadRef{IndexRef: k})
	if err != nil {
		return nil, nil, err
	}
	e.work.Lock()
	return e, func() {
		e.work.Unlock()
		s.release(e)
	}, nil
}

func (s *Store[T]) handle(e *entry[T]) (*Handle[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.damage != nil {
		return nil, e.damage
	}
	if e.open == nil {
		return nil, nil
	}
	e.used = time.Now()
	e.open.index.Retain()
	open := e.open
	return &Handle[T]{open, func(fault error) { s.distrust(e.loadRef, open, fault) }}, nil
}

// swap sets the index that Get returns to `next`. If `next` is nil, Get loads
// the index again. The caller holds e.work.
func (s *Store[T]) swap(e *entry[T], next *loadedIndex[T]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next != nil && s.closed {
		next.index.Release()
		return fmt.Errorf("index %v: %w: the store is closed", e.Index, cpar.ErrStorage)
	}
	if e.open != nil {
		e.open.index.Release()
	}
	e.open, e.damage = next, nil
	if next != nil {
		e.used = time.Now()
		s.counts.Loads++
		s.evict(e.loadRef, func(loaded, _ int64) bool { return loaded > int64(s.o.MaxLoaded) })
	}
	return nil
}

// drop unloads an index and forgets its damage. The caller holds e.work.
func (s *Store[T]) drop(e *entry[T]) {
	_ = s.swap(e, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(e)
}

// damaged unloads an active index and records its damage. Until the index is
// pushed or found intact, requests get ErrDamaged.
func (s *Store[T]) damaged(e *entry[T], fault error) error {
	why := fmt.Sprintf(" (%v)", fault)
	if errors.Is(fault, cpar.ErrStorage) {
		why = "" // the fault contains a path, which only the log may show
	}
	err := hint.Add(fmt.Errorf("index %v: %w: %w; its owner must push it again%s", e.Index, cpar.ErrCorrupt, ErrDamaged, why), "push the index again")
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.damage == nil {
		s.counts.Faults[faultOf(fault)]++
		s.o.Log.Error("an index is damaged; its owner must push it again", "tenant", e.Tenant, "index", e.Index.String(), "fault", fault)
	}
	if e.open != nil {
		e.open.index.Release()
		e.open = nil
	}
	e.damage = err
	return err
}

// loadIndex maps the segments of m that the shard needs, and runs the Loader.
func (s *Store[T]) loadIndex(ctx context.Context, to loadRef, m *cpar.Manifest) (open *loadedIndex[T], err error) {
	some, k := *m, to.IndexRef
	some.Segments = nil
	needed := to.shard.Needs(m)
	for i, seg := range m.Segments {
		if needed[i] {
			some.Segments = append(some.Segments, seg)
		}
	}
	unmap, err := s.reserveMaps(to, len(some.Segments))
	if err != nil {
		return nil, err
	}
	x, err := s.backend.Open(ctx, k, &some, s.memoryFor(to, &some), s.o.Log)
	for errors.Is(err, ErrNoRoom) && s.unloadOldest(to, false) {
		x, err = s.backend.Open(ctx, k, &some, s.memoryFor(to, &some), s.o.Log)
	}
	if err != nil {
		unmap()
		return nil, err
	}
	x.OnRelease(unmap)
	defer func() {
		if open == nil { // the Loader failed or panicked
			x.Release()
		}
	}()
	var value T
	var fault error
	segments, list := make([][]byte, len(m.Segments)), x.Segments()
	for i, there := range needed {
		if there {
			segments[i], list = list[0], list[1:]
		}
	}
	err = catch(&fault, func() (err error) { value, err = s.load(m, to.shard, segments); return err })
	if fault != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrCorrupt, fault)
	}
	if err != nil {
		return nil, err
	}
	return &loadedIndex[T]{m, x, value}, nil
}

func (s *Store[T]) serves(e *entry[T], b []byte) bool {
	s.mu.Lock()
	open := e.open
	s.mu.Unlock()
	if open == nil {
		return false
	}
	served, err := open.manifest.MarshalBinary()
	return err == nil && bytes.Equal(served, b)
}

func readManifest(ctx context.Context, b Backend, k IndexRef) (*cpar.Manifest, error) {
	bytes, err := b.Manifest(ctx, k)
	if errors.Is(err, ErrNotFound) {
		return nil, err
	}
	var m *cpar.Manifest
	if err == nil {
		m, err = cpar.DecodeManifest(bytes)
	}
	if err == nil && m.ID != k.Index {
		err = fmt.Errorf("%w: it has the manifest of index %v", cpar.ErrCorrupt, m.ID)
	}
	switch {
	case errors.Is(err, cpar.ErrCorrupt), errors.Is(err, cpar.ErrVersion):
		// Mark the error as ErrDamaged, because the client did not cause it.
		return nil, hint.Add(fmt.Errorf("index %v: %w: %w", k.Index, ErrDamaged, err), "push the index again")
	case err != nil:
		return nil, fmt.Errorf("index %v: %w", k.Index, err)
	}
	return m, nil
}
