package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cpar/cloud/admission"
	"cpar/cloud/tenant"
	"cpar/cloud/trace"
	"cpar/cparhttp"
)

// An Authenticator finds the tenant of a request from its header. An error is
// tenant.ErrToken (status 401), a *tenant.GuessLimitError (429), or a fault of
// the server.
type Authenticator interface {
	Authenticate(r *http.Request) (tenant.Principal, error)
}

// anybody marks operations that need no token. anyToken marks operations that
// accept any token.
const (
	anybody  = tenant.Scopes(0)
	anyToken = tenant.Annotate | tenant.Push | tenant.Delete | tenant.Album | tenant.Admin
	// anyIndex marks operations that any scope for indexes allows.
	anyIndex = tenant.Annotate | tenant.Push | tenant.Delete
)

// authenticate checks the token and its scopes before the body is read or any
// data is looked up, so that a refusal reveals nothing about stored data.
func (s *server) authenticate(mux *http.ServeMux, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		scopes, known := s.scopes[pattern]
		if !known {
			scopes = anyToken // for an unknown route or the OpenAPI document
		}
		if s.o.Auth == nil || scopes == anybody {
			next.ServeHTTP(w, r)
			return
		}
		p, err := s.o.Auth.Authenticate(r)
		if err == nil {
			admission.VisitorOf(r.Context()).Leave()
			if p.Tenant != "" { // the tenant's limits replace the limits of strangers
				w.(*recorder).stranger = nil
			}
		}
		switch {
		case err != nil:
			s.refuse(w, r, err)
		case !p.May(scopes):
			names := scopes.Names()
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+strings.Join(names, " ")+`"`)
			writeProblem(w, r, http.StatusForbidden, cparhttp.CodeScope, "the token may not do this; it needs the scope "+strings.Join(names, " or "))
		default:
			trace.SetTenant(r.Context(), p.Tenant)
			// Change r in place, because the mux sets the route's pattern in r,
			// and method guard logs it.
			*r = *r.WithContext(p.NewContext(r.Context()))
			next.ServeHTTP(w, r)
		}
	})
}

func (s *server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var guessing *tenant.GuessLimitError
	switch {
	case errors.As(err, &guessing):
		w.Header().Set("Retry-After", seconds(guessing.After))
		writeProblem(w, r, http.StatusTooManyRequests, cparhttp.CodeUnauthorized, guessing.Error())
	case errors.Is(err, tenant.ErrMissing):
		w.Header().Set("WWW-Authenticate", "Bearer")
		writeProblem(w, r, http.StatusUnauthorized, cparhttp.CodeUnauthorized, tenant.ErrMissing.Error())
	case errors.Is(err, tenant.ErrToken):
		// Malformed, unknown, removed and expired tokens get the same reply.
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		writeProblem(w, r, http.StatusUnauthorized, cparhttp.CodeUnauthorized, tenant.ErrToken.Error())
	default:
		s.o.Log.Error("authenticating a request", "error", err)
		writeProblem(w, r, http.StatusServiceUnavailable, cparhttp.CodeStorage, "the cloud cannot read its registry of tenants")
	}
}

func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}

type tokenOutput struct{ Body cparhttp.TokenInfo }

func (s *server) token(ctx context.Context, _ *none) (*tokenOutput, error) {
	p := tenant.FromContext(ctx)
	if p.Tenant == "" {
		return &tokenOutput{cparhttp.TokenInfo{Scopes: anyToken.Names()}}, nil
	}
	return &tokenOutput{cparhttp.TokenInfo{Needed: true, Scopes: p.Scopes.Names()}}, nil
}

type usageOutput struct{ Body cparhttp.UsageInfo }

func (s *server) usage(ctx context.Context, _ *none) (*usageOutput, error) {
	done, err := s.gate.AcquireCheck(ctx, tenantOf(ctx))
	if err != nil {
		return nil, err
	}
	defer done()
	u, err := s.store.Usage(ctx, tenantOf(ctx))
	if err != nil {
		return nil, err
	}
	l := tenant.FromContext(ctx).Limits
	return &usageOutput{cparhttp.UsageInfo{
		Indexes: u.Indexes, Bytes: u.Active, Pending: u.Pending + u.Reserved,
		Albums: u.Albums.Albums, Blobs: u.Albums.Blobs, BlobBytes: u.Albums.Bytes, DeletedBytes: u.Albums.DeletedBytes,
		StorageBytes: l.StorageBytes, RequestsPerSecond: l.RequestsPerSecond, Burst: l.Burst, Concurrent: l.Concurrent,
	}}, nil
}

// tenantOf returns the tenant of the request, or "" on a server without
// tenants.
func tenantOf(ctx context.Context) string { return tenant.FromContext(ctx).Tenant }
