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

// guard wraps all routes: it refuses browsers that are led here by a page of
// somebody else's, ends a request that panics and not the process, and logs.
func (s *server) guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := &recorder{ResponseWriter: rw, control: http.NewResponseController(rw), silence: s.o.Silence}
		// The mux writes the pattern into the request it is given.
		r = r.WithContext(r.Context())
		start := time.Now()
		// A disk that fails under a memory map, or a file cut short there, is a
		// fault. As a panic it ends this request and not the process, since all
		// that reads a map stays on this goroutine (loading, searching, sending) or
		// hands its panics over to it (the workers of package search).
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler {
				value := fmt.Sprint(p)
				if _, ok := p.(interface{ Addr() uintptr }); ok {
					// Go's words for it are those of a nil pointer.
					value = "a fault, as of a file cut short under a memory map: " + value
				}
				s.o.Log.Error("panic", "route", r.Pattern, "value", value, "stack", string(debug.Stack()))
				if w.status == 0 {
					writeProblem(w, http.StatusInternalServerError, cparhttp.CodeInternal, "an error of the cloud's own; its log tells more")
					p = nil
				}
			}
			// A write deadline would outlive this request. What is left of a
			// body is drained by the server, which must come to an end too.
			w.control.SetWriteDeadline(time.Time{})
			w.control.SetReadDeadline(time.Now().Add(s.o.Silence))
			s.log(r, w, time.Since(start))
			if p != nil {
				// Half an answer must not look like a whole one.
				panic(http.ErrAbortHandler)
			}
		}()
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case !loopbackName(r.Host):
			// A page can have its own name point to this machine.
			writeProblem(w, http.StatusForbidden, cparhttp.CodeForbidden, "this cloud is asked for by a loopback address only")
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
	// What is not an id of ours is a stranger's text and stays out.
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

// IsLoopback reports whether host, without a port, is this machine alone.
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

// A recorder remembers what was answered. It gives every write a deadline of
// its own, so that a segment may take as long as it needs while it moves.
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

// Unwrap lets http.ResponseController through.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
