package store

import (
	"context"
	"errors"

	"cpar"
)

// Info describes a stored index, or an album in the results of Check.
type Info struct {
	Tenant string
	// Album is the id of an album, "log" for the log of all albums of the tenant,
	// or "" for an index. An album has no ID or Scheme.
	Album   string
	ID      cpar.IndexID
	Scheme  cpar.Scheme
	Records uint32 // number of records, or of blobs in an album
	Bytes   uint64
	// Pending means that the index was never activated, so Scheme and Records
	// are 0.
	Pending bool
	// Err describes known damage. If it is set, List sets only the fields Tenant
	// and ID besides Err.
	Err error
}

// List describes the indexes of all tenants, including pending indexes, ordered
// by tenant and id. The backend may be in use.
func List(ctx context.Context, b Backend) ([]Info, error) {
	all, err := b.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, tenant := range all {
		some, err := listTenant(ctx, b, tenant, true)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

func listTenant(ctx context.Context, b Backend, tenant string, pending bool) ([]Info, error) {
	keys, err := b.Keys(ctx, tenant)
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, k := range keys {
		m, err := readManifest(ctx, b, k)
		switch {
		case errors.Is(err, ErrNotFound):
			if x, err := pendingInfo(ctx, b, k); pending && err == nil && x.Bytes > 0 {
				list = append(list, x)
			}
		case err != nil:
			list = append(list, Info{Tenant: tenant, ID: k.Index, Err: err})
		default:
			list = append(list, Info{Tenant: tenant, ID: k.Index, Scheme: m.Scheme, Records: m.Records, Bytes: m.Bytes()})
		}
	}
	return list, nil
}

func pendingInfo(ctx context.Context, b Backend, k IndexRef) (Info, error) {
	x := Info{Tenant: k.Tenant, ID: k.Index, Pending: true}
	list, err := b.Segments(ctx, k)
	for _, seg := range list {
		x.Bytes += uint64(seg.Bytes)
	}
	return x, err
}

// List describes a tenant's active indexes, ordered by id.
func (s *Store[T]) List(ctx context.Context, tenant string) ([]Info, error) {
	list, err := listTenant(ctx, s.backend, tenant, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range list {
		if e := s.entries[loadRef{IndexRef: IndexRef{tenant, x.ID}}]; e != nil && e.damage != nil {
			list[i] = Info{Tenant: tenant, ID: x.ID, Err: e.damage}
		}
	}
	return list, err
}

func (s *Store[T]) ManifestBytes(ctx context.Context, k IndexRef) ([]byte, error) {
	return s.backend.Manifest(ctx, k)
}

// Manifest returns the canonical bytes of the active manifest.
func (s *Store[T]) Manifest(ctx context.Context, k IndexRef) ([]byte, error) {
	m, err := readManifest(ctx, s.backend, k)
	if err != nil {
		return nil, err
	}
	return m.MarshalBinary()
}

// Active returns the active manifest, which must not be modified.
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
