package store

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"

	"cpar"
	"cpar/internal/durable"
)

const tenantsName = "tenants"

// A Key names an index of a tenant. Two tenants may have indexes with the same id; neither
// can tell.
type IndexRef struct {
	// Tenant is "" at a cloud without tenants, else 16 lower-case hexadecimal digits.
	Tenant string
	Index  cpar.IndexID
}

// root is the folder of the tenant's indexes.
func (k IndexRef) root(data string) string {
	if k.Tenant == "" {
		return data
	}
	return filepath.Join(data, tenantsName, k.Tenant)
}

var tenantName = regexp.MustCompile(`^[0-9a-f]{16}$`)

// IsTenant reports whether a name has the form of a tenant's.
func IsTenant(name string) bool { return tenantName.MatchString(name) }

// tenants lists the tenants that have a folder, "" among them.
func tenants(data string) ([]string, error) {
	all := []string{""}
	folder := filepath.Join(data, tenantsName)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // most clouds have none
		return all, durable.StorageError("reading folder", folder, 0, err)
	}
	for _, e := range entries {
		if e.IsDir() && IsTenant(e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all, nil
}
