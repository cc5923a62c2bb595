package cost

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/plot"
)

// ScalingSizes are the measured sizes of index.
var ScalingSizes = []int{1250, 2500, 5000, 10000, 20000, 40000, 80000}

const (
	scalingRequests = 61
	// fixedVisits is a whole number of tenths of a percent of every size.
	fixedVisits = 400
)

// FixedVisitsName names the fit of the search with fixedVisits visits.
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
	// Deviation is the largest factor between a point and the fitted line.
	Deviation float64 `json:"deviation"`
}

// Scaling is the growth of costs with n.
type Scaling struct {
	Rows []ScalingRow `json:"rows"`
	Fits []Fit        `json:"fits"`
}

// ScalingSteps runs one step per size. If one fails, the result holds the
// smaller sizes.
func ScalingSteps(ctx context.Context, r *measure.Run, m measure.Measurement) (measure.Result, error) {
	sizes := slices.DeleteFunc(slices.Clone(ScalingSizes), func(n int) bool { return n > r.MaxN })
	if len(sizes) == 0 {
		return nil, fmt.Errorf("scaling: %w: the smallest size is %d", cpar.ErrInput, ScalingSizes[0])
	}
	var rows []ScalingRow
	for _, n := range sizes {
		row, err := measure.RunStep(ctx, r, fmt.Sprintf("%s-%d", m.Name, n), n, func(ctx context.Context) (*ScalingRow, error) { return MeasureScale(ctx, r.Lab, n) })
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
func MeasureScale(ctx context.Context, l *measure.Lab, n int) (*ScalingRow, error) {
	b, err := l.Build(ctx, n)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	c, err := l.Corpus(ctx)
	if err != nil {
		return nil, err
	}
	row := &ScalingRow{Records: n, Kind: c.Kind(n), PCA: b.Cost.PCA, Forest: b.Cost.Forest, Encrypt: b.Cost.Encrypt,
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

// FitScaling fits exponents to measured rows.
func FitScaling(rows []ScalingRow) *Scaling {
	return &Scaling{rows, fitAll(rows, []growing[ScalingRow]{
		{"build", func(r ScalingRow) float64 { return r.Build }},
		{"index bytes", func(r ScalingRow) float64 { return float64(r.IndexBytes) }},
		{"scan", func(r ScalingRow) float64 { return float64(r.Scan) }},
		{"AP-10", func(r ScalingRow) float64 { return float64(r.AP10) }},
		{FixedVisitsName, func(r ScalingRow) float64 { return float64(r.Fixed) }},
		{"recall@10 at AP-10", func(r ScalingRow) float64 { return r.RecallAP10 }},
		{"recall@10 at " + FixedVisitsName, func(r ScalingRow) float64 { return r.RecallFixed }},
	})}
}

type sized interface{ size() int }

func (r ScalingRow) size() int { return r.Records }

// A growing is a quantity that grows with the number of records.
type growing[R sized] struct {
	what string
	of   func(R) float64
}

func fitAll[R sized](rows []R, quantities []growing[R]) (fits []Fit) {
	for _, q := range quantities {
		if f, ok := fitPower(rows, q.of); ok {
			f.What = q.what
			fits = append(fits, f)
		}
	}
	return fits
}

func fitPower[R sized](rows []R, of func(R) float64) (f Fit, ok bool) {
	var x, y []float64
	for _, r := range rows {
		x, y = append(x, math.Log(float64(r.size()))), append(y, math.Log(of(r)))
	}
	at, slope := stat.LinearRegression(x, y, nil, false)
	if math.IsInf(slope, 0) || math.IsNaN(slope) {
		return f, false
	}
	for i := range x {
		f.Deviation = max(f.Deviation, math.Exp(math.Abs(y[i]-at-slope*x[i])))
	}
	f.Exponent, f.Deviation = measure.RoundTo(slope, 3), measure.RoundTo(f.Deviation, 3)
	return f, true
}

func (s *Scaling) Tables() []measure.Table {
	t := measure.Table{Name: "scaling", Title: "Growth with n", Columns: []string{"n", "images", "build s", "PCA s", "forest s", "encryption s", "index MB", "scan ms", "AP-10 ms", FixedVisitsName + " ms", "AP of these", "recall@10 AP-10 %", "recall@10 fixed %"}}
	for _, r := range s.Rows {
		t.Rows = append(t.Rows, []string{measure.FormatInt(r.Records), r.Kind, measure.FormatDecimal(r.Build, 2), measure.FormatDecimal(r.PCA, 2), measure.FormatDecimal(r.Forest, 2), measure.FormatDecimal(r.Encrypt, 2),
			measure.FormatDecimal(float64(r.IndexBytes)/1e6, 1), measure.FormatDecimal(float64(r.Scan)/1e6, 3), measure.FormatDecimal(float64(r.AP10)/1e6, 3), measure.FormatDecimal(float64(r.Fixed)/1e6, 3),
			measure.FormatDecimal(r.FixedAP, 1), measure.FormatDecimal(r.RecallAP10, 1), measure.FormatDecimal(r.RecallFixed, 1)})
	}
	f := measure.Table{Name: "scaling-fits", Title: "Fitted: y = c·n^k", Columns: []string{"what", "k", "greatest factor off the line"}}
	for _, x := range s.Fits {
		f.Rows = append(f.Rows, []string{x.What, measure.FormatDecimal(x.Exponent, 3), measure.FormatDecimal(x.Deviation, 2)})
	}
	return []measure.Table{t, f}
}

func (s *Scaling) Figures() []plot.Figure {
	if len(s.Rows) < 2 {
		return nil
	}
	axis := plot.Axis{Label: "n, images in the index", Log: true, Ticks: []float64{1250, 5000, 20000, 80000}, Names: []string{"1,250", "5,000", "20,000", "80,000"}}
	exponent := map[string]float64{}
	for _, f := range s.Fits {
		exponent[f.What] = f.Exponent
	}
	type line struct {
		name, fit string
		colour    plot.Colour
		of        func(ScalingRow) float64
	}
	figure := func(name, title, y string, log bool, lines ...line) plot.Figure {
		f := plot.Figure{Name: name, Title: title, X: axis, Y: plot.Axis{Label: y, Log: log}}
		for _, l := range lines {
			label := l.name
			if k, ok := exponent[l.fit]; ok && log {
				label = fmt.Sprintf("%s ~ n^%.2f", l.name, k)
			}
			series := plot.Series{Name: label, Colour: l.colour}
			for _, row := range s.Rows {
				series.Points = append(series.Points, plot.Point{X: float64(row.Records), Y: l.of(row)})
			}
			f.Series = append(f.Series, series)
		}
		return f
	}
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	fixed := FixedVisitsName
	return []plot.Figure{
		figure("scaling-cloud", "Cloud time a request", "ms, one core", true,
			line{"scan", "scan", plot.Grey, func(r ScalingRow) float64 { return ms(r.Scan) }},
			line{"AP-10", "AP-10", plot.Blue, func(r ScalingRow) float64 { return ms(r.AP10) }},
			line{fixed, fixed, plot.Green, func(r ScalingRow) float64 { return ms(r.Fixed) }}),
		figure("scaling-build", "Building", "s, all cores", true,
			line{"all", "build", plot.Blue, func(r ScalingRow) float64 { return r.Build }},
			line{"PCA", "", plot.Purple, func(r ScalingRow) float64 { return r.PCA }},
			line{"encryption", "", plot.Green, func(r ScalingRow) float64 { return r.Encrypt }},
			line{"forest", "", plot.Red, func(r ScalingRow) float64 { return r.Forest }}),
		figure("scaling-index", "Index", "MB", true,
			line{"index", "index bytes", plot.Blue, func(r ScalingRow) float64 { return float64(r.IndexBytes) / 1e6 }}),
		figure("scaling-recall", "Of the ten nearest found", "recall@10, %", false,
			line{"AP-10", "", plot.Blue, func(r ScalingRow) float64 { return r.RecallAP10 }},
			line{fixed, "", plot.Green, func(r ScalingRow) float64 { return r.RecallFixed }}),
	}
}
