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

// pointers stores a pointer to the active generation (version) of each index.
// All machines see a new pointer at once.
type pointers interface {
	// get returns the pointer of index k, or a zero pointer if there is none.
	// If `patient` is set, it waits longer for the leading NATS server.
	get(ctx context.Context, k store.IndexRef, patient bool) (pointer, error)
	// set replaces the pointer by `next` if the pointer still has this
	// revision. Otherwise it returns errChanged. If `next` is zero, set removes
	// the pointer.
	set(ctx context.Context, k store.IndexRef, next pointer, revision uint64) error
}

var errChanged = errors.New("it was changed concurrently")

type pointer struct {
	digest cpar.Digest // of the active manifest; zero if no generation is active
	// changing means that an activation or deletion is running or was
	// interrupted. Field `digest` still names the previous generation, which
	// may be served until the client gets a response.
	changing bool
	revision uint64
	since    time.Time
}

type versions struct {
	pointers pointers
	// manifest reads the active manifest of an index from object storage.
	manifest      func(context.Context, store.IndexRef) ([]byte, error)
	minShardBytes uint64

	mu    sync.Mutex
	known map[store.IndexRef]*indexVersion
}

func newVersions(p pointers, manifest func(context.Context, store.IndexRef) ([]byte, error), minShardBytes uint64) *versions {
	return &versions{pointers: p, manifest: manifest, minShardBytes: minShardBytes, known: map[store.IndexRef]*indexVersion{}}
}

const (
	// maxKnown bounds the number of cached generations, some kilobytes each.
	maxKnown = 10_000
	// stopped is the age at which an unfinished change counts as interrupted.
	stopped = 10 * time.Second
	// races is the number of attempts to set a pointer.
	races = 20
)

// active returns the active generation of an index. If the pointers are
// unreachable, it returns the last known generation.
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
		if same { // the interrupted change was never acknowledged to a client
			return s, nil
		}
		v.forget(k)
		return nil, err
	}
	// Repair the pointer. Its revision was read before the storage, so `set`
	// fails after a concurrent change.
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
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) >= maxKnown {
		clear(v.known)
	}
	v.known[k] = s
	return s, nil
}

func (v *versions) stored(ctx context.Context, k store.IndexRef) ([]byte, cpar.Digest, error) {
	b, err := v.manifest(ctx, k)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, cpar.Digest{}, nil
	case err != nil:
		return nil, cpar.Digest{}, err
	}
	return b, sha256.Sum256(b), nil
}

// last returns the generation that this machine last knew, which may be
// outdated. If it knows none, last returns the active generation.
func (v *versions) last(ctx context.Context, k store.IndexRef) (*indexVersion, error) {
	v.mu.Lock()
	s := v.known[k]
	v.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return v.active(ctx, k)
}

func (v *versions) forget(k store.IndexRef) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known, k)
}

// beginChange announces an activation or deletion. If this machine stops before it
// calls endChange, other machines read the active generation from the storage.
func (v *versions) beginChange(ctx context.Context, k store.IndexRef) error {
	return v.setPointer(ctx, k, func(p pointer) (pointer, bool, error) {
		return pointer{digest: p.digest, changing: true}, false, nil
	})
}

// endChange makes the pointer match the manifest in the storage.
func (v *versions) endChange(ctx context.Context, k store.IndexRef) error {
	v.forget(k)
	return v.setPointer(context.WithoutCancel(ctx), k, func(p pointer) (pointer, bool, error) {
		_, found, err := v.stored(ctx, k)
		return pointer{digest: found}, p.digest == found && !p.changing, err
	})
}

// setPointer replaces pointer p by next(p). If another machine has changed the
// pointer meanwhile, it tries again.
func (v *versions) setPointer(ctx context.Context, k store.IndexRef, next func(pointer) (_ pointer, done bool, err error)) error {
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
		return fmt.Errorf("setting the pointer to index %v: %w: %w: %w", k.Index, cpar.ErrStorage, store.ErrAway, err)
	}
	return nil
}
