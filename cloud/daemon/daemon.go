// Package daemon runs a server. It opens the data folder, listens, serves until
// stopped, lets running requests finish, and closes the folder. It also
// notifies systemd.
package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"cpar/cloud/admission"
	"cpar/cloud/api"
	"cpar/cloud/cluster"
	"cpar/cloud/listen"
	"cpar/cloud/store"
	"cpar/cloud/telemetry"
	"cpar/cloud/tenant"
	"cpar/internal/indexdir"
)

type Options struct {
	// Data is the data folder, created if missing.
	Data string
	// Objects selects object storage instead of the data folder.
	Objects Storage
	// Cluster configures the cluster. If its Servers are empty, the server runs
	// alone.
	Cluster cluster.Config
	// Listen is the address, host:port. Port 0 selects a free port.
	Listen string
	// Workers is the number of goroutines that compute one batch of requests.
	// The default is the number of cores.
	Workers int
	// Memory selects where the rows of loaded indexes are kept.
	Memory indexdir.Memory
	// Store bounds storage, memory and background reading. Run sets its other
	// fields.
	Store store.Options
	// Admit limits memory for requests, waiting time and computing.
	Admit admission.Limits
	// Log receives events. Nil discards them.
	Log *slog.Logger
	// LogClients adds client addresses to the log.
	LogClients bool
	// Watch configures the listener for metrics and readiness, if any.
	Watch telemetry.Options
	// Network configures the listener for clients, except for its address.
	Network listen.Options
	// Reload triggers a reload of certificate files. Changes of the files also
	// trigger a reload.
	Reload <-chan os.Signal
	// Ready is called with the server's URL when requests are accepted. The URL
	// is "" on a machine that is no router.
	Ready func(url string)
	// Grace bounds the time for running requests after a stop. The default is
	// ten seconds.
	Grace time.Duration
}

// Run serves until ctx is done and then returns nil.
func Run(ctx context.Context, o Options) error {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	tenants, err := tenant.Open(o.Data, false, o.Log)
	if err != nil {
		return err
	}
	metrics, gate := telemetry.New(), admission.New(o.Admit)
	defer gate.Ceiling(ctx)()
	n := o.Network
	n.Address, n.Tenants, n.Log, n.Door = o.Listen, tenants.Needed(), o.Log, gate.Door
	n.ACME.Cache = filepath.Join(o.Data, "acme")
	n.ErrorLog, n.ConnState = telemetry.ServerLog(o.Log, o.LogClients), metrics.ConnState
	// Validate first, so that a bad configuration creates nothing on disk.
	if err := n.Check(); err != nil {
		return err
	}
	traces, err := telemetry.NewTraces(o.Watch.Traces, o.Log)
	if err != nil {
		return err
	}
	operator, err := o.Watch.Open()
	if err != nil {
		return err
	}
	if operator != nil {
		defer operator.Close()
	}
	o.Store.Memory, o.Store.Log, o.Store.Quota = o.Memory, o.Log, tenants.Storage
	o.Store.AlbumMemory, o.Store.AlbumStates = gate.AcquireState, gate.Limits().Memory/4
	c, checks, err := o.open(metrics)
	if err != nil {
		return err
	}
	defer c.Close()
	c.Workers = o.Workers
	metrics.Store(c.Stats)
	indexes, annotator, leave, err := o.join(ctx, c, metrics)
	if err != nil {
		return err
	}
	defer leave()
	if annotator == nil {
		return o.runNode(ctx, c, metrics, operator, checks)
	}
	server, err := listen.Open(n)
	if err != nil {
		return err
	}
	defer server.Close()
	metrics.Gate(gate.Stats)
	metrics.Tenants(tenants.Stats)
	metrics.Listener(server.Stats)
	checks = append(checks, telemetry.FolderCheck(o.Data), telemetry.FreeSpaceCheck(o.Data, 64<<20), telemetry.CertificateCheck(server.Stats), telemetry.DamageCheck(c.Stats))
	if o.Store.ScrubRate >= 0 {
		checks = append(checks, telemetry.ScrubCheck(c.Stats, 3*max(o.Store.ScrubEvery, time.Hour)))
	}
	ready := telemetry.NewReadiness(checks...)
	handler, err := api.New(indexes, annotator, api.Options{
		Log: o.Log, LogClients: o.LogClients, Gate: gate, Observe: metrics, Ready: ready.Serves, Auth: tenants, Host: server.Host,
	})
	if err != nil {
		return err
	}
	if operator != nil {
		o.Log.Info("metrics", "address", operator.Addr().String())
		go o.Watch.Serve(ctx, operator, metrics, ready, o.Log)
	}
	defer metrics.Trace(traces)()
	defer c.Maintain(ctx)()
	o.Log.Info("serving", "address", server.Addr().String())
	defer o.tell(ctx, server, handler)()
	if o.Ready != nil {
		o.Ready(server.URL())
	}
	return server.Serve(ctx, handler, o.Grace)
}
