package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
)

// pulled polls its sources whenever Prometheus collects metrics, so that other
// packages need not know about metrics.
type pulled struct {
	rows    map[string]*prometheus.Desc
	sources []func(sink)
}

// addSource adds a source to poll. It must not be called after the first
// collection.
func (m *Metrics) addSource(source func(sink)) { m.pulled.sources = append(m.pulled.sources, source) }

func (p *pulled) Describe(out chan<- *prometheus.Desc) {
	for _, d := range p.rows {
		out <- d
	}
}

func (p *pulled) Collect(out chan<- prometheus.Metric) {
	for _, source := range p.sources {
		source(sink{p.rows, out})
	}
}

// A sink receives the values and label values of the metrics in the table
// (table.go).
type sink struct {
	rows map[string]*prometheus.Desc
	out  chan<- prometheus.Metric
}

func (s sink) put(r metric, value float64, labels ...string) {
	kind := prometheus.GaugeValue
	if r.kind == counter {
		kind = prometheus.CounterValue
	}
	s.out <- prometheus.MustNewConstMetric(s.rows[r.name], kind, value, labels...)
}

// distribution exports a histogram. counts[i] is the number of values above
// bounds[i−1] and up to bounds[i].
func (s sink) distribution(r metric, sum float64, bounds []float64, counts []uint64) {
	buckets, n := map[float64]uint64{}, uint64(0)
	for i, b := range bounds {
		n += counts[i]
		buckets[b] = n
	}
	for _, c := range counts[len(bounds):] {
		n += c
	}
	s.out <- prometheus.MustNewConstHistogram(s.rows[r.name], n, sum, buckets)
}
