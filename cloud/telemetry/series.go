package telemetry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Series returns the metrics whose names start with cpar_. The keys contain the
// name and the labels, as Prometheus writes them. For a histogram, Series
// returns only the count and the sum.
func (m *Metrics) Series() (map[string]float64, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	all := map[string]float64{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "cpar_") {
			continue
		}
		for _, x := range f.GetMetric() {
			labels := []string{}
			for _, l := range x.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			in := ""
			if len(labels) > 0 {
				in = "{" + strings.Join(labels, ",") + "}"
			}
			if h := x.GetHistogram(); h != nil {
				all[f.GetName()+"_count"+in] = float64(h.GetSampleCount())
				all[f.GetName()+"_sum"+in] = h.GetSampleSum()
				continue
			}
			all[f.GetName()+in] = x.GetCounter().GetValue() + x.GetGauge().GetValue()
		}
	}
	return all, nil
}

type Change struct {
	Series string  `json:"series"`
	By     float64 `json:"by"`
}

// Changes returns the changes from `before` to `after`, ordered by name.
func Changes(before, after map[string]float64) (all []Change) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if by := after[name] - before[name]; by != 0 {
			all = append(all, Change{name, by})
		}
	}
	return all
}
