package cost

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/eval/measure"
)

var ScalingSizes = []int{1250, 2500, 5000, 10000, 20000, 40000, 80000}

const (
	scalingRequests = 61
	// fixedVisits bounds visits. For every measured number of records, it is a
	// whole number of tenths of a percent.
	fixedVisits = 400
)

type ScalingRow struct {
	Records    int     `json:"n"`
	Kind       string  `json:"images"`
	Build      float64 `json:"build_s"` // PCA, vectors, forest and encryption
	PCA        float64 `json:"pca_s"`
	Forest     float64 `json:"forest_s"`
	Encrypt    float64 `json:"encrypt_s"`
	IndexBytes uint64  `json:"index_bytes"`
	// Scan is the median time of a scan, AP10 of a search at AP-10 (10 percent
	// of the records visited), and Fixed of a search with fixedVisits visits.
	Scan    int64   `json:"scan_ns"`
	AP10    int64   `json:"ap10_ns"`
	Fixed   int64   `json:"fixed_ns"`
	FixedAP float64 `json:"fixed_ap"`
	// RecallAP10 and RecallFixed are the percentages that these searches find
	// of the scan's ten nearest records.
	RecallAP10  float64 `json:"recall_ap10"`
	RecallFixed float64 `json:"recall_fixed"`
}

type Scaling struct {
	Rows []ScalingRow `json:"rows"`
}

// ScalingSteps runs one step per number of records. If a step fails, the result
// holds earlier steps.
func ScalingSteps(ctx context.Context, r *measure.Run, m measure.Measurement) (measure.Result, error) {
	sizes := slices.DeleteFunc(slices.Clone(ScalingSizes), func(n int) bool { return n > r.MaxN })
	if len(sizes) == 0 {
		return nil, fmt.Errorf("scaling: %w: the smallest size is %d", cpar.ErrInput, ScalingSizes[0])
	}
	out := new(Scaling)
	for _, n := range sizes {
		row, err := measure.RunStep(ctx, r, fmt.Sprintf("%s-%d", m.Name, n), n, func(ctx context.Context) (*ScalingRow, error) { return MeasureScale(ctx, r.Lab, n) })
		switch {
		case err != nil && len(out.Rows) == 0:
			return nil, err
		case err != nil:
			return out, err
		}
		out.Rows = append(out.Rows, *row)
	}
	return out, nil
}

func MeasureScale(ctx context.Context, l *measure.Lab, n int) (*ScalingRow, error) {
	b, err := l.Build(ctx, n)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	row := &ScalingRow{Records: n, Kind: b.Kind, PCA: b.Cost.PCA, Forest: b.Cost.Forest, Encrypt: b.Cost.Encrypt,
		Build: b.Cost.PCA + b.Cost.Vectors + b.Cost.Forest + b.Cost.Encrypt, IndexBytes: b.Cost.IndexBytes}
	fixed := uint16(min(1000, max(1, 1000*fixedVisits/n)))
	row.FixedAP = float64(fixed) / 10
	requests := min(scalingRequests, len(b.Requests))
	var prepared [][]measure.PreparedRequest
	for _, p := range []cpar.Params{
		{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000},
		{Scheme: cpar.SchemeCPAR, L: 10, Approx: 100},
		{Scheme: cpar.SchemeCPAR, L: 10, Approx: fixed},
	} {
		list, err := b.Prepare(ctx, p, requests)
		if err != nil {
			return nil, err
		}
		prepared = append(prepared, list)
	}
	found := make([][][]uint32, len(prepared))
	for j := range found {
		found[j] = make([][]uint32, requests)
	}
	times, err := b.TimeSearches(ctx, prepared, nil, func(j, i int, reply *cpar.Reply) { found[j][i] = measure.MatchRecords(reply) })
	if err != nil {
		return nil, err
	}
	row.Scan, row.AP10, row.Fixed = measure.Median(times[0].Ns), measure.Median(times[1].Ns), measure.Median(times[2].Ns)
	row.RecallAP10, row.RecallFixed = measure.RoundTo(100*measure.RecallAt10(found[1], found[0]), 2), measure.RoundTo(100*measure.RecallAt10(found[2], found[0]), 2)
	return row, nil
}

func (s *Scaling) Tables() []measure.Table {
	t := measure.Table{Name: "scaling", Title: "Growth with n", Columns: []string{"n", "images", "build s", "PCA s", "forest s", "encryption s", "index MB", "scan ms", "AP-10 ms", fmt.Sprintf("%d visits ms", fixedVisits), "AP of these", "recall@10 AP-10 %", "recall@10 fixed %"}}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, []string{measure.FormatInt(r.Records), r.Kind, measure.FormatDecimal(r.Build, 2), measure.FormatDecimal(r.PCA, 2), measure.FormatDecimal(r.Forest, 2), measure.FormatDecimal(r.Encrypt, 2),
			measure.FormatDecimal(float64(r.IndexBytes)/1e6, 1), measure.FormatDecimal(float64(r.Scan)/1e6, 3), measure.FormatDecimal(float64(r.AP10)/1e6, 3), measure.FormatDecimal(float64(r.Fixed)/1e6, 3),
			measure.FormatDecimal(r.FixedAP, 1), measure.FormatDecimal(r.RecallAP10, 1), measure.FormatDecimal(r.RecallFixed, 1)})
	}
	return []measure.Table{t}
}
