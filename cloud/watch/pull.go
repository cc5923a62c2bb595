package watch

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Put reports one number under a row of the table, with the values of its labels.
type Put func(r row, value float64, labels ...string)

// pulled asks the parts of the cloud for their numbers when they are wanted, so that no part
// knows of metrics.
type pulled struct {
	rows    map[string]*prometheus.Desc
	sources []func(Put)
}

func newPulled() *pulled {
	p := &pulled{rows: map[string]*prometheus.Desc{}}
	for _, r := range table {
		if r.pulled {
			p.rows[r.name] = prometheus.NewDesc(r.name, r.help, r.labels, nil)
		}
	}
	return p
}

// Pull adds a source, which is asked at each collection. Add all before the first.
func (m *Metrics) Pull(source func(Put)) { m.pulled.sources = append(m.pulled.sources, source) }

func (p *pulled) Describe(out chan<- *prometheus.Desc) {
	for _, d := range p.rows {
		out <- d
	}
}

func (p *pulled) Collect(out chan<- prometheus.Metric) {
	put := func(r row, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if r.kind == counter {
			kind = prometheus.CounterValue
		}
		out <- prometheus.MustNewConstMetric(p.rows[r.name], kind, value, labels...)
	}
	for _, source := range p.sources {
		source(put)
	}
}
