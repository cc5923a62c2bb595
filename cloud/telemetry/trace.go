package telemetry

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cpar"
	"cpar/cloud/trace"
	"cpar/internal/hint"
	"cpar/internal/version"
)

// Traces sends a span per request to an OpenTelemetry collector, with child
// spans for the request's stages. The protocol is OTLP over HTTP in JSON.
//
// OpenTelemetry's SDK is not used, because on darwin and freebsd it links
// os/exec, which TestWall forbids in the server. Its exporter also links 66
// packages of gRPC. Both would add 12 MB to the server.
type Traces struct {
	endpoint string
	log      *slog.Logger
	client   *http.Client
	queue    chan []span
	dropped  atomic.Uint64
	sent     atomic.Uint64
}

const (
	tracesPath   = "/v1/traces"
	tracesQueued = 2048            // requests waiting to be sent; further requests are dropped
	tracesBatch  = 256             // requests per message
	tracesEvery  = 5 * time.Second // longest wait before a message
	tracesWait   = 10 * time.Second
)

// NewTraces returns a Traces for a collector such as http://127.0.0.1:4318. It
// returns nil if `endpoint` is "".
func NewTraces(endpoint string, log *slog.Logger) (*Traces, error) {
	if endpoint == "" {
		return nil, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, hint.Add(fmt.Errorf("%w: the endpoint for traces is not http:// or https:// and a host", cpar.ErrInput), "write it like http://127.0.0.1:4318")
	}
	if !strings.HasSuffix(u.Path, tracesPath) {
		u = u.JoinPath(tracesPath)
	}
	return &Traces{endpoint: u.String(), log: log, queue: make(chan []span, tracesQueued), client: &http.Client{
		Timeout:       tracesWait,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// These types contain the fields of OTLP messages that Traces sends. OTLP
// encodes 64-bit numbers in JSON as strings.
type (
	span struct {
		TraceID string      `json:"traceId"`
		SpanID  string      `json:"spanId"`
		Parent  string      `json:"parentSpanId,omitempty"`
		Name    string      `json:"name"`
		Kind    int         `json:"kind"`
		Start   string      `json:"startTimeUnixNano"`
		End     string      `json:"endTimeUnixNano"`
		Attrs   []attribute `json:"attributes,omitempty"`
		Status  *status     `json:"status,omitempty"`
	}
	attribute struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
	status struct {
		Code int `json:"code"`
	}
	scopeSpans struct {
		Scope map[string]string `json:"scope"`
		Spans []span            `json:"spans"`
	}
	resourceSpans struct {
		Resource struct {
			Attrs []attribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	message struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
)

const (
	kindInternal = 1
	kindServer   = 2
	statusError  = 2
)

func text(key, v string) attribute { return attribute{key, map[string]any{"stringValue": v}} }
func number(key string, v int64) attribute {
	return attribute{key, map[string]any{"intValue": strconv.FormatInt(v, 10)}}
}

// spans returns the spans of a request and its stages, without index or tenant.
func spans(r *trace.Request) []span {
	nano := func(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
	traceID, parent := randomHex(16), randomHex(8)
	root := span{TraceID: traceID, SpanID: parent, Name: r.Method + " " + r.Route, Kind: kindServer, Start: nano(r.Start), End: nano(r.Start.Add(r.Took)),
		Attrs: []attribute{text("cpar.request", r.ID), text("http.request.method", r.Method), text("http.route", r.Route),
			number("http.response.status_code", int64(r.Status)), number("http.request.body.size", r.Received), number("http.response.body.size", r.Sent)}}
	o := r.Outcome()
	if o.Code != "" {
		root.Attrs = append(root.Attrs, text("error.type", o.Code))
	}
	if r.Status >= 500 || r.Panicked {
		root.Status = &status{statusError}
	}
	if o.Annotations > 0 {
		root.Attrs = append(root.Attrs, text("cpar.scheme", o.Scheme.String()), number("cpar.requests", int64(o.Annotations)),
			number("cpar.records.visited", int64(o.Visited)), number("cpar.index.touched", int64(o.Touched)))
	}
	all := []span{root}
	r.Times(func(s trace.Stage, t trace.Time) {
		all = append(all, span{TraceID: traceID, SpanID: randomHex(8), Parent: parent, Name: s.String(), Kind: kindInternal,
			Start: nano(t.First), End: nano(t.Last)})
	})
	return all
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// add queues the spans of a request. It drops them if the queue is full, so
// that a slow collector does not delay requests.
func (t *Traces) add(r *trace.Request) {
	select {
	case t.queue <- spans(r):
	default:
		t.dropped.Add(1)
	}
}

func (t *Traces) run(ctx context.Context) {
	tick := time.NewTicker(tracesEvery)
	defer tick.Stop()
	var batch []span
	n := 0
	flush := func() {
		if n > 0 {
			// Send even if ctx is done. The client's timeout bounds the time.
			t.send(context.WithoutCancel(ctx), batch, n)
		}
		batch, n = nil, 0
	}
	for {
		select {
		case one := <-t.queue:
			batch, n = append(batch, one...), n+1
			if n == tracesBatch {
				flush()
			}
		case <-tick.C:
			flush()
		case <-ctx.Done():
			for len(t.queue) > 0 { // no other goroutine receives
				batch, n = append(batch, <-t.queue...), n+1
			}
			flush()
			return
		}
	}
}

// send sends the spans of n requests and drops them on failure.
func (t *Traces) send(ctx context.Context, batch []span, n int) {
	var r resourceSpans
	r.Resource.Attrs = []attribute{text("service.name", "cpard"), text("service.version", version.Of("cpard").Version)}
	r.ScopeSpans = []scopeSpans{{Scope: map[string]string{"name": "cpar/cloud/telemetry"}, Spans: batch}}
	body, err := json.Marshal(message{[]resourceSpans{r}})
	if err == nil {
		err = t.post(ctx, body)
	}
	if err != nil {
		t.dropped.Add(uint64(n))
		t.log.Warn("sending traces", "requests", n, "error", err)
		return
	}
	t.sent.Add(uint64(n))
}

func (t *Traces) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: the collector answers %s", cpar.ErrInput, resp.Status)
	}
	return nil
}

// Trace sends the traces of all requests to t until `stop` is called. It must
// be called before the first request.
func (m *Metrics) Trace(t *Traces) (stop func()) {
	if t == nil {
		return func() {}
	}
	m.traces = t
	m.addSource(func(s sink) {
		s.put(tracesSent, float64(t.sent.Load()))
		s.put(tracesDropped, float64(t.dropped.Load()))
	})
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { t.run(ctx) })
	return func() { cancel(); done.Wait() }
}
