package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"cpar"
	"cpar/internal/hint"
)

// unknownBytes bounds an upload of unknown length, so that an endless upload
// cannot fill the disk.
const unknownBytes = 1 << 20

// HasSegment reports whether an intact segment is stored, and its size. It
// reads every byte, so that damaged segments are uploaded again.
func (s *Store[T]) HasSegment(ctx context.Context, k IndexRef, d cpar.Digest) (size int64, ok bool, err error) {
	size, state, err := s.inspectSegment(ctx, k, d)
	return size, state == whole, err
}

type state int

const (
	absent state = iota
	spoilt
	whole
)

func (s *Store[T]) inspectSegment(ctx context.Context, k IndexRef, d cpar.Digest) (int64, state, error) {
	size, err := verify(ctx, s.backend, k, d, nil)
	switch {
	case err == nil:
		return size, whole, nil
	case errors.Is(err, ErrNotFound):
		return 0, absent, nil
	case errors.Is(err, cpar.ErrCorrupt):
		return 0, spoilt, s.recordDamagedSegment(ctx, k, d, err)
	}
	return 0, absent, err
}

// Missing returns the segments of a manifest that are missing or damaged. A
// client uploads them, so a push repairs damage.
func (s *Store[T]) Missing(ctx context.Context, k IndexRef, m *cpar.Manifest) ([]cpar.Digest, error) {
	list, err := s.backend.Segments(ctx, k)
	if err != nil {
		return nil, err
	}
	sizes := map[cpar.Digest]int64{}
	for _, x := range list {
		sizes[x.Digest] = x.Bytes
	}
	var missing []cpar.Digest
	seen := map[cpar.Digest]bool{}
	for _, seg := range m.Segments {
		if seen[seg.Digest] {
			continue
		}
		seen[seg.Digest] = true
		size, ok := sizes[seg.Digest]
		if ok {
			// Read segments of the wrong size too, to record their damage.
			if size, ok, err = s.HasSegment(ctx, k, seg.Digest); err != nil {
				return nil, err
			}
		}
		if !ok || uint64(size) != seg.Bytes {
			missing = append(missing, seg.Digest)
		}
	}
	return missing, nil
}

// recordDamagedSegment records damage to an active index that has the segment.
func (s *Store[T]) recordDamagedSegment(ctx context.Context, k IndexRef, d cpar.Digest, fault error) error {
	e, unlock, err := s.locked(k)
	if err != nil {
		return err
	}
	defer unlock()
	m, err := readManifest(ctx, s.backend, k)
	if err != nil {
		return nil
	}
	for _, seg := range m.Segments {
		if seg.Digest == d {
			_ = s.damaged(e, &segmentFault{seg, fault})
			break
		}
	}
	return nil
}

// PutSegment stores a segment of `size` bytes (−1 if unknown) with digest d. It
// does not read r if the segment is already stored. On failure it stores
// nothing, unless the storage fails.
func (s *Store[T]) PutSegment(ctx context.Context, k IndexRef, d cpar.Digest, size int64, r io.Reader) error {
	limit := s.o.MaxSegmentBytes
	if size < 0 {
		limit = min(limit, unknownBytes)
	}
	if size > limit {
		return tooLarge(d, limit)
	}
	if size >= 0 {
		limit = size
	}
	x, end, err := s.reserve(ctx, k, d, limit)
	if err != nil {
		return err
	}
	written, added, unlock := 0, int64(0), func() {}
	defer func() {
		end(written, added)
		unlock()
	}()
	x.Lock()
	stored := x.stored
	_, before, err := s.inspectSegment(ctx, k, d)
	x.Unlock()
	if err != nil || before == whole {
		return err
	}
	bounded := &io.LimitedReader{R: r, N: limit + 1}
	in := io.MultiReader(bounded, atEnd(func() { x.Lock(); unlock = x.Unlock }))
	// If the client leaves, reading r fails. Do not also cancel Put, because it may
	// store complete bytes that nothing would count.
	stay := context.WithoutCancel(ctx)
	put := func() (int64, error) {
		err := s.backend.Put(stay, k, d, size, in)
		if bounded.N == 0 && size < 0 {
			err = tooLarge(d, limit)
		}
		if err == nil {
			n := limit + 1 - bounded.N
			if x.stored == stored { // otherwise another upload has stored and counted the segment
				written, added = 1, n
			}
			return n + fileBytes, nil
		}
		r, kept, e := s.backend.Read(stay, k, d)
		if e != nil {
			return 0, err
		}
		r.Close()
		return kept + fileBytes, err // the storage has kept the segment all the same
	}
	if before == spoilt { // already counted, so a tenant at its quota can repair an index
		if _, err = put(); err == nil {
			written, added = 0, 0
			s.albums.Recount()
			err = s.account(k.Tenant).recount(ctx, s.backend, k) // the sizes of the files may differ
		}
		return err
	}
	err = s.albums.Charge(ctx, k.Tenant, limit+fileBytes, put)
	if errors.Is(err, ErrQuota) {
		if written > 0 {
			_ = s.backend.Remove(stay, k, d)
		}
		written, added = 0, 0
		return hint.Add(fmt.Errorf("index %v: %w", k.Index, err), "delete an index that is no longer needed; a push needs room for the old segments and the new")
	}
	return err
}

// atEnd is an empty reader that calls a function.
type atEnd func()

func (f atEnd) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

func tooLarge(d cpar.Digest, limit int64) error {
	err := fmt.Errorf("segment %v: %w: %w: the limit is %d bytes", d, cpar.ErrInput, ErrTooLarge, limit)
	if limit == unknownBytes {
		return hint.Add(err, "send its length, as in Content-Length")
	}
	return err
}

// PutManifest activates an index. It verifies and maps every segment, runs the
// Loader, and stores the manifest. On failure the old generation (version)
// stays active.
func (s *Store[T]) PutManifest(ctx context.Context, k IndexRef, b []byte) error {
	return s.activate(ctx, k, b, func(e *entry[T], same bool, m *cpar.Manifest) (next *loadedIndex[T], done bool, err error) {
		if same && s.serves(e, b) {
			return nil, true, nil
		}
		next, err = s.loadIndex(ctx, loadRef{IndexRef: k}, m)
		return next, false, err
	})
}

// PutManifestWithoutLoading activates an index that other machines load. It
// first calls `ready`. If that call or the activation fails, the old generation
// stays active.
func (s *Store[T]) PutManifestWithoutLoading(ctx context.Context, k IndexRef, b []byte, ready func(m *cpar.Manifest) error) error {
	return s.activate(ctx, k, b, func(_ *entry[T], _ bool, m *cpar.Manifest) (*loadedIndex[T], bool, error) {
		return nil, false, ready(m)
	})
}

// activate activates manifest b. It first calls `prepare`, whose parameter
// `same` reports whether b is already active. If `prepare` returns done,
// activate stops.
func (s *Store[T]) activate(ctx context.Context, k IndexRef, b []byte, prepare func(e *entry[T], same bool, m *cpar.Manifest) (next *loadedIndex[T], done bool, err error)) error {
	m, err := cpar.DecodeManifest(b)
	if err != nil {
		return fmt.Errorf("activating index %v: %w", k.Index, err)
	}
	if m.ID != k.Index {
		return fmt.Errorf("activating index %v: %w: the manifest belongs to index %v", k.Index, cpar.ErrInput, m.ID)
	}
	e, unlock, err := s.locked(k)
	if err != nil {
		return err
	}
	defer unlock()
	active, err := s.backend.Manifest(ctx, k)
	next, done, err := prepare(e, err == nil && bytes.Equal(active, b), m)
	if err != nil {
		return fmt.Errorf("activating index %v: %w", k.Index, incomplete(err))
	}
	if done {
		return nil
	}
	// Activate even if the backend has this manifest, because the manifest's
	// file name may not be synced.
	if err := s.backend.Activate(ctx, k, m); err != nil {
		if next != nil {
			next.index.Release()
		}
		return incomplete(err)
	}
	if err := s.account(k.Tenant).recount(ctx, s.backend, k); err != nil {
		s.o.Log.Warn("after an activation", "error", err)
	}
	return s.swap(e, next)
}

// incomplete converts a fault in an index being activated into ErrIncomplete,
// which makes the client upload segments.
func incomplete(err error) error {
	if isFault(err) {
		return hint.Add(fmt.Errorf("%w: %w: %v", cpar.ErrInput, ErrIncomplete, err), "push the index again")
	}
	return err
}

// Delete first makes an index unavailable to all clients at once and then removes
// its bytes.
func (s *Store[T]) Delete(ctx context.Context, k IndexRef) error {
	e, unlock, err := s.locked(k)
	if err != nil {
		return err
	}
	defer unlock()
	err = s.backend.Delete(ctx, k)
	if errors.Is(err, ErrNotFound) {
		return err
	}
	s.drop(e) // even after an error, which may occur late
	if err := s.account(k.Tenant).recount(ctx, s.backend, k); err != nil {
		s.o.Log.Warn("after a deletion", "error", err)
	}
	if err != nil {
		return fmt.Errorf("deleting index %v: %w", k.Index, err)
	}
	return nil
}
