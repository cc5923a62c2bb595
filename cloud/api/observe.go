package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cloud/trace"
)

type Observer interface {
	Begin()
	End(*trace.Request)
}

// methods are the methods of the routes. Other methods are logged as "-",
// because they are untrusted text.
var methods = map[string]bool{"GET": true, "HEAD": true, "PUT": true, "POST": true, "DELETE": true}

// begin opens the trace of a request with a new random id. It ignores ids from
// the client, because they could inject text into the log.
func (s *server) begin(r *http.Request) *trace.Request {
	rec := &trace.Request{ID: newRequestID(), Method: "-", Start: time.Now()}
	if methods[r.Method] {
		rec.Method = r.Method
	}
	if s.o.Observe != nil {
		s.o.Observe.Begin()
	}
	return rec
}

func newRequestID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (s *server) end(r *http.Request, w *recorder) {
	rec := w.record
	rec.Took = time.Since(rec.Start)
	rec.Route = r.Pattern[strings.Index(r.Pattern, " ")+1:]
	rec.Status, rec.Sent = w.status, w.bytes
	if s.o.Observe != nil {
		s.o.Observe.End(rec)
	}
	if !s.o.Log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	// A malformed id is untrusted text and stays out of the log.
	index := "-"
	if id, err := cpar.ParseIndexID(r.PathValue("id")); err == nil {
		index = id.String()
	}
	s.o.Log.LogAttrs(context.Background(), slog.LevelDebug, "request", logAttrs(rec, index, s.o.LogClients, r)...)
}

func logAttrs(rec *trace.Request, index string, clients bool, r *http.Request) []slog.Attr {
	line := []slog.Attr{slog.String("request", rec.ID), slog.String("method", rec.Method), slog.String("route", rec.Route),
		slog.String("index", index), slog.Int("status", rec.Status)}
	o := rec.Outcome()
	if o.Code != "" {
		line = append(line, slog.String("code", o.Code))
	}
	if o.Tenant != "" {
		line = append(line, slog.String("tenant", o.Tenant))
	}
	if o.Annotations > 0 {
		line = append(line, slog.String("scheme", o.Scheme.String()), slog.Int("requests", o.Annotations))
	}
	line = append(line, slog.Int64("received", rec.Received), slog.Int64("sent", rec.Sent), slog.Duration("took", rec.Took))
	rec.Times(func(s trace.Stage, t trace.Time) { line = append(line, slog.Duration(s.String(), t.Took)) })
	if clients {
		line = append(line, slog.String("client", r.RemoteAddr))
	}
	return line
}

type countedBody struct {
	io.ReadCloser
	record *trace.Request
}

func (b *countedBody) Read(p []byte) (int, error) {
	start := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.record.Received += int64(n)
	b.record.Add(trace.Body, start, time.Now())
	// Unwrap a network error, because its text contains addresses.
	if e := (*net.OpError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return n, err
}

// A recorder records the status and size of the response. It writes in pieces, each
// with its own deadline, so only a stalled response fails.
type recorder struct {
	http.ResponseWriter
	control *http.ResponseController
	silence time.Duration
	record  *trace.Request
	status  int
	bytes   int64
	// stranger is the connection of an HTTP/2 request without a token.
	stranger *admission.Visitor
	sent     []func() // called after the response is sent
}

type recorderKey struct{}

// whenSent calls f after the response to the request of ctx is sent.
func whenSent(ctx context.Context, f func()) {
	w := ctx.Value(recorderKey{}).(*recorder)
	w.sent = append(w.sent, f)
}

// WriteHeader aborts the response if too many responses to clients without a
// token are unread.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		done, ok := w.stranger.Answer()
		if !ok {
			panic(http.ErrAbortHandler)
		}
		w.sent = append(w.sent, done)
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	start := time.Now()
	piece := max(streamBytes, int(minHeld*w.silence.Seconds()))
	n, err := 0, error(nil)
	for more := true; more && err == nil; more = n < len(p) {
		w.control.SetWriteDeadline(time.Now().Add(w.silence))
		var k int
		k, err = w.ResponseWriter.Write(p[n:min(n+piece, len(p))])
		n += k
	}
	w.bytes += int64(n)
	w.record.Add(trace.Send, start, time.Now())
	return n, err
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
