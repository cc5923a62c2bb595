package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"cpar"
	"cpar/cloud/store"
)

// pointers say which state of an index is active. A pointer that was set is what every machine gets
// from then on. They can be lost: object storage has the manifests.
type pointers interface {
	// get returns the pointer, zero if there is none, or an error if nobody can tell: soon, or after some
	// patience.
	get(ctx context.Context, k store.IndexRef, patient bool) (pointer, error)
	// set replaces the pointer that had this revision, and returns errChanged if another is there.
	// One to nothing is removed.
	set(ctx context.Context, k store.IndexRef, next pointer, revision uint64) error
}

var errChanged = errors.New("somebody else has changed it")

// A pointer is the digest of the manifest that is active.
type pointer struct {
	digest cpar.Digest // zero: none is
	// changing: somebody is about to activate or to delete, or was stopped in the middle. The
	// digest is that of before, and holds until what comes is acknowledged.
	changing bool
	revision uint64
	since    time.Time
}

// manifests are where object storage keeps them; the last one of an index is active.
type manifests interface {
	ManifestBytes(ctx context.Context, k store.IndexRef) ([]byte, error)
}

// versions know the active states of indexes, and keep those that were asked lately.
type versions struct {
	pointers      pointers
	manifests     manifests
	minShardBytes uint64

	mu    sync.Mutex
	known map[store.IndexRef]*indexVersion
}

func newVersions(p pointers, m manifests, partBytes uint64) *versions {
	return &versions{pointers: p, manifests: m, minShardBytes: partBytes, known: map[store.IndexRef]*indexVersion{}}
}

const (
	// maxKnown bounds the states that are kept: some kilobytes each.
	maxKnown = 10_000
	// stopped is when whoever was changing an index counts as stopped in the middle.
	stopped = 10 * time.Second
	// races is how often a pointer is tried to be set while others set it as well.
	races = 20
)

// state is the active state of an index. Where nobody can tell which that is, it is the last one that
// was: answers go on while the pointers are away.
func (v *versions) active(ctx context.Context, k store.IndexRef) (*indexVersion, error) {
	v.mu.Lock()
	s := v.known[k]
	v.mu.Unlock()
	p, away := v.pointers.get(ctx, k, false)
	broken := away == nil && p.changing && time.Since(p.since) > stopped
	same := s != nil && (away != nil || p.digest == s.version)
	if same && !broken {
		return s, nil
	}
	b, found, err := v.stored(ctx, k)
	if err != nil {
		if same { // what was changing is not acknowledged
			return s, nil
		}
		v.forget(k)
		return nil, err
	}
	// The storage is ahead: the pointer was lost, or its writer was. The pointer was read before the storage, so
	// that whoever has changed it meanwhile is not overruled.
	if away == nil && (broken || !p.changing && p.digest != found) {
		_ = v.pointers.set(ctx, k, pointer{digest: found}, p.revision)
	}
	if b == nil {
		v.forget(k)
		return nil, fmt.Errorf("index %v: %w: %w", k.Index, cpar.ErrInput, store.ErrNotFound)
	}
	if s, err = newIndexVersion(b, k, v.minShardBytes); err != nil {
		return nil, fmt.Errorf("index %v: %w: %w", k.Index, store.ErrDamaged, err)
	}
	v.keep(k, s)
	return s, nil
}

// stored is the active manifest that the storage has, and its digest; nothing if there is none.
func (v *versions) stored(ctx context.Context, k store.IndexRef) ([]byte, cpar.Digest, error) {
	b, err := v.manifests.ManifestBytes(ctx, k)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, cpar.Digest{}, nil
	case err != nil:
		return nil, cpar.Digest{}, err
	}
	return b, sha256.Sum256(b), nil
}

// last is the state that was active when the index was asked last, or now if it was not: enough where a
// wrong one does no harm.
func (v *versions) last(ctx context.Context, k store.IndexRef) (*indexVersion, error) {
	v.mu.Lock()
	s := v.known[k]
	v.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return v.active(ctx, k)
}

// keep remembers a state.
func (v *versions) keep(k store.IndexRef, s *indexVersion) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) >= maxKnown {
		clear(v.known)
	}
	v.known[k] = s
}

// forget has the next call of state ask the storage.
func (v *versions) forget(k store.IndexRef) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known, k)
}

// changing says that the storage is about to have another state, or none. If nobody ever calls settled, because this
// machine was stopped, others find out what the storage has.
func (v *versions) changing(ctx context.Context, k store.IndexRef) error {
	return v.point(ctx, k, func(p pointer) (pointer, bool, error) {
		return pointer{digest: p.digest, changing: true}, false, nil
	})
}

// settled says that the storage has what it was to have: whoever asks from now on gets that.
func (v *versions) settled(ctx context.Context, k store.IndexRef) error {
	v.forget(k)
	return v.point(context.WithoutCancel(ctx), k, func(p pointer) (pointer, bool, error) {
		_, found, err := v.stored(ctx, k)
		return pointer{digest: found}, p.digest == found && !p.changing, err
	})
}

// point sets a pointer to what follows from the one that is there, which others may change as well.
func (v *versions) point(ctx context.Context, k store.IndexRef, next func(pointer) (_ pointer, done bool, err error)) error {
	err := errChanged
	for try := 0; try < races && errors.Is(err, errChanged); try++ {
		var p, to pointer
		if p, err = v.pointers.get(ctx, k, true); err != nil {
			break
		}
		done := false
		if to, done, err = next(p); done || err != nil {
			return err
		}
		err = v.pointers.set(ctx, k, to, p.revision)
	}
	if err != nil {
		return fmt.Errorf("pointing to index %v: %w: %w: %w", k.Index, cpar.ErrStorage, store.ErrAway, err)
	}
	return nil
}
