package store

import (
	"context"
	"errors"

	"cpar"
)

// Info describes an index in a data folder.
type Info struct {
	Tenant  string
	ID      cpar.IndexID
	Scheme  cpar.Scheme
	Records uint32
	Bytes   uint64 // of all segments
	// Err says what is known to be wrong; the fields above, except the names, are then 0.
	// Segments are not read.
	Err error
}

// List describes the active indexes in a data folder, ordered by tenant and id. It takes no lock, so
// it can list a folder that is being served.
func List(ctx context.Context, data string) ([]Info, error) {
	f, err := OpenBeside(data)
	if err != nil {
		return nil, err
	}
	all, err := f.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, tenant := range all {
		some, err := listTenant(ctx, f, tenant)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

func listTenant(ctx context.Context, b Backend, tenant string) ([]Info, error) {
	keys, err := b.Keys(ctx, tenant)
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, k := range keys {
		m, err := readManifest(ctx, b, k)
		switch {
		case errors.Is(err, ErrNotFound):
			continue // only uploads so far, or deleted meanwhile
		case err != nil:
			list = append(list, Info{Tenant: tenant, ID: k.Index, Err: err})
		default:
			list = append(list, Info{Tenant: tenant, ID: k.Index, Scheme: m.Scheme, Records: m.Records, Bytes: m.Bytes()})
		}
	}
	return list, nil
}

// List describes a tenant's active indexes, ordered by id.
func (s *Store[T]) List(ctx context.Context, tenant string) ([]Info, error) {
	list, err := listTenant(ctx, s.backend, tenant)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range list {
		if e := s.entries[Key{tenant, x.ID}]; e != nil && e.damage != nil {
			list[i] = Info{Tenant: tenant, ID: x.ID, Err: e.damage}
		}
	}
	return list, err
}

// Manifest returns the canonical bytes of an index's active manifest.
func (s *Store[T]) Manifest(ctx context.Context, k Key) ([]byte, error) {
	m, err := readManifest(ctx, s.backend, k)
	if err != nil {
		return nil, err
	}
	return m.MarshalBinary()
}
