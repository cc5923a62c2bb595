// Package api serves a store of encrypted indexes over HTTP: the routes of
// package cparhttp, described by an OpenAPI document that is generated from
// this code and served at /openapi.json and /openapi.yaml.
//
//	http.Handler = api.New(store, annotator, options)
//
// Segments are streamed in and out; manifests and requests are small and read
// whole, within limits. The log tells method, route, index id, status, bytes
// and duration, and nothing of a body: the cloud could not read one, and the
// log shall not keep one either.
package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cpar"
	"cpar/cloud/store"
	"cpar/cparhttp"
)

// An Annotator answers requests.
type Annotator interface {
	Annotate(ctx context.Context, id cpar.IndexID, q *cpar.Request) (*cpar.Reply, error)
	// AnnotateBatch answers all or none, in the same order.
	AnnotateBatch(ctx context.Context, id cpar.IndexID, requests []*cpar.Request) ([]*cpar.Reply, error)
}

// A Store keeps indexes: store.Store, whatever its Loader makes.
type Store interface {
	List() ([]store.Info, error)
	Manifest(id cpar.IndexID) ([]byte, error)
	Missing(id cpar.IndexID, m *cpar.Manifest) ([]cpar.Digest, error)
	HasSegment(id cpar.IndexID, d cpar.Digest) (size int64, ok bool, err error)
	OpenSegment(id cpar.IndexID, d cpar.Digest) (*store.SegmentReader, error)
	PutSegment(id cpar.IndexID, d cpar.Digest, size int64, r io.Reader) error
	PutManifest(id cpar.IndexID, b []byte) error
	Delete(id cpar.IndexID) error
}

// Options of the handler. The zero value is right for a daemon on loopback.
type Options struct {
	// Log takes one line for each request at level debug, and errors of the
	// cloud's own; nil discards it.
	Log *slog.Logger
	// Concurrent is how many annotations, or batches of them, are worked on at
	// the same time; the number of cores where 0. The others wait their turn.
	Concurrent int
	// AnnotateTimeout bounds one annotation or batch with its wait; a minute
	// where 0.
	AnnotateTimeout time.Duration
	// Silence is how long a body may stand still; a minute where 0.
	Silence time.Duration
}

// A server holds what the handlers share.
type server struct {
	store     Store
	annotator Annotator
	o         Options
	turns     chan struct{}
}

// New returns the handler for all routes.
func New(st Store, an Annotator, o Options) (http.Handler, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Concurrent == 0 {
		o.Concurrent = runtime.GOMAXPROCS(0)
	}
	if o.AnnotateTimeout == 0 {
		o.AnnotateTimeout = time.Minute
	}
	if o.Silence == 0 {
		o.Silence = time.Minute
	}
	s := &server{store: st, annotator: an, o: o, turns: make(chan struct{}, o.Concurrent)}
	mux := http.NewServeMux()
	h := humago.New(mux, config())
	s.register(h)
	if err := serveOpenAPI(mux, h); err != nil {
		return nil, err
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, http.StatusNotFound, cparhttp.CodeNotFound, "there is no such route; see /openapi.json")
	})
	return s.guard(mux), nil
}

func config() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:   "CPAR cloud",
				Version: fmt.Sprintf("%d.0.0", cpar.Version),
				Description: "Keeps encrypted image indexes and finds the records nearest to an encrypted request. " +
					"Binary bodies are the canonical encoding that FORMAT.md draws: fixed-width little-endian words.",
			},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: cparhttp.TypeJSON,
		// huma's own refusals (a path parameter that is none) become Problems too.
		Transformers: []huma.Transformer{func(_ huma.Context, status string, v any) (any, error) {
			if m, ok := v.(*huma.ErrorModel); ok {
				return asProblem(m), nil
			}
			return v, nil
		}},
	}
}

// serveOpenAPI writes the document once; huma's own route would make it at
// the first request, and twice when two come at once.
func serveOpenAPI(mux *http.ServeMux, h huma.API) error {
	doc := h.OpenAPI()
	delete(doc.Components.Schemas.Map(), "ErrorModel")
	delete(doc.Components.Schemas.Map(), "ErrorDetail")
	asJSON, err := doc.MarshalJSON()
	if err != nil {
		return fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	asYAML, err := doc.YAML()
	if err != nil {
		return fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	serve := func(path, kind string, body []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Write(body)
		})
	}
	serve("/openapi.json", "application/openapi+json", asJSON)
	serve("/openapi.yaml", "application/openapi+yaml", asYAML)
	return nil
}
