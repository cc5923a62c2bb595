package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

// Info describes an index in a data folder.
type Info struct {
	Tenant  string
	ID      cpar.IndexID
	Scheme  cpar.Scheme
	Records uint32
	Bytes   uint64 // of all segments
	// Err says what is wrong with the manifest; the fields above, except ID, are then 0.
	// Segments are not checked.
	Err error
}

// List describes the active indexes in a data folder, ordered by tenant and id. It takes no lock, so
// it can list a folder that is being served.
func List(data string) ([]Info, error) {
	var list []Info
	for _, tenant := range tenants(data) {
		some, err := listTenant(data, tenant)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

func listTenant(data, tenant string) ([]Info, error) {
	keys, err := keysOf(data, tenant)
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, k := range keys {
		m, err := readManifest(filepath.Join(k.root(data), indexesName, k.Index.String()), k)
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
func (s *Store[T]) List(tenant string) ([]Info, error) {
	list, err := listTenant(s.data, tenant)
	if errors.Is(err, cpar.ErrInput) {
		// The folder was valid when it was opened, so the caller made no mistake.
		err = fmt.Errorf("%w: %v", cpar.ErrStorage, err)
	}
	return list, err
}

// Manifest returns the canonical bytes of an index's active manifest.
func (s *Store[T]) Manifest(k Key) ([]byte, error) {
	m, err := readManifest(s.folder(k), k)
	if err != nil {
		return nil, err
	}
	return m.MarshalBinary()
}

func readManifest(folder string, k Key) (*cpar.Manifest, error) {
	b, err := indexdir.ReadManifestBytes(folder)
	if errors.Is(err, indexdir.ErrNoIndex) {
		return nil, notFound(k)
	}
	var m *cpar.Manifest
	if err == nil {
		m, err = cpar.DecodeManifest(b)
	}
	if errors.Is(err, cpar.ErrCorrupt) {
		err = hint.Add(err, "push the index again")
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("index %v: %w", k.Index, err)
	case m.ID != k.Index:
		return nil, fmt.Errorf("index %v: %w: it has the manifest of index %v", k.Index, cpar.ErrCorrupt, m.ID)
	}
	return m, nil
}

// keysOf lists a tenant's folders with the name of an index, in order.
func keysOf(data, tenant string) ([]Key, error) {
	folder := filepath.Join(Key{Tenant: tenant}.root(data), indexesName)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) && tenant != "" {
		return nil, nil // it has pushed nothing yet
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is not a data folder of cpard", cpar.ErrInput, data)
	}
	if err != nil {
		return nil, durable.StorageError("reading folder", folder, 0, err)
	}
	var keys []Key
	for _, e := range entries {
		if id, err := cpar.ParseIndexID(e.Name()); err == nil && e.IsDir() {
			keys = append(keys, Key{tenant, id})
		}
	}
	return keys, nil
}
