package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud/trace"
)

type collector struct {
	*httptest.Server
	got chan []byte
}

func newCollector(t *testing.T, status int) *collector {
	c := &collector{got: make(chan []byte, 100)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		w.WriteHeader(status)
		io.WriteString(w, "{}")
		c.got <- b
	}))
	t.Cleanup(c.Close)
	return c
}

func TestTraces(t *testing.T) {
	c := newCollector(t, 200)
	traces, err := NewTraces(c.URL, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	m := New()
	stop := m.Trace(traces)
	m.Begin()
	m.End(annotated("0123456789abcdef"))
	failed := &trace.Request{ID: "another", Method: "GET", Route: "/", Status: 500}
	trace.SetProblem(failed.NewContext(t.Context()), "internal")
	m.Begin()
	m.End(failed)
	stop()
	b := <-c.got
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var got message
	if err := d.Decode(&got); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	all := got.ResourceSpans[0].ScopeSpans[0].Spans
	if len(all) != 8 {
		t.Fatalf("%d spans: %s", len(all), b)
	}
	id := regexp.MustCompile(`^[0-9a-f]{16}$`)
	root, seen := all[0], map[string]bool{}
	if root.Name != "POST /v1/indexes/{id}/annotate" || root.Kind != 2 || root.Parent != "" || root.Start != "1000000000" || root.End != "1030000000" ||
		len(root.TraceID) != 32 || root.Status != nil {
		t.Errorf("root: %+v", root)
	}
	names := ""
	for i, s := range all[:7] {
		if !id.MatchString(s.SpanID) || seen[s.SpanID] || s.TraceID != root.TraceID || i > 0 && (s.Parent != root.SpanID || s.Kind != 1) {
			t.Errorf("span %d: %+v", i, s)
		}
		seen[s.SpanID] = true
		names += " " + s.Name
	}
	if names != " POST /v1/indexes/{id}/annotate body queue load search encode send" || all[1].End != "1001000000" {
		t.Errorf("spans%s; %+v", names, all[1])
	}
	if last := all[7]; last.TraceID == root.TraceID || last.Status.Code != 2 {
		t.Errorf("%+v", last)
	}
	for _, s := range all {
		for _, a := range s.Attrs {
			if !strings.Contains(" cpar.request http.request.method http.route http.response.status_code http.request.body.size http.response.body.size "+
				"error.type cpar.scheme cpar.requests cpar.records.visited cpar.index.touched ", " "+a.Key+" ") {
				t.Errorf("attribute %s", a.Key)
			}
		}
	}
	if bytes.Contains(b, []byte("0123456789abcdef")) {
		t.Errorf("a tenant is in %s", b)
	}
	f := exposed(t, Options{}.handler(m, NewReadiness()))
	if sent, dropped := value(t, f, "cpar_traces_sent_total"), value(t, f, "cpar_traces_dropped_total"); sent != 2 || dropped != 0 {
		t.Errorf("%v sent, %v dropped", sent, dropped)
	}
}

func TestSlowCollectorLosesTraces(t *testing.T) {
	c := newCollector(t, 500)
	var log bytes.Buffer
	traces, err := NewTraces(c.URL+"/v1/traces", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	m := New()
	m.traces = traces
	for range tracesQueued + 7 {
		m.Begin()
		m.End(annotated(""))
	}
	if n := traces.dropped.Load(); n != 7 {
		t.Errorf("%d dropped", n)
	}
	m.Trace(traces)()
	if n := traces.dropped.Load(); n != tracesQueued+7 || traces.sent.Load() != 0 || !strings.Contains(log.String(), "the collector answers 500") {
		t.Errorf("%d dropped: %s", n, &log)
	}
	for _, bad := range []string{"127.0.0.1:4318", "ftp://x", "http://", "http://a:b@c", "http://c?x=y", ":"} {
		if _, err := NewTraces(bad, nil); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if none, err := NewTraces("", nil); none != nil || err != nil {
		t.Error(fmt.Sprint("traces to nowhere: ", none, err))
	}
}
