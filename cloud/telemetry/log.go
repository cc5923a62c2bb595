package telemetry

import (
	"context"
	"log"
	"log/slog"
	"regexp"
)

// ServerLog returns the logger for messages of an http.Server, such as failed
// handshakes, at level debug. Unless `clients` is set, it removes client
// addresses.
func ServerLog(to *slog.Logger, clients bool) *log.Logger {
	h := to.Handler()
	if !clients {
		h = withoutAddresses{h}
	}
	return slog.NewLogLogger(h, slog.LevelDebug)
}

type withoutAddresses struct{ slog.Handler }

var address = regexp.MustCompile(`(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:.]+(%[^\]]*)?\]):\d{1,5}`)

func (h withoutAddresses) Handle(ctx context.Context, r slog.Record) error {
	return h.Handler.Handle(ctx, slog.NewRecord(r.Time, r.Level, address.ReplaceAllString(r.Message, "(address)"), r.PC))
}
