package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cpar"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/cloud/trace"
	"cpar/cparhttp"
)

// An Authenticator says whose a request is, by its header alone. Errors are
// tenant.ErrToken (401), a *tenant.Guessing (429), or the cloud's own (500 and more).
type Authenticator interface {
	Authenticate(r *http.Request) (tenant.Principal, error)
}

// anybody is the row of an operation that needs no token, anyToken of one for every token.
const (
	anybody  = tenant.Scopes(0)
	anyToken = tenant.Annotate | tenant.Push | tenant.Delete | tenant.Admin
)

// scopesOf says for every operation which scopes may do it; admin may do all. An operation
// without a row is refused by New.
var scopesOf = map[string]tenant.Scopes{
	"health":           anybody, // says what every cpard says
	"token":            anyToken,
	"usage":            tenant.Admin,
	"list-indexes":     tenant.Annotate | tenant.Delete,
	"get-manifest":     anyToken, // a push must not undo what another device has pushed
	"has-segment":      anyToken,
	"get-segment":      tenant.Annotate | tenant.Delete, // names of indexes lie in one
	"annotate":         tenant.Annotate,
	"annotate-batch":   tenant.Annotate,
	"missing-segments": tenant.Push,
	"put-segment":      tenant.Push,
	"activate-index":   tenant.Push,
	"delete-index":     tenant.Delete,
}

const securityName = "token"

// secure finds the row of every operation, by the mux's pattern, and describes it in the
// document.
func (s *server) secure(doc *huma.OpenAPI) error {
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{securityName: {
		Type: "http", Scheme: "bearer", BearerFormat: "cpar_ and 58 letters and digits",
		Description: "A token of a tenant. A cloud on loopback without tenants needs none. One of the scopes that an operation names is enough, or admin.",
	}}
	s.scopes = map[string]tenant.Scopes{
		"GET " + cparhttp.PathProblem: anybody,                                        // what every cpard says of a code
		"GET " + cparhttp.PathHealthz: anybody, "GET " + cparhttp.PathReadyz: anybody, // yes or no
	}
	for path, item := range doc.Paths {
		for method, op := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodHead: item.Head, http.MethodPost: item.Post, http.MethodPut: item.Put,
			http.MethodDelete: item.Delete, http.MethodPatch: item.Patch, http.MethodOptions: item.Options, http.MethodTrace: item.Trace,
		} {
			if op == nil {
				continue
			}
			scopes, ok := scopesOf[op.OperationID]
			if !ok {
				return fmt.Errorf("operation %s: nothing says which scopes may do it", op.OperationID)
			}
			s.scopes[method+" "+path] = scopes
			op.Security = []map[string][]string{}
			for _, name := range scopes.Names() {
				op.Security = append(op.Security, map[string][]string{securityName: {name}})
			}
		}
	}
	return nil
}

// authenticate finds out whose a request is and whether it may be made, before anything of
// its body is read or anything is looked up: what is refused says nothing of what is there.
func (s *server) authenticate(mux *http.ServeMux, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		scopes, known := s.scopes[pattern]
		if !known {
			scopes = anyToken // no such route, or the document
		}
		if s.o.Auth == nil || scopes == anybody {
			next.ServeHTTP(w, r)
			return
		}
		p, err := s.o.Auth.Authenticate(r)
		switch {
		case err != nil:
			s.refuse(w, r, err)
		case !p.May(scopes):
			names := scopes.Names()
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+strings.Join(names, " ")+`"`)
			writeProblem(w, r, http.StatusForbidden, cparhttp.CodeScope, "the token may not do this; it needs the scope "+strings.Join(names, " or "))
		default:
			trace.SetTenant(r.Context(), p.Tenant)
			// In place: the guard logs the pattern that the mux writes into this request.
			*r = *r.WithContext(p.NewContext(r.Context()))
			next.ServeHTTP(w, r)
		}
	})
}

// refuse answers a request whose token is not accepted.
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
		// Malformed, unknown, removed, outlived: one answer.
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		writeProblem(w, r, http.StatusUnauthorized, cparhttp.CodeUnauthorized, tenant.ErrToken.Error())
	default:
		s.o.Log.Error("finding out whose a request is", "error", err)
		writeProblem(w, r, http.StatusServiceUnavailable, cparhttp.CodeStorage, "the cloud cannot read who may come in")
	}
}

// seconds writes a wait for Retry-After, a whole number of them and never too few.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}

type tokenOutput struct{ Body cparhttp.TokenInfo }

// token says what the token of the request may do.
func (s *server) token(ctx context.Context, _ *none) (*tokenOutput, error) {
	p := tenant.FromContext(ctx)
	if p.Tenant == "" {
		return &tokenOutput{cparhttp.TokenInfo{Scopes: anyToken.Names()}}, nil
	}
	return &tokenOutput{cparhttp.TokenInfo{Needed: true, Scopes: p.Scopes.Names()}}, nil
}

type usageOutput struct{ Body cparhttp.UsageInfo }

// usage says how much the tenant of the request has stored, and what its limits are.
func (s *server) usage(ctx context.Context, _ *none) (*usageOutput, error) {
	done, err := s.gate.AcquireCheck(ctx, tenantOf(ctx)) // the first time, all of it is counted
	if err != nil {
		return nil, s.problem(err)
	}
	defer done()
	u, err := s.store.Usage(ctx, tenantOf(ctx))
	if err != nil {
		return nil, s.problem(err)
	}
	l := tenant.FromContext(ctx).Limits
	return &usageOutput{cparhttp.UsageInfo{
		Indexes: u.Indexes, Bytes: u.Active, Pending: u.Pending + u.Reserved,
		StorageBytes: l.StorageBytes, RequestsPerSecond: l.RequestsPerSecond, Burst: l.Burst, Concurrent: l.Concurrent,
	}}, nil
}

// tenantOf is the tenant whose request ctx belongs to, "" at a cloud without tenants.
func tenantOf(ctx context.Context) string { return tenant.FromContext(ctx).Tenant }

// key names an index of the tenant that asks.
func indexRef(ctx context.Context, id cpar.IndexID) store.IndexRef {
	return store.IndexRef{Tenant: tenantOf(ctx), Index: id}
}
