package store

import (
	"errors"
	"os"
	"path/filepath"

	"cpar"
	"cpar/cloud/tenant"
	"cpar/internal/durable"
)

// An IndexRef names an index of a tenant. Two tenants may have indexes with the
// same id, and neither can notice.
type IndexRef struct {
	// Tenant is 16 lower-case hexadecimal digits, or "" on a server without
	// tenants.
	Tenant string
	Index  cpar.IndexID
}

func (k IndexRef) root(data string) string {
	if k.Tenant == "" {
		return data
	}
	return filepath.Join(data, tenant.Folder, k.Tenant)
}

func tenants(data string) ([]string, error) {
	all := []string{""}
	folder := filepath.Join(data, tenant.Folder)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return all, durable.StorageError("reading folder", folder, 0, err)
	}
	for _, e := range entries {
		if e.IsDir() && tenant.IsID(e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all, nil
}
