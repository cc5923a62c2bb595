package eval

import (
	"fmt"
	"strings"

	"cpar"
	"cpar/eval/plot"
	"cpar/internal/paper"
)

// Drawn is a Result that also has figures. beside holds all results of the same run,
// including this one.
type Drawn interface {
	Result
	Figures(beside *Results) []plot.Figure
}

// Figures returns the plots of all results, in the order of a report.
func (r *Results) Figures() []plot.Figure {
	var out []plot.Figure
	for _, x := range r.Each {
		if d, ok := x.(Drawn); ok {
			out = append(out, d.Figures(r)...)
		}
	}
	return out
}

// drawnSearches says how our searches are drawn in every figure.
var plottedSearches = []struct {
	name   string
	search cpar.Search
	colour plot.Colour
}{
	{"Algorithm 1", cpar.SearchDepthFirst, plot.Blue},
	{"by rank", cpar.SearchByRank, plot.Green},
	{"best bin first", cpar.SearchBestBin, plot.Olive},
	{"inverted file (ivf)", cpar.SearchIVF, plot.Red},
}

var apTicks = []float64{2.5, 5, 10, 20, 40, 100}

func apAxis() plot.Axis {
	return plot.Axis{Label: "AP-X, per cent of the records that may be visited", Log: true, Ticks: apTicks}
}

// pick makes points from the rows of one search.
func pick(s *Sweep, how cpar.Search, point func(SweepRow) plot.Point) []plot.Point {
	var out []plot.Point
	for _, row := range s.Rows {
		if row.Approx > 0 && row.Search == how.String() {
			out = append(out, point(row))
		}
	}
	return out
}

func ofInterval(x, y Interval) plot.Point {
	return plot.Point{X: x.Value, XLow: x.Low, XHigh: x.High, Y: y.Value, YLow: y.Low, YHigh: y.High}
}

// Figures implements Drawn.
func (s *Sweep) Figures(beside *Results) []plot.Figure {
	p := paper.Values()
	return append(append(s.tradeoffs(Of[*Cost](beside), p), s.recallFigures(p)...), s.speedupFigure())
}

func (s *Sweep) tradeoffs(large *Cost, p *paper.Paper) []plot.Figure {
	theirs := plot.Series{Name: "the paper", Colour: plot.Orange, Style: plot.Hollow}
	for _, x := range p.TradeOff {
		theirs.Points = append(theirs.Points, plot.Point{X: x.Relative, Y: x.Speedup})
	}
	figure := func(name, title, caption, x string, relative func(SweepRow) Interval) plot.Figure {
		f := plot.Figure{Name: name, Title: title, Caption: caption,
			X: plot.Axis{Label: x}, Y: plot.Axis{Label: "times faster than capia", Log: true, From: 1, To: 1}}
		for _, how := range plottedSearches {
			f.Series = append(f.Series, plot.Series{Name: how.name, Colour: how.colour, Points: pick(s, how.search, func(row SweepRow) plot.Point { return ofInterval(relative(row), row.Speedup) })})
		}
		f.Series = append(f.Series, plot.Series{Name: "visits alone, by rank", Colour: plot.Grey, Style: plot.Dashed, Points: pick(s, cpar.SearchByRank, func(row SweepRow) plot.Point {
			return plot.Point{X: relative(row).Value, Y: row.Bound}
		})})
		return f
	}
	main := figure("tradeoff", "Speedup against accuracy",
		fmt.Sprintf("Both relative to capia: %d untouched test requests, an index of %d, one core. Accuracy by the paper's protocol. Bars are 95 %% intervals. AP-100 is rightmost, AP-2.5 leftmost; dashed is what visits alone would allow.", s.Requests, s.Records),
		"accuracy in % of capia's, the paper's protocol", func(row SweepRow) Interval { return row.Relative })
	main.Series = append(main.Series, theirs)
	out := []plot.Figure{main}
	if large != nil {
		out = append(out, s.largeTradeoff(large, theirs))
	}
	return append(out, figure("tradeoff-standard", "The same, standard protocol",
		"Recall at five keywords an image, over all words of the test set. The paper has no such points.",
		"R at five keywords in % of capia's", func(row SweepRow) Interval { return row.RelativeStandard }))
}

// largeTradeoff combines the speed of the large index with the accuracy of the untouched
// one: the large one is made from the same photographs, so its own accuracy would be
// flattering.
func (s *Sweep) largeTradeoff(c *Cost, theirs plot.Series) plot.Figure {
	speed := map[string]float64{}
	for _, row := range c.Rows {
		speed[row.Name] = row.Speedup
	}
	f := plot.Figure{Name: "tradeoff-large", Title: fmt.Sprintf("The same, speed at n = %s", FormatThousands(c.Records)),
		Caption: fmt.Sprintf("Speed of an index of %s images made from the same photographs; accuracy of the index of untouched images, at the same AP.", FormatThousands(c.Records)),
		X:       plot.Axis{Label: "accuracy in % of capia's, the paper's protocol"}, Y: plot.Axis{Label: "times faster than capia", Log: true}}
	for _, how := range plottedSearches {
		f.Series = append(f.Series, plot.Series{Name: how.name, Colour: how.colour, Points: pick(s, how.search, func(row SweepRow) plot.Point {
			return plot.Point{X: row.Relative.Value, XLow: row.Relative.Low, XHigh: row.Relative.High, Y: speed[row.Name]}
		})})
	}
	f.Series = append(f.Series, theirs)
	return f
}

func (s *Sweep) recallFigures(p *paper.Paper) []plot.Figure {
	figure := func(name, title, caption, y string, of func(SweepRow) Interval) plot.Figure {
		f := plot.Figure{Name: name, Title: title, Caption: caption, X: apAxis(), Y: plot.Axis{Label: y}}
		for _, how := range plottedSearches {
			f.Series = append(f.Series, plot.Series{Name: how.name, Colour: how.colour, Points: pick(s, how.search, func(row SweepRow) plot.Point {
				y := of(row)
				return plot.Point{X: row.Approx, Y: y.Value, YLow: y.Low, YHigh: y.High}
			})})
		}
		return f
	}
	main := figure("recall", "Accuracy against AP, the paper's protocol",
		"All keywords of the ten neighbours; recall averaged over the words that were output. The paper's points are from another collection: compare how the curves fall, not where they are.",
		"recall, %", func(row SweepRow) Interval { return row.Paper })
	theirs := plot.Series{Name: "the paper", Colour: plot.Orange, Style: plot.Hollow}
	for _, q := range p.Recall {
		theirs.Points = append(theirs.Points, plot.Point{X: q.AP, Y: q.Value})
	}
	main.Series = append(main.Series, theirs)
	return []plot.Figure{main,
		figure("recall-standard", "Accuracy against AP, standard protocol", "Five keywords an image; recall averaged over all words of the test set.",
			"R, %", func(row SweepRow) Interval { return row.Standard }),
		figure("recall-at-10", "Of the ten nearest found", "The share of what the scan returns that the forest returns too. AP-100 returns the same.",
			"recall@10, %", func(row SweepRow) Interval { return row.Recall10 }),
	}
}

// Figures implements Drawn.
func (c *Cost) Figures(*Results) []plot.Figure {
	p := paper.Values()
	n := FormatThousands(c.Records)
	f := plot.Figure{Name: "cost", Title: fmt.Sprintf("Cloud time a request, n = %s", n),
		Caption: fmt.Sprintf("One core, median of %d requests. The paper's points are seconds on its own machine and in its language, at n = 20,000; hollow points are those for which it states a value.", c.Requests),
		X:       apAxis(), Y: plot.Axis{Label: "seconds", Log: true}}
	speeds := plot.Figure{Name: "cost-speedup", Title: fmt.Sprintf("Times faster than capia, n = %s", n),
		Caption: "Dashed: what fewer visits would allow if a visit cost as much as a record in the scan; purple: what remains if the same rows are read in the order of the visits and nothing else is done. The paper's points are quotients of its seconds.",
		X:       apAxis(), Y: plot.Axis{Label: "times faster than capia", Log: true}}
	var scan float64
	for _, how := range plottedSearches {
		s, q := plot.Series{Name: how.name, Colour: how.colour}, plot.Series{Name: how.name, Colour: how.colour}
		bound := plot.Series{Name: "visits alone", Colour: plot.Grey, Style: plot.Dashed}
		memory := plot.Series{Name: "rows in that order", Colour: plot.Purple, Style: plot.Dashed}
		for _, row := range c.Rows {
			if row.Approx == 0 {
				scan = float64(row.NS) / 1e9
			}
			if row.Approx == 0 || row.Search != how.search.String() {
				continue
			}
			s.Points = append(s.Points, plot.Point{X: row.Approx, Y: float64(row.NS) / 1e9})
			q.Points = append(q.Points, plot.Point{X: row.Approx, Y: row.Speedup})
			bound.Points = append(bound.Points, plot.Point{X: row.Approx, Y: row.Bound})
			memory.Points = append(memory.Points, plot.Point{X: row.Approx, Y: row.MemoryBound})
		}
		f.Series = append(f.Series, s)
		if how.search == cpar.SearchDepthFirst {
			speeds.Series = append(speeds.Series, bound, memory)
		}
		speeds.Series = append(speeds.Series, q)
	}
	f.Series = append(f.Series, plot.Series{Name: "capia", Colour: plot.Grey, Style: plot.Dashed, Points: []plot.Point{{X: 2.5, Y: scan}, {X: 100, Y: scan}}})
	theirs, quotients := plot.Series{Name: "the paper", Colour: plot.Orange, Style: plot.Hollow}, plot.Series{Name: "the paper", Colour: plot.Orange, Style: plot.Hollow}
	for _, q := range p.Cost {
		theirs.Points = append(theirs.Points, plot.Point{X: q.AP, Y: q.Value})
		quotients.Points = append(quotients.Points, plot.Point{X: q.AP, Y: p.CapiaSeconds / q.Value})
	}
	f.Series = append(f.Series, theirs, plot.Series{Name: "the paper's CAPIA", Colour: plot.Orange, Style: plot.Dashed, Points: []plot.Point{{X: 2.5, Y: p.CapiaSeconds}, {X: 100, Y: p.CapiaSeconds}}})
	speeds.Series = append(speeds.Series, quotients)
	if c.Roofline == nil {
		return []plot.Figure{f, speeds}
	}
	return []plot.Figure{f, speeds, c.Roofline.figure(c.Records)}
}

// figure draws both limits as lines and the batches as points.
func (r *Roofline) figure(records int) plot.Figure {
	f := plot.Figure{Name: "roofline", Title: fmt.Sprintf("Scans by the batch, n = %s, one core", FormatThousands(records)),
		Caption: fmt.Sprintf("The roofline: memory gives %s GB/s, the multiplier (%s) %s·10⁹ products of words a second. More requests in one pass over memory use every byte more often, until multiplying takes most of the time.", FormatDecimal(r.BandwidthGBs, 1), r.Kernels, FormatDecimal(r.MultipliesGs, 1)),
		X:       plot.Axis{Label: "multiplications for a byte read", Log: true, Ticks: []float64{0.125, 0.25, 0.5, 1, 2, 4, 8}},
		Y:       plot.Axis{Label: "multiplications a nanosecond", Log: true, Ticks: []float64{1, 2, 5, 10, 20}}}
	points := plot.Series{Name: "batches of 1 to 64 scans", Colour: plot.Blue}
	for _, p := range r.Points {
		points.Points = append(points.Points, plot.Point{X: p.Intensity, Y: p.Rate})
	}
	left, right := r.Points[0].Intensity, r.Points[len(r.Points)-1].Intensity
	ridge := min(max(left, r.MultipliesGs/r.BandwidthGBs), right)
	f.Series = []plot.Series{points,
		{Name: "memory", Colour: plot.Grey, Style: plot.Dashed, Points: []plot.Point{{X: left, Y: left * r.BandwidthGBs}, {X: ridge, Y: ridge * r.BandwidthGBs}}},
		{Name: "multiplier", Colour: plot.Purple, Style: plot.Dashed, Points: []plot.Point{{X: ridge, Y: r.MultipliesGs}, {X: right, Y: r.MultipliesGs}}}}
	return f
}

func (s *Sweep) speedupFigure() plot.Figure {
	f := plot.Figure{Name: "speedup", Title: fmt.Sprintf("Times faster than capia, n = %s", FormatThousands(s.Records)),
		Caption: fmt.Sprintf("The index of untouched images, all %d requests, one core. Bars are 95 %% intervals of the ratio of medians.", s.Requests),
		X:       apAxis(), Y: plot.Axis{Label: "times faster than capia", Log: true}}
	f.Series = append(f.Series,
		plot.Series{Name: "visits alone", Colour: plot.Grey, Style: plot.Dashed, Points: pick(s, cpar.SearchDepthFirst, func(row SweepRow) plot.Point { return plot.Point{X: row.Approx, Y: row.Bound} })},
		plot.Series{Name: "rows in that order", Colour: plot.Purple, Style: plot.Dashed, Points: pick(s, cpar.SearchDepthFirst, func(row SweepRow) plot.Point { return plot.Point{X: row.Approx, Y: row.Memory} })})
	for _, how := range plottedSearches {
		f.Series = append(f.Series, plot.Series{Name: how.name, Colour: how.colour, Points: pick(s, how.search, func(row SweepRow) plot.Point {
			return plot.Point{X: row.Approx, Y: row.Speedup.Value, YLow: row.Speedup.Low, YHigh: row.Speedup.High}
		})})
	}
	return f
}

// Figures implements Drawn: the paper's four panels, error and dimension against α and γ.
func (a *AlphaGamma) Figures(*Results) []plot.Figure {
	p := paper.Values()
	alpha := plot.Axis{Label: "α  (γ = 100)", Ticks: []float64{0.25, 0.5, 0.75, 1, 1.5, 2}}
	gamma := plot.Axis{Label: "γ  (α = 1)", Log: true, Ticks: []float64{10, 30, 100, 300, 1000}}
	figure := func(name, title, y string, x plot.Axis, keep func(AlphaGammaRow) (float64, bool), of func(AlphaGammaRow) float64, at, theirs float64) plot.Figure {
		f := plot.Figure{Name: name, Title: title, X: x, Y: plot.Axis{Label: y}}
		ours, theory := plot.Series{Name: "measured", Colour: plot.Blue}, plot.Series{Name: "theory, √(4/(π·dimension))", Colour: plot.Grey, Style: plot.Dashed}
		for _, row := range a.Rows {
			if v, ok := keep(row); ok {
				ours.Points = append(ours.Points, plot.Point{X: v, Y: of(row)})
				theory.Points = append(theory.Points, plot.Point{X: v, Y: row.Theory})
			}
		}
		if !strings.Contains(name, "error") {
			ours.Name, theory.Points = "α·m·log_γ(β+1)", nil
		}
		f.Series = []plot.Series{theory, ours, {Name: "the paper", Colour: plot.Orange, Style: plot.Hollow, Points: []plot.Point{{X: at, Y: theirs}}}}
		return f
	}
	byAlpha := func(r AlphaGammaRow) (float64, bool) { return r.Alpha, r.Gamma == 100 }
	byGamma := func(r AlphaGammaRow) (float64, bool) { return r.Gamma, r.Alpha == 1 }
	errors := func(r AlphaGammaRow) float64 { return r.Error }
	size := func(r AlphaGammaRow) float64 { return float64(r.Dimension) }
	e, m := p.Number("jl_error").Value, p.Number("m_hat").Value
	return []plot.Figure{
		figure("alphagamma-error-alpha", "Error against α", "mean relative error, %", alpha, byAlpha, errors, 1, e),
		figure("alphagamma-error-gamma", "Error against γ", "mean relative error, %", gamma, byGamma, errors, 100, e),
		figure("alphagamma-dimension-alpha", "Dimension against α", "dimension", alpha, byAlpha, size, 1, m),
		figure("alphagamma-dimension-gamma", "Dimension against γ", "dimension", gamma, byGamma, size, 100, m),
	}
}

// Figures implements Drawn.
func (l *PCALoss) Figures(*Results) []plot.Figure {
	f := plot.Figure{Name: "pca", Title: "Accuracy lost to PCA",
		Caption: fmt.Sprintf("Percentage points of the paper's recall lost against no PCA at all, in the clear, %d requests; bars are paired 95 %% intervals. The paper: within the dashed half per cent up to PCA-32, then rising.", l.Requests),
		X:       plot.Axis{Label: "PCA-X keeps 4096/X dimensions of each Haar vector", Log: true}, Y: plot.Axis{Label: "points of recall lost"}}
	ours := plot.Series{Name: "measured", Colour: plot.Blue}
	for _, row := range l.Rows {
		if row.Factor > 0 {
			ours.Points = append(ours.Points, plot.Point{X: float64(row.Factor), Y: row.Lost.Value, YLow: row.Lost.Low, YHigh: row.Lost.High})
			f.X.Ticks = append(f.X.Ticks, float64(row.Factor))
			f.X.Names = append(f.X.Names, PCAName(row.Factor))
		}
	}
	bound := paper.Values().Number("pca_loss").Value
	f.Series = []plot.Series{ours, {Name: "the paper's bound", Colour: plot.Orange, Style: plot.Dashed, Points: []plot.Point{{X: 8, Y: bound}, {X: 32, Y: bound}}}}
	return []plot.Figure{f}
}

// flannLook says how a curve of the comparison is drawn.
func flannLook(c FLANNCurve) plot.Series {
	search := map[string]string{"by-rank": "by rank", "depth-first": "Algorithm 1"}[c.Search]
	switch {
	case c.Search == "scan":
		s := flannLook(FLANNCurve{Library: c.Library})
		s.Name, s.Style = strings.TrimSuffix(s.Name, ", at every node")+": scan", plot.Crossed
		return s
	case c.Library == LibraryFLANN:
		return plot.Series{Name: "FLANN", Colour: plot.Olive}
	case c.Library == LibraryLeaf:
		return plot.Series{Name: "ours, in leaves", Colour: plot.Green}
	case c.Library == LibraryEncrypted && search == "":
		return plot.Series{Name: "encrypted", Colour: plot.Purple}
	case c.Library == LibraryEncrypted:
		return plot.Series{Name: "encrypted, " + search, Colour: map[string]plot.Colour{"by-rank": plot.Purple, "depth-first": plot.Red}[c.Search]}
	case c.Splits == "levels":
		return plot.Series{Name: "ours over levels, " + search, Colour: map[string]plot.Colour{"by-rank": plot.Green, "depth-first": plot.Blue}[c.Search], Style: plot.Dashed}
	case c.Search == "best-bin" || search == "":
		return plot.Series{Name: "ours, at every node", Colour: plot.Blue}
	}
	return plot.Series{Name: "ours, at every node, " + search, Colour: plot.Grey}
}

// Figures implements Drawn: for each space, recall against visits and against time.
func (x *FLANN) Figures(*Results) []plot.Figure {
	var out []plot.Figure
	for _, space := range []struct{ id, name string }{{"jl1296", "JL-1296"}, {"pca64", "PCA-64"}} {
		visits := plot.Figure{Name: "flann-visits-" + space.id, Title: "Recall against visits, " + space.name, X: plot.Axis{Label: "records visited, % of all", Log: true}, Y: plot.Axis{Label: "recall@10"}}
		times := plot.Figure{Name: "flann-time-" + space.id, Title: "Recall against time, " + space.name, X: plot.Axis{Label: "µs a request, one core", Log: true}, Y: plot.Axis{Label: "recall@10"}}
		seen := map[FLANNCurve]bool{}
		for _, first := range x.Points {
			c := first.FLANNCurve
			if c.Space != space.id || seen[c] {
				continue
			}
			seen[c] = true
			s, t := flannLook(c), flannLook(c)
			for _, row := range x.Points {
				if row.FLANNCurve == c && row.Visited > 0 && row.Micros > 0 {
					s.Points = append(s.Points, plot.Point{X: 100 * row.Visited / float64(x.Records), Y: row.Recall})
					t.Points = append(t.Points, plot.Point{X: row.Micros, Y: row.Recall})
				}
			}
			if c.Search != "scan" {
				visits.Series = append(visits.Series, s)
			}
			times.Series = append(times.Series, t)
		}
		if len(visits.Series) > 0 {
			out = append(out, visits, times)
		}
	}
	return out
}

// Figures implements Drawn.
func (s *Scaling) Figures(*Results) []plot.Figure {
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
