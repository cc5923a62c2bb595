package api

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"cpar"
	"cpar/cparhttp"
)

// guard wraps all routes. It refuses cross-site requests from browsers, confines a panic
// to its request, and logs.
func (s *server) guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := &recorder{ResponseWriter: rw, control: http.NewResponseController(rw), silence: s.o.StallTimeout}
		// The mux writes the pattern into the request it receives.
		r = r.WithContext(r.Context())
		start := time.Now()
		// Reading a memory map faults if the disk fails or the file was truncated. As a
		// panic the fault ends this request and not the process, since all reads of a map
		// happen on this goroutine (loading, searching, sending) or in workers that pass
		// their panics to it (package workers).
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler {
				value := fmt.Sprint(p)
				if _, ok := p.(interface{ Addr() uintptr }); ok {
					// Go reports it like a nil pointer.
					value = "memory fault; was a mapped file truncated? " + value
				}
				s.o.Log.Error("panic", "route", r.Pattern, "value", value, "stack", string(debug.Stack()))
				if w.status == 0 {
					writeProblem(w, http.StatusInternalServerError, cparhttp.CodeInternal, "internal error of the cloud; see its log")
					p = nil
				}
			}
			// A write deadline would outlive this request. The server drains the rest of
			// the body, which must end too.
			w.control.SetWriteDeadline(time.Time{})
			w.control.SetReadDeadline(time.Now().Add(s.o.StallTimeout))
			s.log(r, w, time.Since(start))
			if p != nil {
				// A partial answer must not look complete.
				panic(http.ErrAbortHandler)
			}
		}()
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case !loopbackName(r.Host):
			// Any web page can make its own name resolve to this machine.
			writeProblem(w, http.StatusForbidden, cparhttp.CodeForbidden, "this cloud is served only under loopback names")
		case origin.Check(r) != nil:
			writeProblem(w, http.StatusForbidden, cparhttp.CodeForbidden, "requests from other sites' pages are refused")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (s *server) log(r *http.Request, w *recorder, took time.Duration) {
	if !s.o.Log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	// A malformed id is arbitrary text from outside and stays out of the log.
	index := "-"
	if id, err := cpar.ParseIndexID(r.PathValue("id")); err == nil {
		index = id.String()
	}
	route := r.Pattern[strings.Index(r.Pattern, " ")+1:] // without the method
	method := r.Method
	if len(method) > 10 {
		method = "-"
	}
	s.o.Log.Debug("request", "method", method, "route", route, "index", index,
		"status", w.status, "received", max(r.ContentLength, 0), "sent", w.bytes, "took", took)
}

// IsLoopback reports whether host, without a port, means only this machine.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func loopbackName(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return IsLoopback(host)
}

// A recorder remembers status and size of the answer. Each write gets its own deadline,
// so a segment may take as long as it needs while it makes progress.
type recorder struct {
	http.ResponseWriter
	control *http.ResponseController
	silence time.Duration
	status  int
	bytes   int64
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.control.SetWriteDeadline(time.Now().Add(w.silence))
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the wrapped writer.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
