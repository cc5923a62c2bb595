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
	return filepath.Join(data, tenantsName, k.Tenant)
}

var tenantName = regexp.MustCompile(`^[0-9a-f]{16}$`)

// IsTenant reports whether a name has the form of a tenant's id.
func IsTenant(name string) bool { return tenantName.MatchString(name) }

func tenants(data string) ([]string, error) {
	all := []string{""}
	folder := filepath.Join(data, tenantsName)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return all, durable.StorageError("reading folder", folder, 0, err)
	}
	for _, e := range entries {
		if e.IsDir() && IsTenant(e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all, nil
}
