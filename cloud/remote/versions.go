package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cpar"
	"cpar/cloud/blob"
	"cpar/cloud/store"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

const (
	// maxManifest bounds the size of a manifest, which lists at most 65,536
	// segments with 41 bytes each.
	maxManifest = 4 << 20
	// races bounds the attempts of an operation that concurrent writers disturb.
	races = 20
	// inFlight bounds the delay of a request on its way to the storage plus the
	// difference between clocks.
	inFlight = time.Hour
)

func (s *Store) Manifest(ctx context.Context, k store.IndexRef) ([]byte, error) {
	for range races {
		x, err := s.list(ctx, k, versionsDir)
		if err != nil {
			return nil, err
		}
		if !x.active() {
			return nil, store.NotFound(k)
		}
		b, err := s.bucket.Read(ctx, x.versions[len(x.versions)-1].Name, maxManifest)
		if !errors.Is(err, blob.ErrNotFound) { // otherwise a newer version has replaced it
			return b, err
		}
	}
	return nil, errChanging(k)
}

func errChanging(k store.IndexRef) error {
	return fmt.Errorf("index %v: %w: %w: other processes keep changing it", k.Index, cpar.ErrStorage, store.ErrAway)
}

// commit writes b as the next version. It tries again if a concurrent writer
// was faster. It calls `prepare` with the current objects before each attempt.
// If `prepare` returns errDone, commit writes nothing.
func (s *Store) commit(ctx context.Context, k store.IndexRef, b []byte, prepare func(*indexObjects) error) error {
	if err := s.checkConditionalWrites(ctx); err != nil {
		return err
	}
	for range races {
		x, err := s.list(ctx, k, "")
		if err == nil {
			err = prepare(x)
		}
		if errors.Is(err, errDone) {
			return nil
		}
		if err != nil {
			return err
		}
		next := uint64(1)
		if n := len(x.versions); n > 0 {
			next = x.versions[n-1].n + 1
		}
		if err := s.bucket.PutIfAbsent(ctx, fmt.Sprintf("%s%s%020d", folder(k), versionsDir, next), b); !errors.Is(err, blob.ErrExists) {
			return err
		}
	}
	return errChanging(k)
}

var errDone = errors.New("nothing is left to do")

// checkConditionalWrites refuses a storage that overwrites an object although
// the request forbids this. In such a storage, one of two concurrent
// activations would be lost. The storage is tested once per process.
func (s *Store) checkConditionalWrites(ctx context.Context) error {
	s.probe.Lock()
	defer s.probe.Unlock()
	if s.proven {
		return nil
	}
	first := s.bucket.PutIfAbsent(ctx, probeName, []byte("this object is never overwritten\n"))
	if first != nil && !errors.Is(first, blob.ErrExists) {
		return first
	}
	switch err := s.bucket.PutIfAbsent(ctx, probeName, []byte("this storage ignores conditions\n")); {
	case err == nil:
		return hint.Add(fmt.Errorf("%w: %w: it ignores the condition not to overwrite an object", cpar.ErrStorage, blob.ErrRefused),
			"use a storage with conditional writes (If-None-Match: *), such as S3 itself")
	case !errors.Is(err, blob.ErrExists):
		return err
	}
	s.proven = true
	return nil
}

func (s *Store) Activate(ctx context.Context, k store.IndexRef, m *cpar.Manifest) error {
	fail := func(err error) error {
		if err != nil {
			err = fmt.Errorf("activating index %v: %w", m.ID, err)
		}
		return err
	}
	b, err := m.MarshalBinary()
	if err != nil {
		return fail(err)
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	var previous []byte // the active manifest, or empty (a tombstone)
	already := false
	if err := s.commit(ctx, k, b, func(x *indexObjects) error {
		if err := x.checkHolds(m); err != nil || !x.active() {
			return err
		}
		now, err := s.Manifest(ctx, k)
		switch {
		case errors.Is(err, store.ErrNotFound): // deleted meanwhile
			return nil
		case err == nil && string(now) == string(b):
			already = true
			return errDone
		case err == nil:
			previous = now
		}
		return err
	}); err != nil || already {
		return fail(err)
	}
	// Check again, because another process may have removed a segment that only
	// the new manifest has.
	x, err := s.list(ctx, k, segmentsDir)
	if err != nil {
		return nil // the manifest is active, and a scrub would report damage
	}
	if fault := x.checkHolds(m); fault != nil {
		back := s.commit(ctx, k, previous, func(x *indexObjects) error {
			if now, err := s.Manifest(ctx, k); err != nil || string(now) != string(b) {
				return errDone // another process has replaced the manifest
			}
			return nil
		})
		return fail(errors.Join(fault, back))
	}
	return nil
}

func (x *indexObjects) checkHolds(m *cpar.Manifest) error {
	sizes := map[cpar.Digest]int64{}
	for _, seg := range x.segments {
		sizes[seg.Digest] = seg.Bytes
	}
	for _, seg := range m.Segments {
		size, there := sizes[seg.Digest]
		switch {
		case !there:
			return indexdir.Fault(seg, indexdir.ErrMissing)
		case uint64(size) != seg.Bytes:
			return indexdir.Fault(seg, fmt.Errorf("%w: it has %d bytes, want %d", indexdir.ErrSize, size, seg.Bytes))
		}
	}
	return nil
}

func (s *Store) Delete(ctx context.Context, k store.IndexRef) error {
	var before *indexObjects
	if err := s.commit(ctx, k, nil, func(x *indexObjects) error {
		before = x
		switch {
		case !x.active() && len(x.segments) == 0:
			return store.NotFound(k)
		case !x.active():
			return errDone // no tombstone is needed for pending uploads
		}
		return nil
	}); err != nil {
		return fmt.Errorf("deleting index %v: %w", k.Index, err)
	}
	// The index is deleted for all clients. If a removal fails, garbage
	// collection later removes the rest.
	var digests []cpar.Digest
	for _, seg := range before.segments {
		digests = append(digests, seg.Digest)
	}
	if s.Remove(ctx, k, digests...) != nil {
		return nil
	}
	// Keep the tombstone until Sweep. Without it, a delayed activation with the
	// same version number would restore the index.
	covered := before.versions
	if n := len(covered); n > 0 && !before.active() {
		covered = covered[:n-1]
	}
	for _, v := range covered {
		if s.bucket.Delete(ctx, v.Name) != nil {
			return nil
		}
	}
	return nil
}

// Sweep implements store.Backend. It removes versions whose replacement is older
// than inFlight, and tombstones of that age without other objects.
func (s *Store) Sweep(ctx context.Context, before time.Time, dry bool) (store.Swept, error) {
	if latest := time.Now().Add(-inFlight); before.After(latest) {
		before = latest
	}
	var out store.Swept
	tenants, err := s.Tenants(ctx)
	faults := []error{err}
	for _, tenant := range tenants {
		faults = append(faults, s.eachIndex(ctx, tenant, func(x *indexObjects) error {
			for _, v := range x.outdated(before) {
				if !dry {
					if err := s.bucket.Delete(ctx, v.Name); err != nil {
						return err
					}
				}
				out.Files++
				out.Bytes += v.Bytes
			}
			return nil
		}))
	}
	return out, errors.Join(faults...)
}

// outdated returns the removable versions in ascending order.
func (x *indexObjects) outdated(before time.Time) []version {
	n := 0
	for n+1 < len(x.versions) && x.versions[n+1].Modified.Before(before) {
		n++
	}
	if n+1 == len(x.versions) && !x.active() && len(x.segments) == 0 && x.versions[n].Modified.Before(before) {
		n++ // a tombstone without other objects
	}
	return x.versions[:n]
}
