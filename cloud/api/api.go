// Package api serves encrypted indexes over HTTP. It implements the routes of
// package cparhttp and serves an OpenAPI document generated from this code at
// /openapi.json and /openapi.yaml.
//
//	http.Handler = api.New(store, annotator, options)
//
// Segments are streamed. Manifests and requests are read into memory, within
// limits. The log records method, route, index id, status, bytes and duration,
// and nothing from a body.
package api

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cloud/album"
	"cpar/cloud/batch"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
)

type Annotator interface {
	// Annotate answers all requests, in order, or returns an error. If a request
	// of a batch caused the error, the error contains the request's number.
	Annotate(ctx context.Context, k store.IndexRef, requests []*cpar.Request) ([]*cpar.Reply, error)
	// Load loads an active index unless it is loaded. Before reading, it calls
	// `turn`, which may wait. Afterwards it calls `done`.
	Load(ctx context.Context, k store.IndexRef, turn func() (done func(), err error)) error
	// ReplyBytes returns an upper bound on the memory of the decoded and
	// encoded replies.
	ReplyBytes(ctx context.Context, k store.IndexRef, requests []*cpar.Request) (int64, error)
}

// Every store.Store implements Store.
type Store interface {
	List(ctx context.Context, tenant string) ([]store.Info, error)
	Manifest(ctx context.Context, k store.IndexRef) ([]byte, error)
	Missing(ctx context.Context, k store.IndexRef, m *cpar.Manifest) ([]cpar.Digest, error)
	HasSegment(ctx context.Context, k store.IndexRef, d cpar.Digest) (size int64, ok bool, err error)
	OpenSegment(ctx context.Context, k store.IndexRef, d cpar.Digest) (*store.SegmentReader, error)
	PutSegment(ctx context.Context, k store.IndexRef, d cpar.Digest, size int64, r io.Reader) error
	PutManifest(ctx context.Context, k store.IndexRef, b []byte) error
	Delete(ctx context.Context, k store.IndexRef) error
	Usage(ctx context.Context, tenant string) (store.Usage, error)
	Albums() *album.Store
}

// Options configures the handler. The zero value suits a daemon on loopback.
type Options struct {
	// Log receives a line per request at level debug, and the errors of the
	// server. Nil discards both.
	Log *slog.Logger
	// Gate limits memory, waiting time and computing. Nil means default limits.
	Gate *admission.Gate
	// AnnotateTimeout bounds the time for a request or batch, including its
	// wait. The default is one minute.
	AnnotateTimeout time.Duration
	// StallTimeout bounds the time without progress while a body is
	// transferred. The default is twenty seconds.
	StallTimeout time.Duration
	// Observe, if not nil, receives every request.
	Observe Observer
	// Ready determines the response to PathReadyz. Nil means always ready.
	Ready func(context.Context) bool
	// Host reports whether clients may address the server by this host name
	// (without port). If nil, only loopback names are accepted.
	Host func(name string) bool
	// LogClients adds client addresses to the log.
	LogClients bool
	// Auth authenticates requests. If nil, no token is required.
	Auth Authenticator
}

type server struct {
	store     Store
	annotator Annotator
	o         Options
	scopes    map[string]tenant.Scopes
	gate      *admission.Gate
	batches   *batch.Runner[store.IndexRef, *cpar.Request, batchReply]
}

func New(st Store, an Annotator, o Options) (http.Handler, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Gate = cmp.Or(o.Gate, admission.New(admission.Limits{}))
	o.AnnotateTimeout = cmp.Or(o.AnnotateTimeout, time.Minute)
	if o.Host == nil {
		o.Host = cparhttp.IsLoopback
	}
	o.StallTimeout = cmp.Or(o.StallTimeout, 20*time.Second)
	s := &server{store: st, annotator: an, o: o, gate: o.Gate, scopes: map[string]tenant.Scopes{
		"GET " + cparhttp.PathProblem: anybody,
		"GET " + cparhttp.PathHealthz: anybody, "GET " + cparhttp.PathReadyz: anybody,
	}}
	s.batches = s.newBatchRunner()
	mux := http.NewServeMux()
	h := humago.New(mux, config())
	components(h.OpenAPI().Components)
	s.register(h)
	if err := serveOpenAPI(mux, h); err != nil {
		return nil, err
	}
	mux.HandleFunc("GET "+cparhttp.PathProblem, explain)
	mux.HandleFunc("GET "+cparhttp.PathHealthz, alive)
	mux.HandleFunc("GET "+cparhttp.PathReadyz, s.ready)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, r, http.StatusNotFound, cparhttp.CodeNotFound, "no such route; see /openapi.json")
	})
	return s.guard(s.authenticate(mux, s.limit(mux))), nil
}
