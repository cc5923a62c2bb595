package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"cpar"
	"cpar/cloud/store"
)

// pointers say which state of an index is active: the digest of its manifest. A pointer that was
// set is what every machine gets from then on. They can be lost: object storage has the manifests.
type pointers interface {
	// get returns the digest, errNoPointer if there is none, or an error if nobody can tell now.
	get(ctx context.Context, k store.Key) (cpar.Digest, error)
	set(ctx context.Context, k store.Key, d cpar.Digest) error
	remove(ctx context.Context, k store.Key) error
	// all lists the indexes that have one.
	all(ctx context.Context) ([]store.Key, error)
}

var errNoPointer = errors.New("no pointer")

// manifests are where object storage keeps them; the last one of an index is active.
type manifests interface {
	ManifestBytes(ctx context.Context, k store.Key) ([]byte, error)
}

// versions know the active states of indexes, and keep those that were asked lately.
type versions struct {
	pointers  pointers
	manifests manifests
	partBytes uint64

	mu    sync.Mutex
	known map[store.Key]*indexState
}

// mostKnown bounds the states that are kept: some kilobytes each.
const mostKnown = 10_000

// state is the active state of an index. Where nobody can tell which that is, it is the last one that
// was: answers go on while the pointers are away.
func (v *versions) state(ctx context.Context, k store.Key) (*indexState, error) {
	v.mu.Lock()
	s := v.known[k]
	v.mu.Unlock()
	d, err := v.pointers.get(ctx, k)
	if s != nil && (err == nil && d == s.version || err != nil && !errors.Is(err, errNoPointer)) {
		return s, nil
	}
	b, err := v.manifests.ManifestBytes(ctx, k)
	if err != nil {
		v.forget(k)
		return nil, err
	}
	if s, err = newState(b, k, v.partBytes); err != nil {
		return nil, fmt.Errorf("index %v: %w: %w", k.Index, store.ErrDamaged, err)
	}
	if s.version != d { // the storage is ahead: the pointer was lost, or its writer was
		_ = v.pointers.set(ctx, k, s.version)
	}
	v.keep(k, s)
	return s, nil
}

// last is the state that was active when the index was asked last, or now if it was not: enough where a
// wrong one does no harm.
func (v *versions) last(ctx context.Context, k store.Key) (*indexState, error) {
	v.mu.Lock()
	s := v.known[k]
	v.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return v.state(ctx, k)
}

// keep remembers a state.
func (v *versions) keep(k store.Key, s *indexState) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) >= mostKnown {
		clear(v.known)
	}
	v.known[k] = s
}

// forget has the next call of state ask the storage.
func (v *versions) forget(k store.Key) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known, k)
}

// activated says that a manifest is active.
func (v *versions) activated(ctx context.Context, k store.Key, manifest []byte) error {
	v.forget(k)
	if err := v.pointers.set(ctx, k, sha256.Sum256(manifest)); err != nil {
		return fmt.Errorf("activating index %v: %w: %w: %w", k.Index, cpar.ErrStorage, store.ErrAway, err)
	}
	return nil
}

// deleted says that an index is gone.
func (v *versions) deleted(ctx context.Context, k store.Key) error {
	v.forget(k)
	if err := v.pointers.remove(ctx, k); err != nil {
		return fmt.Errorf("deleting index %v: %w: %w: %w", k.Index, cpar.ErrStorage, store.ErrAway, err)
	}
	return nil
}
