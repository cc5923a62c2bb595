package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"cpar/cloud/admission"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
)

// guard wraps all routes. It refuses cross-site browser requests and ambiguous
// paths, confines a panic to its request, and observes the request.
func (s *server) guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rec := s.begin(r)
		w := &recorder{ResponseWriter: rw, control: http.NewResponseController(rw), silence: s.o.StallTimeout, record: rec}
		if r.ProtoMajor == 2 {
			w.stranger = admission.VisitorOf(r.Context())
		} else {
			w.control.SetWriteDeadline(time.Time{}) // remove the deadline of the previous request
		}
		// Assign to r, because the mux writes the pattern of the route into the
		// request that it receives.
		r = r.WithContext(context.WithValue(rec.NewContext(r.Context()), recorderKey{}, w))
		if r.Body != nil {
			r.Body = &countedBody{r.Body, rec}
		}
		// Turn a fault in a memory map (the disk failed or the file was
		// truncated) into a panic, so that it ends only this request. Maps are
		// read only on this goroutine or in parallel.Runs, which passes panics
		// on to this goroutine.
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			for _, f := range w.sent {
				f()
			}
			s.end(r, w)
		}()
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler {
				value := fmt.Sprint(p)
				if _, ok := p.(interface{ Addr() uintptr }); ok {
					// Go reports a fault as a nil pointer dereference.
					value = "memory fault; was a mapped file truncated? " + value
				}
				s.o.Log.Error("panic", "request", rec.ID, "route", r.Pattern, "value", value, "stack", string(debug.Stack()))
				rec.Panicked = true
				if w.status == 0 {
					writeProblem(w, r, http.StatusInternalServerError, cparhttp.CodeInternal, "internal error of the cloud; see its log")
					p = nil
				}
			}
			switch {
			case r.ProtoMajor == 1:
				// Limit the time in which net/http drains the body and sends its
				// buffer after this function.
				w.control.SetReadDeadline(time.Now().Add(s.o.StallTimeout))
				w.control.SetWriteDeadline(time.Now().Add(2 * s.o.StallTimeout))
			case p == nil:
				// Count the request as running until its response is sent.
				w.control.SetWriteDeadline(time.Now().Add(s.o.StallTimeout))
				w.control.Flush()
			}
			if p != nil {
				// Abort, so that a partial response does not look complete.
				panic(http.ErrAbortHandler)
			}
		}()
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Request-Id", rec.ID)
		// Probes may use any host name, because load balancers use an address.
		// This is safe, because the response reveals nothing to a web page.
		probe := r.URL.Path == cparhttp.PathHealthz || r.URL.Path == cparhttp.PathReadyz
		switch {
		case !probe && !s.o.Host(withoutPort(r.Host)):
			// A web page can make its own host name resolve to this machine (DNS
			// rebinding).
			writeProblem(w, r, http.StatusForbidden, cparhttp.CodeForbidden, "this cloud does not accept the host name of the request; its operator can allow it (cpard serve --allowed-host)")
		case origin.Check(r) != nil:
			writeProblem(w, r, http.StatusForbidden, cparhttp.CodeForbidden, "requests from other sites' pages are refused")
		case !plainPath(r):
			writeProblem(w, r, http.StatusNotFound, cparhttp.CodeNotFound, "no such route; see /openapi.json")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// plainPath returns false for paths that http.ServeMux would redirect, because
// a redirect would echo the path.
func plainPath(r *http.Request) bool {
	p := r.URL.EscapedPath() // like the mux, which does not separate at %2f
	return strings.HasPrefix(p, "/") && !strings.Contains(p, "//") && (p == "/" || path.Clean(p) == strings.TrimSuffix(p, "/")) && r.Method != http.MethodConnect
}

func withoutPort(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return host
}

func (s *server) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := tenant.FromContext(r.Context())
		leave, err := s.gate.Enter(p.Tenant, admission.Rate{PerSecond: p.Limits.RequestsPerSecond, Burst: p.Limits.Burst, Concurrent: p.Limits.Concurrent})
		if err != nil {
			s.problem(err).write(w, r)
			return
		}
		whenSent(r.Context(), leave)
		next.ServeHTTP(w, r)
	})
}
