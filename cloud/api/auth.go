package api

import (
	"context"

	"cpar"
	"cpar/cloud/store"
)

// tenantOf is the tenant whose request ctx belongs to, "" at a cloud without tenants.
func tenantOf(context.Context) string { return "" }

// key names an index of the tenant that asks.
func key(ctx context.Context, id cpar.IndexID) store.Key {
	return store.Key{Tenant: tenantOf(ctx), Index: id}
}
