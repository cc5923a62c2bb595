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
	"cpar/cloud/trace"
)

// An Observer is told of every request, for metrics and traces.
type Observer interface {
	Begin()
	// End gets what was written down of a request, which nobody writes to any more.
	End(*trace.Request)
}

// methods are those of the routes; another one is text from outside, and logged as "-".
var methods = map[string]bool{"GET": true, "HEAD": true, "PUT": true, "POST": true, "DELETE": true}

// begin opens the record of a request. Its id is drawn here: one that a client sends could
// be anybody's, or a line of log.
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

// newRequestID returns a random UUID (RFC 9562, version 4).
func newRequestID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// end closes the record, hands it to the observer and logs it.
func (s *server) end(r *http.Request, w *recorder) {
	rec := w.record
	rec.Took = time.Since(rec.Start)
	rec.Route = r.Pattern[strings.Index(r.Pattern, " ")+1:] // without the method
	rec.Status, rec.Sent = w.status, w.bytes
	if s.o.Observe != nil {
		s.o.Observe.End(rec)
	}
	if !s.o.Log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	// A malformed id is arbitrary text from outside and stays out of the log.
	index := "-"
	if id, err := cpar.ParseIndexID(r.PathValue("id")); err == nil {
		index = id.String()
	}
	s.o.Log.LogAttrs(context.Background(), slog.LevelDebug, "request", logged(rec, index, s.o.LogClients, r)...)
}

// logged is all that the log has of a request.
func logged(rec *trace.Request, index string, clients bool, r *http.Request) []slog.Attr {
	line := []slog.Attr{slog.String("request", rec.ID), slog.String("method", rec.Method), slog.String("route", rec.Route),
		slog.String("index", index), slog.Int("status", rec.Status)}
	if code := rec.Code(); code != "" {
		line = append(line, slog.String("code", code))
	}
	if tenant := rec.Tenant(); tenant != "" {
		line = append(line, slog.String("tenant", tenant))
	}
	if scheme, n := rec.Annotations(); n > 0 {
		line = append(line, slog.String("scheme", scheme.String()), slog.Int("requests", n))
	}
	line = append(line, slog.Int64("received", rec.Received), slog.Int64("sent", rec.Sent), slog.Duration("took", rec.Took))
	rec.Times(func(s trace.Stage, t trace.Time) { line = append(line, slog.Duration(s.String(), t.Took)) })
	if clients {
		line = append(line, slog.String("client", r.RemoteAddr))
	}
	return line
}

// A countedBody counts what is read of a body, and how long that takes.
type countedBody struct {
	io.ReadCloser
	record *trace.Request
}

func (b *countedBody) Read(p []byte) (int, error) {
	start := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.record.Received += int64(n)
	b.record.Add(trace.Body, start, time.Now())
	// The text of a network error has the client's address, and the cloud's behind a proxy.
	if e := (*net.OpError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return n, err
}

// A recorder remembers status and size of the answer. What is written goes in pieces, each with
// a deadline of its own, so an answer may take as long as it needs while it makes progress.
type recorder struct {
	http.ResponseWriter
	control *http.ResponseController
	silence time.Duration
	record  *trace.Request
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
	start := time.Now()
	// A reply is held in memory until it is sent, so its client must be as fast as one whose
	// body is.
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

// Unwrap lets http.ResponseController reach the wrapped writer.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
