// Package daemon runs a cloud: it opens the data folder, listens on a loopback address,
// serves until stopped, lets running requests finish, and closes the folder.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/cloud/watch"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

// Options configures Run.
type Options struct {
	// Data is the data folder, created if missing.
	Data string
	// Listen is the address, host:port; port 0 picks a free port.
	Listen string
	// Workers is the number of goroutines that share one request; 0 means the number of cores.
	Workers int
	// Memory says where the rows of loaded indexes are kept.
	Memory indexdir.Memory
	// Log receives events; nil discards them.
	Log *slog.Logger
	// LogClients puts the addresses of clients into the log, which else has none.
	LogClients bool
	// Watch says where metrics and readiness are served; the zero value: nowhere.
	Watch watch.Options
	// Ready is called with the actual address once requests are accepted.
	Ready func(addr net.Addr)
	// Grace is how long running requests may take after the stop; 0 means ten seconds.
	Grace time.Duration
}

// Run serves until ctx is done and then returns nil.
func Run(ctx context.Context, o Options) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if err := checkListen(o.Listen); err != nil {
		return err
	}
	operator, err := o.Watch.Open()
	if err != nil {
		return err
	}
	if operator != nil {
		defer operator.Close()
	}
	c, err := cloud.New(o.Data, store.Options{Memory: o.Memory, Log: o.Log})
	if err != nil {
		return err
	}
	defer c.Close()
	c.Workers = o.Workers
	tenants, err := tenant.Open(o.Data, false, o.Log)
	if err != nil {
		return err
	}
	metrics, ready := watch.New(), watch.NewReadiness(watch.Folder(o.Data), watch.Room(o.Data, 64<<20))
	handler, err := api.New(c.Store, c, api.Options{Log: o.Log, LogClients: o.LogClients, Observe: metrics, Ready: ready.Serves, Auth: tenants})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return hint.Add(fmt.Errorf("listening on %s: %w: %w", o.Listen, cpar.ErrInput, err), "pass another port, or port 0 for a free one")
	}
	// The resolved address is checked too: localhost is loopback only by convention.
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		l.Close()
		return notLoopback(o.Listen)
	}
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          watch.ServerLog(o.Log, o.LogClients),
		ConnState:         metrics.ConnState,
	}
	if operator != nil {
		o.Log.Info("metrics", "address", operator.Addr().String())
		go o.Watch.Serve(ctx, operator, metrics, ready, o.Log)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	defer c.Maintain(ctx)()
	o.Log.Info("serving", "address", l.Addr().String())
	if o.Ready != nil {
		o.Ready(l.Addr())
	}
	select {
	case err := <-served:
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	o.Log.Info("stopping")
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	if err := srv.Shutdown(stop); errors.Is(err, context.DeadlineExceeded) {
		o.Log.Warn("requests were cut off")
		srv.Close()
	}
	return nil
}

func checkListen(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return hint.Add(fmt.Errorf("%w: %q is not an address to listen on", cpar.ErrInput, listen), "write it like 127.0.0.1:8080")
	}
	if !api.IsLoopback(host) {
		return notLoopback(listen)
	}
	return nil
}

func notLoopback(listen string) error {
	err := fmt.Errorf("%w: %s is not a loopback address; tokens and TLS, needed before anyone else may reach a cloud, come in a later version", cpar.ErrInput, listen)
	return hint.Add(err, "listen on 127.0.0.1, ::1 or localhost, and reach it from elsewhere through a tunnel such as ssh -L")
}
