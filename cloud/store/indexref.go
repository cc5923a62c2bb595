package store

import (
	"path/filepath"

	"cpar"
	"cpar/cloud/tenant"
)

// An IndexRef names an index of a tenant. Two tenants may use the same index id
// without learning of each other.
type IndexRef struct {
	// Tenant is 16 lower-case hexadecimal digits, or "" without tenants.
	Tenant string
	Index  cpar.IndexID
}

func (k IndexRef) root(data string) string {
	if k.Tenant == "" {
		return data
	}
	return filepath.Join(data, tenant.Folder, k.Tenant)
}
