// Package telemetry shows the state of a running server to its operator.
//
//	trace.Request of each request ─┐
//	Stats() of other packages ─────┴▶ Metrics ─▶ /metrics (Prometheus)
//	checks ─▶ Readiness ─▶ /readyz
//
// A separate listener serves these routes. Labels contain no token, index or
// client. They contain the random ids of the first tenantLabels tenants.
package telemetry

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"cpar/cloud/trace"
	"cpar/cparhttp"
	"cpar/internal/version"
)

const tenantLabels = 100

const (
	none  = "none"  // label value for a missing value
	other = "other" // label value shared by all values without their own label
)

// Metrics counts requests. It implements api.Observer.
type Metrics struct {
	registry *prometheus.Registry

	inFlight                 prometheus.Gauge
	requests                 *prometheus.CounterVec   // method, route, status
	seconds                  *prometheus.HistogramVec // route
	stages                   *prometheus.HistogramVec // scheme, stage
	problems                 *prometheus.CounterVec   // code
	panics                   prometheus.Counter
	received, sent           prometheus.Counter
	asked, visited, touched  *prometheus.CounterVec // scheme
	byTenant                 *prometheus.CounterVec // tenant
	tenantBytes, tenantTimes *prometheus.CounterVec // tenant
	pulled                   *pulled

	traces      *Traces // may be nil
	tenants     tenantNames
	connections connections
}

// buckets are bounds in seconds. A request to a loaded index takes a
// millisecond, and a large push takes an hour.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.tenants.seen, m.connections.state = map[string]bool{}, map[net.Conn]http.ConnState{}
	counters := func(r metric) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: r.name, Help: r.help}, r.labels)
		m.registry.MustRegister(v)
		return v
	}
	seconds := func(r metric) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: r.name, Help: r.help, Buckets: buckets}, r.labels)
		m.registry.MustRegister(v)
		return v
	}
	m.requests, m.problems = counters(requestsTotal), counters(problemsTotal)
	m.seconds, m.stages = seconds(requestSeconds), seconds(stageSeconds)
	m.asked, m.visited, m.touched = counters(annotationsTotal), counters(visitedTotal), counters(touchedTotal)
	m.byTenant, m.tenantBytes, m.tenantTimes = counters(tenantRequests), counters(tenantBytes), counters(tenantSeconds)
	m.panics = counters(panicsTotal).WithLabelValues()
	m.received, m.sent = counters(receivedTotal).WithLabelValues(), counters(sentTotal).WithLabelValues()
	m.inFlight = prometheus.NewGauge(prometheus.GaugeOpts{Name: inFlight.name, Help: inFlight.help})
	m.pulled = &pulled{rows: map[string]*prometheus.Desc{}}
	for _, r := range table {
		if r.polled {
			m.pulled.rows[r.name] = prometheus.NewDesc(r.name, r.help, r.labels, nil)
		}
	}
	m.registry.MustRegister(m.inFlight, m.pulled,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: buildInfo.name, Help: buildInfo.help}, buildInfo.labels)
	m.registry.MustRegister(build)
	v := version.Of("cpard")
	build.WithLabelValues(v.Version, v.Go).Set(1)
	m.addSource(m.connections.samples)
	return m
}

func (m *Metrics) Begin() { m.inFlight.Inc() }

func (m *Metrics) End(r *trace.Request) {
	m.inFlight.Dec()
	if m.traces != nil {
		m.traces.add(r)
	}
	route := cmp.Or(routes[r.Route], other)
	method := r.Method
	if method == "-" {
		method = other
	}
	status := none // the client left before the response
	if r.Status > 0 {
		status = fmt.Sprintf("%dxx", r.Status/100)
	}
	m.requests.WithLabelValues(method, route, status).Inc()
	m.seconds.WithLabelValues(route).Observe(r.Took.Seconds())
	m.received.Add(float64(r.Received))
	m.sent.Add(float64(r.Sent))
	o := r.Outcome()
	if o.Code != "" {
		m.problems.WithLabelValues(o.Code).Inc()
	}
	if r.Panicked {
		m.panics.Inc()
	}
	scheme := none
	if o.Annotations > 0 {
		scheme = o.Scheme.String()
		m.asked.WithLabelValues(scheme).Add(float64(o.Annotations))
		m.visited.WithLabelValues(scheme).Add(float64(o.Visited))
		m.touched.WithLabelValues(scheme).Add(float64(o.Touched))
	}
	r.Times(func(s trace.Stage, t trace.Time) {
		m.stages.WithLabelValues(scheme, s.String()).Observe(t.Took.Seconds())
	})
	if tenant := m.tenants.label(o.Tenant); tenant != "" {
		m.byTenant.WithLabelValues(tenant).Inc()
		m.tenantBytes.WithLabelValues(tenant).Add(float64(r.Received + r.Sent))
		m.tenantTimes.WithLabelValues(tenant).Add(r.Took.Seconds())
	}
}

// routes maps the route patterns of package cparhttp to values of label route.
var routes = func() map[string]string {
	m := map[string]string{}
	for _, r := range cparhttp.Routes {
		m[r] = strings.NewReplacer("{", "", "}", "").Replace(r)
	}
	return m
}()

type tenantNames struct {
	mu   sync.Mutex
	seen map[string]bool
}

// label returns the label value for a tenant, or "" without a tenant.
func (t *tenantNames) label(tenant string) string {
	if tenant == "" {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.seen[tenant] {
		if len(t.seen) >= tenantLabels {
			return other
		}
		t.seen[tenant] = true
	}
	return tenant
}

type connections struct {
	mu    sync.Mutex
	state map[net.Conn]http.ConnState
	total uint64
}

func (m *Metrics) ConnState(c net.Conn, s http.ConnState) {
	k := &m.connections
	k.mu.Lock()
	defer k.mu.Unlock()
	switch s {
	case http.StateClosed, http.StateHijacked:
		delete(k.state, c)
		return
	case http.StateNew:
		k.total++
	}
	k.state[c] = s
}

func (k *connections) samples(s sink) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var in [http.StateIdle + 1]float64
	for _, state := range k.state {
		in[state]++
	}
	for state, n := range in {
		s.put(connectionsOpen, n, http.ConnState(state).String())
	}
	s.put(connectionsTotal, float64(k.total))
}
