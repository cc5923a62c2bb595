package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/hint"
)

type Options struct {
	// Listen is the address for metrics, host:port, or "".
	Listen string
	// InsecureAnywhere allows addresses other than loopback. Every machine that
	// reaches such an address can read each tenant's number of requests.
	InsecureAnywhere bool
	// Traces is the URL of a collector for spans, or "".
	Traces string
	// Profile also serves net/http/pprof, on loopback only.
	Profile bool
}

// Open opens the listener, or returns nil if Listen is "".
func (o Options) Open() (net.Listener, error) {
	if o.Listen == "" {
		if o.Profile {
			return nil, hint.Add(fmt.Errorf("%w: profiles without a listener for metrics", cpar.ErrInput), "name one, such as 127.0.0.1:9090")
		}
		return nil, nil
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, hint.Add(fmt.Errorf("listening for metrics on %s: %w: %w", o.Listen, cpar.ErrInput, err), "write it like 127.0.0.1:9090, and take a port that is free")
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		switch {
		case !o.InsecureAnywhere:
			err = hint.Add(fmt.Errorf("%w: %s is not a loopback address; metrics have neither token nor TLS", cpar.ErrInput, o.Listen),
				"listen on 127.0.0.1 and let an agent on this machine collect them")
		case o.Profile:
			err = fmt.Errorf("%w: profiles are served on loopback addresses only, not on %s", cpar.ErrInput, o.Listen)
		}
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (o Options) Serve(ctx context.Context, l net.Listener, m *Metrics, ready *Readiness, log *slog.Logger) {
	srv := &http.Server{
		Handler:           o.handler(m, ready),
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      5 * time.Minute, // a request for a profile states its duration
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          ServerLog(log, false),
	}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	// The caller may close the listener before ctx is done.
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		log.Error("serving metrics", "error", err)
	}
}

func (o Options) handler(m *Metrics, ready *Readiness) http.Handler {
	m.addSource(ready.samples)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	mux.Handle("GET "+cparhttp.PathReadyz, ready)
	mux.HandleFunc("GET "+cparhttp.PathHealthz, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	if o.Profile {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	}
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		// Check the host name, because a web page can make its own host name
		// resolve to this machine (DNS rebinding).
		if host := r.Host; !o.InsecureAnywhere && !loopback(host) || origin.Check(r) != nil {
			http.Error(w, "served under loopback names only", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return cparhttp.IsLoopback(host)
}
