// Package api serves a store of encrypted indexes over HTTP: the routes of
// package cparhttp, described by an OpenAPI document that is generated from
// this code and served at /openapi.json and /openapi.yaml.
//
//	http.Handler = api.New(store, annotator, options)
//
// Segments are streamed in and out. Manifests and requests are small: they are read
// whole, within limits. The log records method, route, index id, status, bytes and
// duration, but nothing of a body: the cloud cannot read bodies, and the log must not
// keep them.
package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cloud/batch"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
)

// An Annotator answers requests.
type Annotator interface {
	Annotate(ctx context.Context, k store.IndexRef, q *cpar.Request) (*cpar.Reply, error)
	// AnnotateBatch answers all requests or none, in the same order.
	AnnotateBatch(ctx context.Context, k store.IndexRef, requests []*cpar.Request) ([]*cpar.Reply, error)
	// Load makes an active index ready, unless it is. turn is asked before much is read, and
	// given back after.
	Load(ctx context.Context, k store.IndexRef, turn func() (done func(), err error)) error
	// ReplyBytes bounds the memory that the replies will take, as they are and encoded.
	ReplyBytes(ctx context.Context, k store.IndexRef, requests []*cpar.Request) (int64, error)
}

// A Store keeps indexes. It is implemented by store.Store for any type of value.
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
}

// Options configures the handler. The zero value suits a daemon on loopback.
type Options struct {
	// Log receives one line per request at level debug, and the cloud's own errors; nil
	// discards both.
	Log *slog.Logger
	// Gate bounds what the handler takes on; nil means one with the default limits.
	Gate *admission.Gate
	// AnnotateTimeout bounds one annotation or batch, including the wait; 0 means a minute.
	AnnotateTimeout time.Duration
	// StallTimeout is how long a body may go without progress; 0 means twenty seconds.
	StallTimeout time.Duration
	// Observe is told of every request; nil: nobody.
	Observe Observer
	// Ready answers PathReadyz, for any stranger: yes or no; nil means yes.
	Ready func(context.Context) bool
	// Host reports whether clients may call the cloud by a name, without a port; nil: by those of
	// this machine only.
	Host func(name string) bool
	// LogClients puts the addresses of clients into the log, which else has none.
	LogClients bool
	// Auth says whose a request is; nil means that nobody needs a token.
	Auth Authenticator
}

// A server holds what the handlers share.
type server struct {
	store     Store
	annotator Annotator
	o         Options
	scopes    map[string]tenant.Scopes // that may do an operation, by the mux's pattern
	gate      *admission.Gate
	batches   *batch.Runner[store.IndexRef, *cpar.Request, batchReply]
}

// New returns the handler for all routes.
func New(st Store, an Annotator, o Options) (http.Handler, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Gate == nil {
		o.Gate = admission.New(admission.Limits{})
	}
	if o.AnnotateTimeout == 0 {
		o.AnnotateTimeout = time.Minute
	}
	if o.Host == nil {
		o.Host = IsLoopback
	}
	if o.StallTimeout == 0 {
		o.StallTimeout = 20 * time.Second
	}
	s := &server{store: st, annotator: an, o: o, gate: o.Gate}
	s.batches = s.newBatchRunner()
	mux := http.NewServeMux()
	h := humago.New(mux, config())
	s.register(h)
	if err := s.secure(h.OpenAPI()); err != nil {
		return nil, err
	}
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
