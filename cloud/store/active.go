package store

import (
	"context"

	"cpar"
)

// Active returns the active manifest, which must not be modified, without
// loading the index.
func (s *Store[T]) Active(ctx context.Context, k IndexRef) (*cpar.Manifest, error) {
	e, err := s.acquire(loadRef{IndexRef: k})
	if err != nil {
		return nil, err
	}
	defer s.release(e)
	h, err := s.handle(e)
	if err != nil {
		return nil, err
	}
	if h != nil {
		defer h.Release()
		return h.Manifest(), nil
	}
	return readManifest(ctx, s.backend, k)
}
