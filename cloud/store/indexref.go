package store

import (
	"path/filepath"

	"cpar"
	"cpar/cloud/tenant"
)

// An IndexRef names an index of a tenant. Two tenants may have indexes with the
// same id, and neither can learn this fact.
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
