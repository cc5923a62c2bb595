package daemon

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"cpar/cloud/listen"
	"cpar/cparhttp"
)

// tell notifies systemd of start, reload and stop until `end` is called. It
// also reloads certificates on request and reports to systemd's watchdog.
func (o Options) tell(ctx context.Context, server *listen.Server, handler http.Handler) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var steps sync.WaitGroup
	steps.Go(func() { o.reload(ctx, server) })
	steps.Go(func() { o.watchdog(ctx, handler) })
	o.notify(sd.SdNotifyReady)
	context.AfterFunc(ctx, func() { o.notify(sd.SdNotifyStopping) })
	return func() {
		cancel()
		steps.Wait()
	}
}

func (o Options) notify(state string) {
	if _, err := sd.SdNotify(false, state); err != nil {
		o.Log.Warn("systemd cannot be notified", "state", state, "error", err)
	}
}

func (o Options) reload(ctx context.Context, server *listen.Server) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.Reload:
		}
		state := sd.SdNotifyReloading
		if now := sd.SdNotifyMonotonicUsec(); now != "" {
			state += "\n" + now
		}
		o.notify(state)
		if err := server.Reload(); err != nil {
			o.Log.Error("certificates are kept as they were", "error", err)
		} else {
			o.Log.Info("reloaded")
		}
		o.notify(sd.SdNotifyReady)
	}
}

func (o Options) watchdog(ctx context.Context, handler http.Handler) {
	every, err := sd.SdWatchdogEnabled(false)
	if err != nil || every == 0 {
		return
	}
	tick := time.NewTicker(every / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if alive(ctx, handler) {
				o.notify(sd.SdNotifyWatchdog)
			}
		}
	}
}

// alive reports whether the handler answers. It calls the handler directly,
// because clients may occupy all connections.
func alive(ctx context.Context, handler http.Handler) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+cparhttp.PathHealth, nil)
	if err != nil {
		return false
	}
	a := &answer{header: http.Header{}}
	handler.ServeHTTP(a, r)
	return a.status != 0 // any status proves that the handler works
}

type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	a.status = cmp.Or(a.status, status)
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return len(p), nil
}
