// Package tenant authenticates requests and limits each tenant's use of the
// server.
//
//	tenants.json ─▶ Registry ─▶ Authenticate: Authorization: Bearer cpar_… ─▶ Principal
//	Principal.NewContext(ctx) ─▶ … ─▶ FromContext(ctx): the tenant of a handler's request
//
// A tenant is a customer of a server. It has a random id for folders and
// metrics, a name for the operator, limits, and tokens with labels and scopes.
// The registry, tenants.json in the data folder, contains only SHA-256 digests
// of tokens. Package internal/bearer explains why a plain hash is enough.
//
// A scope allows these operations on the indexes of the token's tenant:
//
//	annotate  list, manifest, segments (for indexes searched locally), annotate
//	push      manifest, missing segments, upload, activate (also replaces an active index)
//	delete    list, manifest and segments (to find an index by name), delete
//	album     blobs of albums: put, get, list, delete (deleted blobs stay recoverable)
//	admin     all of these, and storage use (GET /v1/usage)
//
// Every token may read its own scopes (GET /v1/token).
package tenant

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
)

type Scopes uint8

const (
	Annotate Scopes = 1 << iota
	Push
	Delete
	Album
	Admin
)

var scopeNames = []string{"annotate", "push", "delete", "album", "admin"}

func (s Scopes) Names() []string {
	names := []string{}
	for i, name := range scopeNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (s Scopes) String() string { return strings.Join(s.Names(), ",") }

func ParseScopes(names []string) (Scopes, error) {
	var set Scopes
	for _, name := range names {
		i := slices.Index(scopeNames, name)
		if i < 0 {
			return 0, fmt.Errorf("%w: there is no scope %q; use %s", cpar.ErrInput, name, strings.Join(scopeNames, ", "))
		}
		set |= 1 << i
	}
	if set == 0 {
		return 0, fmt.Errorf("%w: a token without a scope may do nothing", cpar.ErrInput)
	}
	return set, nil
}

// Limits bounds a tenant's use of the server. In the registry, 0 selects the
// default and Unlimited disables a limit. In a Principal, 0 means no limit.
type Limits struct {
	StorageBytes      int64   `json:"storage_bytes,omitempty"`
	RequestsPerSecond float64 `json:"requests_per_second,omitempty"`
	Burst             int     `json:"burst,omitempty"`
	Concurrent        int     `json:"concurrent,omitempty"`
}

const Unlimited = -1

// Default contains the limits of a tenant for which the operator set none. In an
// index of scheme "cpar", a photo takes about 15 kB of StorageBytes.
var Default = Limits{StorageBytes: 10e9, RequestsPerSecond: 50, Burst: 200, Concurrent: 16}

// Resolved fills in defaults and replaces Unlimited by 0.
func (l Limits) Resolved() Limits {
	l.StorageBytes = cmp.Or(l.StorageBytes, Default.StorageBytes)
	l.RequestsPerSecond = cmp.Or(l.RequestsPerSecond, Default.RequestsPerSecond)
	switch {
	case l.Burst == 0:
		l.Burst = max(Default.Burst, int(4*min(l.RequestsPerSecond, maxLimit)))
	case l.Burst < 0:
		l.Burst = maxLimit // not 0, which admission.Rate reads as RequestsPerSecond
	}
	l.Concurrent = cmp.Or(l.Concurrent, Default.Concurrent)
	return Limits{max(l.StorageBytes, 0), max(l.RequestsPerSecond, 0), max(l.Burst, 0), max(l.Concurrent, 0)}
}

// maxLimit bounds rates and counts, so that arithmetic on them cannot overflow.
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

// A Principal is the authenticated sender of a request. The zero Principal is
// the user of a loopback server without tenants and may do everything.
type Principal struct {
	Tenant string // 16 hexadecimal digits, or "" without tenants
	Scopes Scopes
	Limits Limits
}

// May reports whether the principal has one of the scopes, or admin.
func (p Principal) May(any Scopes) bool {
	return p.Tenant == "" || p.Scopes&(any|Admin) != 0
}

type contextKey struct{}

func (p Principal) NewContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the principal of a request, or the zero Principal.
func FromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}

var idForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

func IsID(name string) bool { return idForm.MatchString(name) }

func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// checkID returns an error for a malformed id, because an id also names a
// folder.
func checkID(id string) error {
	if !IsID(id) {
		return fmt.Errorf("%w: %q is not a tenant's id (16 lower-case hexadecimal digits)", cpar.ErrInput, id)
	}
	return nil
}

const longestName = 64

// CheckName returns an error for names and labels that could confuse a terminal
// or a script.
func CheckName(name string) error {
	ok := name != "" && len(name) <= longestName && name[0] != '-' && name[0] != '.'
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' || r == '@')
	}
	if ok {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: %q is not a valid name", cpar.ErrInput, name), "use 1 to %d letters, digits, '-', '_', '.' and '@', not beginning with '-' or '.'", longestName)
}
