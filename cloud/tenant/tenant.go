// Package tenant says whose a request is, what it may do, and how much of the cloud it may
// use.
//
//	tenants.json ─▶ Registry ─▶ Authenticate: Authorization: Bearer cpar_… ─▶ Principal
//	Principal.In(ctx) ─▶ … ─▶ From(ctx): whose indexes a handler may touch
//
// A tenant is one customer of a cloud. It has an opaque random id, which names its folder and
// its numbers; a name, which only the operator sees; limits; and one or more tokens, each
// with a label and scopes. The registry is one file, tenants.json in the data folder (see
// file.go), which cpard tenant changes and a running daemon reads again. Tokens are kept as
// SHA-256 alone; why a plain hash is right is said in package bearer.
//
// What a scope may do, among the indexes of its own tenant:
//
//	annotate  ask an index: list, manifest, segments (for what is kept at home), annotate
//	push      put an index: manifest, what is missing, upload, activate, also over another
//	delete    delete an index: list, manifest and segments (to find it by its name), delete
//	admin     all of these, and how much is stored (GET /v1/usage)
//
// Every token may ask what it may do (GET /v1/token).
package tenant

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"cpar"
	"cpar/internal/hint"
)

// Scopes are what a token may do, a set.
type Scopes uint8

// The scopes.
const (
	Annotate Scopes = 1 << iota
	Push
	Delete
	Admin
)

// scopeNames is in the order of the bits.
var scopeNames = []string{"annotate", "push", "delete", "admin"}

// Names are the names of the scopes of a set.
func (s Scopes) Names() []string {
	names := []string{}
	for i, name := range scopeNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String joins Names by commas.
func (s Scopes) String() string { return strings.Join(s.Names(), ",") }

// ParseScopes reads names of scopes, of which there is one at least.
func ParseScopes(names []string) (Scopes, error) {
	var set Scopes
	for _, name := range names {
		one := Scopes(0)
		for i, known := range scopeNames {
			if name == known {
				one = 1 << i
			}
		}
		if one == 0 {
			return 0, fmt.Errorf("%w: there is no scope %q; there are %s", cpar.ErrInput, name, strings.Join(scopeNames, ", "))
		}
		set |= one
	}
	if set == 0 {
		return 0, fmt.Errorf("%w: a token without a scope may do nothing", cpar.ErrInput)
	}
	return set, nil
}

// Limits bound what a tenant uses. In the registry 0 stands for the default and Unlimited for
// none; in a Principal 0 is none.
type Limits struct {
	StorageBytes      int64   `json:"storage_bytes,omitempty"`
	RequestsPerSecond float64 `json:"requests_per_second,omitempty"`
	Burst             int     `json:"burst,omitempty"`
	Concurrent        int     `json:"concurrent,omitempty"`
}

// Unlimited stands for no limit in the registry.
const Unlimited = -1

// Default are the limits of a tenant where the operator named none. A photo takes about 15 kB
// under scheme cpar, so that this is room for some 600,000; cpar asks about several in one
// request.
var Default = Limits{StorageBytes: 10e9, RequestsPerSecond: 50, Burst: 200, Concurrent: 16}

// Resolved has the defaults in place, and 0 where there is no limit.
func (l Limits) Resolved() Limits {
	if l.StorageBytes == 0 {
		l.StorageBytes = Default.StorageBytes
	}
	if l.RequestsPerSecond == 0 {
		l.RequestsPerSecond = Default.RequestsPerSecond
	}
	switch {
	case l.Burst == 0:
		l.Burst = max(Default.Burst, int(4*min(l.RequestsPerSecond, maxLimit)))
	case l.Burst < 0:
		l.Burst = maxLimit // 0 would be one second's worth of the rate
	}
	if l.Concurrent == 0 {
		l.Concurrent = Default.Concurrent
	}
	return Limits{max(l.StorageBytes, 0), max(l.RequestsPerSecond, 0), max(l.Burst, 0), max(l.Concurrent, 0)}
}

// maxLimit bounds rates and counts, so that what is computed of them cannot overflow.
const maxLimit = 1_000_000

func (l Limits) check() error {
	switch {
	case l.StorageBytes < Unlimited || l.StorageBytes > 1<<60:
		return fmt.Errorf("%w: a limit of %d bytes", cpar.ErrInput, l.StorageBytes)
	case !(l.RequestsPerSecond >= 0 || l.RequestsPerSecond == Unlimited) || l.RequestsPerSecond > maxLimit:
		return fmt.Errorf("%w: a limit of %v requests per second", cpar.ErrInput, l.RequestsPerSecond)
	case l.Burst < Unlimited || l.Burst > maxLimit:
		return fmt.Errorf("%w: a burst of %d requests", cpar.ErrInput, l.Burst)
	case l.Concurrent < Unlimited || l.Concurrent > maxLimit:
		return fmt.Errorf("%w: a limit of %d concurrent requests", cpar.ErrInput, l.Concurrent)
	}
	return nil
}

// A Principal is who makes a request. The zero Principal is the one user of a loopback cloud
// without tenants, who may do everything.
type Principal struct {
	Tenant string // 16 hexadecimal digits; "" without tenants
	Scopes Scopes
	Limits Limits
}

// May reports whether the principal has one of the scopes, or admin.
func (p Principal) May(any Scopes) bool {
	return p.Tenant == "" || p.Scopes&(any|Admin) != 0
}

type contextKey struct{}

// In returns a context that carries p.
func (p Principal) NewContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns the principal of a request's context, the zero Principal if there is none.
func FromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}

// idBytes is the length of a tenant's id before it is written in hexadecimal.
const idBytes = 8

func newID() string {
	var b [idBytes]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// checkID refuses what is no tenant's id, which also names a folder.
func checkID(id string) error {
	if b, err := hex.DecodeString(id); err != nil || len(b) != idBytes || hex.EncodeToString(b) != id {
		return fmt.Errorf("%w: %q is not a tenant's id (16 lower-case hexadecimal digits)", cpar.ErrInput, id)
	}
	return nil
}

const longestName = 64

// CheckName refuses names and labels that a terminal or a script could trip over.
func CheckName(name string) error {
	ok := name != "" && len(name) <= longestName && name[0] != '-' && name[0] != '.'
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' || r == '@')
	}
	if ok {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: %q is no name", cpar.ErrInput, name), "use 1 to %d letters, digits, '-', '_', '.' and '@', not beginning with '-' or '.'", longestName)
}
