package daemon

import (
	"context"
	"net/http"
	"sync"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"cpar/cloud/listen"
	"cpar/cparhttp"
)

// tell tells systemd of the daemon's steps, if it wants to know, and does what it asks for: to
// read certificates again, and to say now and then that all is well. The function that it
// returns ends that.
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
		o.Log.Warn("systemd cannot be told", "state", state, "error", err)
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

// watchdog tells systemd that the daemon is alive as long as it answers a request.
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

// alive asks the handler past the network: who fills the connections must not have the daemon
// killed.
func alive(ctx context.Context, handler http.Handler) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+cparhttp.PathHealth, nil)
	if err != nil {
		return false
	}
	a := &answer{header: http.Header{}}
	handler.ServeHTTP(a, r)
	return a.status != 0 // what it says is for others to judge
}

// An answer is looked at for its status.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return len(p), nil
}
