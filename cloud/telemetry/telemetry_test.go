package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"cpar"
	"cpar/cloud/admission"
	"cpar/cloud/blob"
	"cpar/cloud/cluster"
	"cpar/cloud/listen"
	"cpar/cloud/remote"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/cloud/trace"
	"cpar/cparhttp"
)

func exposed(t *testing.T, h http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("status %d: %v", w.Code, err)
	}
	return families
}

func value(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	for _, m := range families[name].GetMetric() {
		got := []string{}
		for _, l := range m.GetLabel() {
			got = append(got, l.GetName()+"="+l.GetValue())
		}
		if slices.Equal(got, append([]string{}, labels...)) {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	t.Errorf("no %s with %v in %v", name, labels, families[name])
	return 0
}

func annotated(tenant string) *trace.Request {
	r := &trace.Request{ID: "id", Method: "POST", Route: cparhttp.PathAnnotate, Start: time.Unix(1, 0), Took: 30 * time.Millisecond,
		Status: 200, Received: 10, Sent: 20}
	ctx := r.NewContext(context.Background())
	trace.SetAnnotations(ctx, cpar.SchemeSealed, 2)
	trace.AddWork(ctx, 7, 1000)
	trace.SetTenant(ctx, tenant)
	for s := trace.Body; s <= trace.Send; s++ {
		r.Add(s, time.Unix(1, 0), time.Unix(1, int64(s+1)*1e6))
	}
	return r
}

func everything(t *testing.T) (*Metrics, http.Handler) {
	m := New()
	m.Begin()
	m.End(annotated("0123456789abcdef"))
	lost := &trace.Request{Method: "-", Route: "/secret/place", Status: 404, Panicked: true}
	trace.SetProblem(lost.NewContext(t.Context()), cparhttp.CodeNotFound)
	m.Begin()
	m.End(lost)
	m.Begin()
	m.End(&trace.Request{Method: "GET", Route: cparhttp.PathSegment})
	m.Begin()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	m.ConnState(a, http.StateNew)
	m.ConnState(a, http.StateActive)
	m.ConnState(b, http.StateNew)
	m.ConnState(b, http.StateClosed)
	queue := admission.QueueStats{Size: 100, Used: 40, Waiting: 3, Granted: 5, Refused: 6, Expired: 7, Waited: 2 * time.Second}
	m.Gate(func() admission.Stats {
		return admission.Stats{Bodies: queue, Turns: queue, Limited: 8, Batches: admission.BatchStats{Batches: 4, Requests: 300, Sizes: [8]uint64{1, 0, 2, 0, 0, 0, 0, 1}}}
	})
	m.Store(func() store.Stats {
		return store.Stats{Loaded: 21, Mapped: 22, Copied: 23, Loads: 24, Unloaded: 25, Damaged: 26, Faults: map[store.Fault]uint64{store.FaultBytes: 27},
			ScrubRounds: 28, ScrubBytes: 29, ScrubDone: 30, ScrubOf: 31, Collected: 32, CollectedBytes: 33,
			Tenants: map[string]store.Usage{"": {Active: 1}, "0123456789abcdef": {Active: 1, Pending: 2, Reserved: 3, Limit: 100}}}
	})
	m.Tenants(func() tenant.Stats { return tenant.Stats{Tenants: 9, Refused: 10, Limited: 11} })
	m.Listener(func() listen.Stats {
		return listen.Stats{MaxConnections: 12, AcceptErrors: 13, Refused: 14, CertificateTo: time.Unix(15, 0)}
	})
	m.Trace(&Traces{queue: make(chan []span)})()
	m.traces = nil
	m.Storage(func() remote.Stats {
		return remote.Stats{Stats: blob.Stats{Requests: 16, Retries: 17, Errors: 18, BytesIn: 19, BytesOut: 20}, CacheBytes: 21, CacheLimit: 22, Hits: 23, Misses: 24, Evictions: 25}
	})
	m.Cluster(func() cluster.Stats {
		return cluster.Stats{Nodes: 26, Servers: 27, Shards: 28, Moves: 29, Hedges: 30, Retries: 31, Cold: 32}
	})
	ready := NewReadiness(FolderCheck(t.TempDir()), Check{"never", false, func(context.Context) error { return errors.New("it never is") }})
	return m, Options{}.handler(m, ready)
}

func TestMetricsAreExposed(t *testing.T) {
	_, h := everything(t)
	got := exposed(t, h)
	for _, k := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{1, "cpar_requests_total", []string{"method=POST", "route=/v1/indexes/id/annotate", "status=2xx"}},
		{1, "cpar_requests_total", []string{"method=other", "route=other", "status=4xx"}},
		{1, "cpar_requests_total", []string{"method=GET", "route=/v1/indexes/id/segments/digest", "status=none"}},
		{1, "cpar_requests_in_flight", nil},
		{1, "cpar_request_seconds", []string{"route=/v1/indexes/id/annotate"}},
		{1, "cpar_stage_seconds", []string{"scheme=sealed", "stage=queue"}},
		{1, "cpar_problems_total", []string{"code=not_found"}},
		{1, "cpar_panics_total", nil},
		{16, "cpar_storage_requests_total", nil},
		{17, "cpar_storage_retries_total", nil},
		{18, "cpar_storage_errors_total", nil},
		{19, "cpar_storage_bytes_total", []string{"direction=received"}},
		{20, "cpar_storage_bytes_total", []string{"direction=sent"}},
		{21, "cpar_cache_bytes", nil},
		{22, "cpar_cache_limit_bytes", nil},
		{23, "cpar_cache_segments_total", []string{"event=hit"}},
		{24, "cpar_cache_segments_total", []string{"event=miss"}},
		{25, "cpar_cache_segments_total", []string{"event=evicted"}},
		{26, "cpar_cluster_nodes", nil},
		{27, "cpar_cluster_servers", nil},
		{28, "cpar_cluster_parts", nil},
		{29, "cpar_cluster_moves_total", nil},
		{30, "cpar_cluster_hedges_total", nil},
		{31, "cpar_cluster_retries_total", nil},
		{32, "cpar_cluster_cold_total", nil},
		{10, "cpar_received_bytes_total", nil},
		{20, "cpar_sent_bytes_total", nil},
		{2, "cpar_annotations_total", []string{"scheme=sealed"}},
		{7, "cpar_records_visited_total", []string{"scheme=sealed"}},
		{1000, "cpar_index_bytes_touched_total", []string{"scheme=sealed"}},
		{1, "cpar_tenant_requests_total", []string{"tenant=0123456789abcdef"}},
		{30, "cpar_tenant_bytes_total", []string{"tenant=0123456789abcdef"}},
		{0.03, "cpar_tenant_seconds_total", []string{"tenant=0123456789abcdef"}},
		{1, "cpar_connections", []string{"state=active"}},
		{0, "cpar_connections", []string{"state=new"}},
		{2, "cpar_connections_total", nil},
		{3, "cpar_queue_waiting", []string{"what=turns"}},
		{100, "cpar_queue_size", []string{"what=bodies"}},
		{40, "cpar_queue_used", []string{"what=bodies"}},
		{5, "cpar_queue_granted_total", []string{"what=turns"}},
		{2, "cpar_queue_wait_seconds_total", []string{"what=turns"}},
		{6, "cpar_shed_total", []string{"reason=full", "what=turns"}},
		{7, "cpar_shed_total", []string{"reason=wait", "what=bodies"}},
		{8, "cpar_shed_total", []string{"reason=limit", "what=tenant"}},
		{4, "cpar_pass_requests", nil},
		{21, "cpar_indexes_loaded", nil},
		{22, "cpar_loaded_bytes", []string{"kind=mapped"}},
		{23, "cpar_loaded_bytes", []string{"kind=copied"}},
		{24, "cpar_index_loads_total", nil},
		{25, "cpar_index_unloads_total", nil},
		{26, "cpar_indexes_damaged", nil},
		{27, "cpar_faults_total", []string{"kind=bytes"}},
		{28, "cpar_scrub_rounds_total", nil},
		{29, "cpar_scrub_bytes_total", nil},
		{30, "cpar_scrub_done", nil},
		{31, "cpar_scrub_of", nil},
		{32, "cpar_collected_segments_total", nil},
		{33, "cpar_collected_bytes_total", nil},
		{6, "cpar_tenant_stored_bytes", []string{"tenant=0123456789abcdef"}},
		{100, "cpar_tenant_quota_bytes", []string{"tenant=0123456789abcdef"}},
		{9, "cpar_tenants", nil},
		{10, "cpar_tokens_refused_total", nil},
		{11, "cpar_guesses_limited_total", nil},
		{12, "cpar_connections_max", nil},
		{13, "cpar_accept_errors_total", nil},
		{14, "cpar_certificates_refused_total", nil},
		{15, "cpar_certificate_end_seconds", nil},
		{1, "cpar_ready", []string{"check=folder"}},
		{0, "cpar_ready", []string{"check=never"}},
	} {
		if v := value(t, got, k.name, k.labels...); v != k.want {
			t.Errorf("%s%v is %v, want %v", k.name, k.labels, v, k.want)
		}
	}
	h4 := got["cpar_pass_requests"].GetMetric()[0].GetHistogram()
	if h4.GetSampleSum() != 300 || h4.GetBucket()[2].GetUpperBound() != 4 || h4.GetBucket()[2].GetCumulativeCount() != 3 || h4.GetBucket()[6].GetCumulativeCount() != 3 {
		t.Errorf("batches: %v", h4)
	}
	if got["go_goroutines"] == nil || runtime.GOOS == "linux" && got["process_open_fds"] == nil {
		t.Error("nothing of the runtime or the process")
	}
}

func TestLabelsAreAClosedList(t *testing.T) {
	_, h := everything(t)
	allowed := map[string][]string{
		"method": {"GET", "HEAD", "PUT", "POST", "DELETE", other},
		"route":  {other},
		"status": {"2xx", "3xx", "4xx", "5xx", none},
		"scheme": {"cpar", "capia", "ivf", "sealed", "local", none},
		"stage":  {"body", "queue", "load", "search", "encode", "send"},
		"code":   nil, "check": nil, "tenant": nil, "version": nil, "go": nil, "state": {"new", "active", "idle"},
		"what": {"bodies", "replies", "turns", "checks", "builds", "strangers", "answers", "tenant"}, "reason": {"full", "wait", "limit"},
		"kind":      {"mapped", "copied", "bytes"},
		"direction": {"received", "sent"}, "event": {"hit", "miss", "evicted"},
	}
	for _, r := range cparhttp.Routes {
		allowed["route"] = append(allowed["route"], routes[r])
	}
	for _, c := range cparhttp.Codes {
		allowed["code"] = append(allowed["code"], c.Code)
	}
	for name, f := range exposed(t, h) {
		if !strings.HasPrefix(name, "cpar_") {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				values, ok := allowed[l.GetName()]
				if !ok || values != nil && !slices.Contains(values, l.GetValue()) {
					t.Errorf("%s has label %s=%q", name, l.GetName(), l.GetValue())
				}
			}
		}
	}
}

func TestTenantsAreBounded(t *testing.T) {
	m := New()
	for i := range 3 * tenantLabels {
		m.Begin()
		m.End(annotated(fmt.Sprintf("%016x", i)))
	}
	m.Begin()
	m.End(annotated(fmt.Sprintf("%016x", 0)))
	f := exposed(t, Options{}.handler(m, NewReadiness()))
	if n := len(f["cpar_tenant_requests_total"].GetMetric()); n != tenantLabels+1 {
		t.Errorf("%d tenants have a label", n)
	}
	if v := value(t, f, "cpar_tenant_requests_total", "tenant=other"); v != 2*tenantLabels {
		t.Errorf("%v requests of other tenants", v)
	}
	if v := value(t, f, "cpar_tenant_requests_total", "tenant="+strings.Repeat("0", 16)); v != 2 {
		t.Errorf("%v requests of the first tenant", v)
	}
}

func TestDocumentedMetricsMatchTable(t *testing.T) {
	var want strings.Builder
	want.WriteString("| metric | kind | labels | meaning |\n|---|---|---|---|\n")
	for _, r := range table {
		labels := strings.Join(r.labels, ", ")
		if labels == "" {
			labels = "–"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", r.name, r.kind, labels, r.help)
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "METRICS.md"))
	if err != nil || !strings.Contains(string(doc), want.String()) {
		t.Errorf("docs/METRICS.md does not have this table: %v\n%s", err, want.String())
	}
	m, _ := everything(t)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, r := range table {
		documented[r.name] = r.kind
	}
	for _, f := range families {
		if name := f.GetName(); strings.HasPrefix(name, "cpar_") && documented[name] != strings.ToLower(f.GetType().String()) {
			t.Errorf("%s is a %v; the table has %q", name, f.GetType(), documented[name])
		}
	}
}

func TestReadiness(t *testing.T) {
	data := t.TempDir()
	broken := errors.New("index 0123 is damaged")
	runs := 0
	damage := Check{Name: "damage", Run: func(context.Context) error { runs++; return broken }}
	get := func(r *Readiness) (int, unready) {
		w := httptest.NewRecorder()
		Options{}.handler(New(), r).ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/readyz", nil))
		var p unready
		if w.Code != 200 {
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Header().Get("Content-Type") != cparhttp.TypeProblem {
				t.Errorf("%v: %s", err, w.Body)
			}
		}
		return w.Code, p
	}
	if code, _ := get(NewReadiness(FolderCheck(data), FreeSpaceCheck(data, 1))); code != 200 {
		t.Errorf("nothing is wrong: %d", code)
	}
	r := NewReadiness(FolderCheck(data), damage)
	if code, p := get(r); code != 503 || !r.Serves(t.Context()) || p.Code != "unready" || fmt.Sprint(p.Faults) != "[{damage index 0123 is damaged false}]" {
		t.Errorf("damage: %d %+v", code, p)
	}
	r.Serves(t.Context())
	if runs != 1 {
		t.Errorf("the checks ran %d times in a second", runs)
	}
	left, hangUp := context.WithCancel(t.Context())
	hangUp()
	if patient := NewReadiness(Check{"store", true, func(ctx context.Context) error { return ctx.Err() }}); !patient.Serves(left) || !patient.Serves(t.Context()) {
		t.Error("the check was cancelled")
	}
	full := NewReadiness(FreeSpaceCheck(data, 1<<62))
	if code, p := get(full); code != 503 || !full.Serves(t.Context()) || !strings.Contains(p.Detail, "free") {
		t.Errorf("full disk: %d %+v", code, p)
	}
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	gone := NewReadiness(FolderCheck(data), damage)
	if code, p := get(gone); code != 503 || gone.Serves(t.Context()) || len(p.Faults) != 2 || !p.Faults[0].Serving {
		t.Errorf("no folder: %d %+v", code, p)
	}
}

func TestDamageAndScrub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.Stats{}
		damage, scrub := DamageCheck(func() store.Stats { return st }), ScrubCheck(func() store.Stats { return st }, time.Hour)
		holds := func(what string, c Check, ok bool) {
			t.Helper()
			if err := c.Run(t.Context()); (err == nil) != ok {
				t.Errorf("%s: %v", what, err)
			}
		}
		holds("nothing is damaged", damage, true)
		time.Sleep(2 * time.Hour)
		holds("it is turned off", scrub, true)
		st.Damaged, st.ScrubRounds = 1, 1
		holds("it begins", scrub, true)
		holds("one is", damage, false)
		time.Sleep(59 * time.Minute)
		holds("not yet an hour", scrub, true)
		st.ScrubBytes++
		time.Sleep(59 * time.Minute)
		holds("it went on", scrub, true)
		time.Sleep(59 * time.Minute)
		holds("seen to go on an hour ago", scrub, true)
		time.Sleep(2 * time.Minute)
		holds("it stands still", scrub, false)
		st.ScrubRounds++
		holds("it goes on again", scrub, true)
	})
}

func TestCertificate(t *testing.T) {
	for _, k := range []struct {
		end time.Time
		ok  bool
	}{{time.Time{}, true}, {time.Now().Add(30 * 24 * time.Hour), true}, {time.Now().Add(24 * time.Hour), false}, {time.Now().Add(-time.Hour), false}} {
		if err := CertificateCheck(func() listen.Stats { return listen.Stats{CertificateTo: k.end} }).Run(t.Context()); (err == nil) != k.ok {
			t.Errorf("it ends at %v: %v", k.end, err)
		}
	}
}

func TestListener(t *testing.T) {
	for _, k := range []struct {
		o  Options
		ok bool
	}{
		{Options{}, true},
		{Options{Profile: true}, false},
		{Options{Listen: "127.0.0.1:0", Profile: true}, true},
		{Options{Listen: "localhost:0"}, true},
		{Options{Listen: "0.0.0.0:0"}, false},
		{Options{Listen: "nonsense"}, false},
		{Options{Listen: "0.0.0.0:0", InsecureAnywhere: true, Profile: true}, false},
	} {
		l, err := k.o.Open()
		if l != nil {
			l.Close()
		}
		if (err == nil) != k.ok || err != nil && !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%+v: %v", k.o, err)
		}
	}
	for _, k := range []struct {
		o      Options
		url    string
		status int
	}{
		{Options{}, "http://127.0.0.1:9090/metrics", 200},
		{Options{}, "http://[::1]/healthz", 200},
		{Options{}, "http://localhost/debug/pprof/", 404},
		{Options{Profile: true}, "http://localhost/debug/pprof/", 200},
		{Options{}, "http://photos.example/metrics", 403},
		{Options{InsecureAnywhere: true}, "http://photos.example/metrics", 200},
		{Options{}, "http://localhost/v1/indexes", 404},
	} {
		w := httptest.NewRecorder()
		k.o.handler(New(), NewReadiness()).ServeHTTP(w, httptest.NewRequest("GET", k.url, nil))
		if w.Code != k.status {
			t.Errorf("%+v: %s: %d", k.o, k.url, w.Code)
		}
	}
}

func TestServe(t *testing.T) {
	o := Options{Listen: "127.0.0.1:0"}
	l, err := o.Open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { o.Serve(ctx, l, New(), NewReadiness(), slog.New(slog.DiscardHandler)); close(done) }()
	resp, err := http.Get("http://" + l.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); !strings.Contains(string(b), "cpar_requests_in_flight 0") {
		t.Errorf("%s", b)
	}
	cancel()
	<-done
}

func TestServeEndsQuietly(t *testing.T) {
	o := Options{Listen: "127.0.0.1:0"}
	l, err := o.Open()
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var log bytes.Buffer
	o.Serve(t.Context(), l, New(), NewReadiness(), slog.New(slog.NewTextHandler(&log, nil)))
	if log.Len() > 0 {
		t.Error(log.String())
	}
}
