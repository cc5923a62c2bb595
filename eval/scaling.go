package eval

import (
	"context"
	"fmt"
	"math"

	"cpar"
)

// ScalingSizes are the n of the scaling measurement.
var ScalingSizes = []int{1250, 2500, 5000, 10000, 20000, 40000, 80000}

const (
	scalingRequests = 61
	// fixedVisits is the same at every size; for all sizes it is a whole number of tenths
	// of a percent.
	fixedVisits = 400
)

// FixedVisitsName is the name, among the fits, of the search with the same number of
// visits at every size.
var FixedVisitsName = fmt.Sprintf("%d visits", fixedVisits)

// A ScalingRow is one size.
type ScalingRow struct {
	Records    int     `json:"n"`
	Kind       string  `json:"images"`
	Build      float64 `json:"build_s"` // from features to the encrypted index
	PCA        float64 `json:"pca_s"`
	Forest     float64 `json:"forest_s"`
	Encrypt    float64 `json:"encrypt_s"`
	IndexBytes uint64  `json:"index_bytes"`
	Scan       int64   `json:"scan_ns"`
	AP10       int64   `json:"ap10_ns"`
	Fixed      int64   `json:"fixed_ns"`
	FixedAP    float64 `json:"fixed_ap"`
	// Recall is the share of the scan's ten nearest found, in percent.
	RecallAP10  float64 `json:"recall_ap10"`
	RecallFixed float64 `json:"recall_fixed"`
}

// A Fit is y = c·n^Exponent, by least squares of the logarithms.
type Fit struct {
	What     string  `json:"what"`
	Exponent float64 `json:"exponent"`
	// Deviation is the greatest factor between a point and the fitted line.
	Deviation float64 `json:"deviation"`
}

// Scaling says how cost grows with n.
type Scaling struct {
	Rows []ScalingRow `json:"rows"`
	Fits []Fit        `json:"fits"`
}

// scalingSteps has a step for each size. If one fails, the result consists of the smaller ones.
func ScalingSteps(ctx context.Context, r *Run, m Measurement) (Result, error) {
	sizes := Sizes(r.MaxN)
	if len(sizes) == 0 {
		return nil, fmt.Errorf("scaling: %w: the smallest size is %d", cpar.ErrInput, ScalingSizes[0])
	}
	var rows []ScalingRow
	for _, n := range sizes {
		row, err := RunStep(ctx, r, fmt.Sprintf("%s-%d", m.Name, n), n, func(ctx context.Context) (*ScalingRow, error) { return MeasureScale(ctx, r.Lab, n) })
		switch {
		case err != nil && len(rows) == 0:
			return nil, err
		case err != nil:
			return FitScaling(rows), err
		}
		rows = append(rows, *row)
	}
	return FitScaling(rows), nil
}

// MeasureScale measures one size.
func MeasureScale(ctx context.Context, l *Lab, n int) (*ScalingRow, error) {
	b, err := l.Build(ctx, n)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	row := &ScalingRow{Records: n, Kind: l.corpus.kind(n), PCA: b.Cost.PCA, Forest: b.Cost.Forest, Encrypt: b.Cost.Encrypt,
		Build: b.Cost.PCA + b.Cost.Vectors + b.Cost.Forest + b.Cost.Encrypt, IndexBytes: b.Cost.IndexBytes}
	fixed := uint16(min(1000, max(1, 1000*fixedVisits/n)))
	row.FixedAP = float64(fixed) / 10
	requests := min(scalingRequests, len(b.Requests))
	var prepared [][]preparedRequest
	for _, p := range []cpar.Params{
		{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000},
		{Scheme: cpar.SchemeCPAR, L: 10, Approx: 100},
		{Scheme: cpar.SchemeCPAR, L: 10, Approx: fixed},
	} {
		list, err := b.prepare(ctx, p, requests)
		if err != nil {
			return nil, err
		}
		prepared = append(prepared, list)
	}
	found := make([][][]uint32, len(prepared))
	for j := range found {
		found[j] = make([][]uint32, requests)
	}
	times, err := b.timeSearches(ctx, prepared, nil, func(j, i int, reply *cpar.Reply) { found[j][i] = matchRecords(reply) })
	if err != nil {
		return nil, err
	}
	row.Scan, row.AP10, row.Fixed = median(times[0].ns), median(times[1].ns), median(times[2].ns)
	row.RecallAP10, row.RecallFixed = RoundTo(100*recall(found[1], found[0]), 2), RoundTo(100*recall(found[2], found[0]), 2)
	return row, nil
}

// FitScaling fits exponents to measured rows.
func FitScaling(rows []ScalingRow) *Scaling {
	s := &Scaling{Rows: rows}
	for _, part := range []struct {
		what string
		of   func(ScalingRow) float64
	}{
		{"build", func(r ScalingRow) float64 { return r.Build }},
		{"index bytes", func(r ScalingRow) float64 { return float64(r.IndexBytes) }},
		{"scan", func(r ScalingRow) float64 { return float64(r.Scan) }},
		{"AP-10", func(r ScalingRow) float64 { return float64(r.AP10) }},
		{FixedVisitsName, func(r ScalingRow) float64 { return float64(r.Fixed) }},
		{"recall@10 at AP-10", func(r ScalingRow) float64 { return r.RecallAP10 }},
		{"recall@10 at " + FixedVisitsName, func(r ScalingRow) float64 { return r.RecallFixed }},
	} {
		if f, ok := fitPower(rows, part.of); ok {
			f.What = part.what
			s.Fits = append(s.Fits, f)
		}
	}
	return s
}

// sized is a measurement for some number of records.
type sized interface{ size() int }

func (r ScalingRow) size() int { return r.Records }

func fitPower[R sized](rows []R, of func(R) float64) (Fit, bool) {
	var sx, sy, sxx, sxy, n float64
	for _, r := range rows {
		x, y := math.Log(float64(r.size())), math.Log(of(r))
		sx, sy, sxx, sxy, n = sx+x, sy+y, sxx+x*x, sxy+x*y, n+1
	}
	spread := n*sxx - sx*sx
	if !(spread > 0) || math.IsInf(sy, 0) || math.IsNaN(sy) {
		return Fit{}, false
	}
	f := Fit{Exponent: (n*sxy - sx*sy) / spread}
	at := (sy - f.Exponent*sx) / n
	for _, r := range rows {
		off := math.Abs(math.Log(of(r)) - at - f.Exponent*math.Log(float64(r.size())))
		f.Deviation = max(f.Deviation, math.Exp(off))
	}
	f.Exponent, f.Deviation = RoundTo(f.Exponent, 3), RoundTo(f.Deviation, 3)
	return f, true
}

// Tables implements Result.
func (s *Scaling) Tables() []Table {
	t := Table{Name: "scaling", Title: "Growth with n", Columns: []string{"n", "images", "build s", "PCA s", "forest s", "encryption s", "index MB", "scan ms", "AP-10 ms", FixedVisitsName + " ms", "AP of these", "recall@10 AP-10 %", "recall@10 fixed %"}}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, []string{FormatInt(r.Records), r.Kind, FormatDecimal(r.Build, 2), FormatDecimal(r.PCA, 2), FormatDecimal(r.Forest, 2), FormatDecimal(r.Encrypt, 2),
			FormatDecimal(float64(r.IndexBytes)/1e6, 1), FormatDecimal(float64(r.Scan)/1e6, 3), FormatDecimal(float64(r.AP10)/1e6, 3), FormatDecimal(float64(r.Fixed)/1e6, 3),
			FormatDecimal(r.FixedAP, 1), FormatDecimal(r.RecallAP10, 1), FormatDecimal(r.RecallFixed, 1)})
	}
	f := Table{Name: "scaling-fits", Title: "Fitted: y = c·n^k", Columns: []string{"what", "k", "greatest factor off the line"}}
	for _, x := range s.Fits {
		f.Rows = append(f.Rows, []string{x.What, FormatDecimal(x.Exponent, 3), FormatDecimal(x.Deviation, 2)})
	}
	return []Table{t, f}
}

// Sizes returns the scaling sizes up to most.
func Sizes(most int) []int {
	var out []int
	for _, n := range ScalingSizes {
		if n <= most {
			out = append(out, n)
		}
	}
	return out
}
