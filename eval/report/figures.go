package report

import (
	"fmt"
	"strings"

	"cpar"
	"cpar/eval"
	"cpar/internal/paper"
)

// Figures are the plots of what was measured, in the order of the page.
func Figures(r *eval.Results) []Figure {
	p := paper.Values()
	var out []Figure
	if r.Sweep != nil {
		out = append(out, tradeoffs(r, p)...)
		out = append(out, recalls(r.Sweep, p)...)
	}
	if r.Cost != nil {
		out = append(out, costs(r.Cost, p)...)
		if r.Cost.Roofline != nil {
			out = append(out, roofline(r.Cost))
		}
	}
	if r.Sweep != nil {
		out = append(out, speedup(r.Sweep))
	}
	if r.AlphaGamma != nil {
		out = append(out, panels(r.AlphaGamma, p)...)
	}
	if r.PCA != nil {
		out = append(out, pcaLoss(r.PCA, p))
	}
	if r.Profiles != nil {
		out = append(out, profileFigures(r.Profiles)...)
	}
	if r.FLANN != nil {
		out = append(out, flann(r.FLANN)...)
	}
	if r.Scaling != nil && len(r.Scaling.Rows) > 1 {
		out = append(out, scaling(r.Scaling)...)
	}
	for i := range out {
		out[i].dropEmpty()
	}
	return out
}

// dropEmpty leaves out series without points.
func (f *Figure) dropEmpty() {
	var kept []Series
	for _, s := range f.Series {
		if len(s.Points) > 0 {
			kept = append(kept, s)
		}
	}
	f.Series = kept
}

// searches are how ours are drawn everywhere.
var searches = []struct {
	name   string
	search cpar.Search
	colour Colour
}{
	{"Algorithm 1", cpar.SearchDepthFirst, Blue},
	{"by rank", cpar.SearchByRank, Green},
	{"best bin first", cpar.SearchBestBin, Olive},
	{"inverted file", cpar.SearchIVF, Red},
}

var apTicks = []float64{2.5, 5, 10, 20, 40, 100}

func apAxis() Axis {
	return Axis{Label: "AP-X, per cent of the records that may be visited", Log: true, Ticks: apTicks}
}

// pick makes points of the rows of one search.
func pick(s *eval.Sweep, how cpar.Search, point func(eval.SweepRow) Point) []Point {
	var out []Point
	for _, row := range s.Rows {
		if row.Approx > 0 && row.Search == how.String() {
			out = append(out, point(row))
		}
	}
	return out
}

func ofInterval(x, y eval.Interval) Point {
	return Point{X: x.Value, XLow: x.Low, XHigh: x.High, Y: y.Value, YLow: y.Low, YHigh: y.High}
}

func tradeoffs(r *eval.Results, p *paper.Paper) []Figure {
	s := r.Sweep
	theirs := Series{Name: "the paper", Colour: Orange, Style: Hollow}
	for _, x := range p.TradeOff {
		theirs.Points = append(theirs.Points, Point{X: x.Relative, Y: x.Speedup})
	}
	figure := func(name, title, caption, x string, relative func(eval.SweepRow) eval.Interval) Figure {
		f := Figure{Name: name, Title: title, Caption: caption,
			X: Axis{Label: x}, Y: Axis{Label: "times faster than capia", Log: true, From: 1, To: 1}}
		for _, how := range searches {
			f.Series = append(f.Series, Series{Name: how.name, Colour: how.colour, Points: pick(s, how.search, func(row eval.SweepRow) Point { return ofInterval(relative(row), row.Speedup) })})
		}
		f.Series = append(f.Series, Series{Name: "visits alone, by rank", Colour: Grey, Style: Dashed, Points: pick(s, cpar.SearchByRank, func(row eval.SweepRow) Point {
			return Point{X: relative(row).Value, Y: row.Bound}
		})})
		return f
	}
	main := figure("tradeoff", "Speedup against accuracy",
		fmt.Sprintf("Both relative to capia: %d untouched test requests, an index of %d, one core. Accuracy by the paper's protocol. Bars are 95 %% intervals. AP-100 is rightmost, AP-2.5 leftmost; dashed is what visits alone would allow.", s.Requests, s.Records),
		"accuracy in % of capia's, the paper's protocol", func(row eval.SweepRow) eval.Interval { return row.Relative })
	main.Series = append(main.Series, theirs)
	out := []Figure{main}
	if r.Cost != nil {
		out = append(out, largeTradeoff(r, theirs))
	}
	return append(out, figure("tradeoff-standard", "The same, standard protocol",
		"Recall at five keywords an image, over all words of the test set. The paper has no such points.",
		"R at five keywords in % of capia's", func(row eval.SweepRow) eval.Interval { return row.RelativeStandard }))
}

// largeTradeoff has the speed of the large index and the accuracy of the
// untouched one: the large one is made from the same photographs, and accuracy
// on it would be flattered.
func largeTradeoff(r *eval.Results, theirs Series) Figure {
	speed := map[string]float64{}
	for _, row := range r.Cost.Rows {
		speed[row.Name] = row.Speedup
	}
	f := Figure{Name: "tradeoff-large", Title: fmt.Sprintf("The same, speed at n = %s", thousands(r.Cost.Records)),
		Caption: fmt.Sprintf("Speed of an index of %s, made of the same photographs; accuracy of the index of untouched images, at the same AP.", thousands(r.Cost.Records)),
		X:       Axis{Label: "accuracy in % of capia's, the paper's protocol"}, Y: Axis{Label: "times faster than capia", Log: true}}
	for _, how := range searches {
		f.Series = append(f.Series, Series{Name: how.name, Colour: how.colour, Points: pick(r.Sweep, how.search, func(row eval.SweepRow) Point {
			return Point{X: row.Relative.Value, XLow: row.Relative.Low, XHigh: row.Relative.High, Y: speed[row.Name]}
		})})
	}
	f.Series = append(f.Series, theirs)
	return f
}

func recalls(s *eval.Sweep, p *paper.Paper) []Figure {
	figure := func(name, title, caption, y string, of func(eval.SweepRow) eval.Interval) Figure {
		f := Figure{Name: name, Title: title, Caption: caption, X: apAxis(), Y: Axis{Label: y}}
		for _, how := range searches {
			f.Series = append(f.Series, Series{Name: how.name, Colour: how.colour, Points: pick(s, how.search, func(row eval.SweepRow) Point {
				y := of(row)
				return Point{X: row.Approx, Y: y.Value, YLow: y.Low, YHigh: y.High}
			})})
		}
		return f
	}
	main := figure("recall", "Accuracy against AP, the paper's protocol",
		"All keywords of the ten neighbours; recall averaged over the words that were output. The paper's points are of another collection: compare how the curves fall, not where they lie.",
		"recall, %", func(row eval.SweepRow) eval.Interval { return row.Paper })
	theirs := Series{Name: "the paper", Colour: Orange, Style: Hollow}
	for _, q := range p.Recall {
		theirs.Points = append(theirs.Points, Point{X: q.AP, Y: q.Value})
	}
	main.Series = append(main.Series, theirs)
	return []Figure{main,
		figure("recall-standard", "Accuracy against AP, standard protocol", "Five keywords an image; recall averaged over all words of the test set.",
			"R, %", func(row eval.SweepRow) eval.Interval { return row.Standard }),
		figure("recall-at-10", "Of the ten nearest found", "The share of what the scan returns that the forest returns too. AP-100 returns the same.",
			"recall@10, %", func(row eval.SweepRow) eval.Interval { return row.Recall10 }),
	}
}

func costs(c *eval.Cost, p *paper.Paper) []Figure {
	n := thousands(c.Records)
	f := Figure{Name: "cost", Title: fmt.Sprintf("Cloud time a request, n = %s", n),
		Caption: fmt.Sprintf("One core, median of %d requests. The paper's are seconds of its own machine and language at n = 20,000; hollow are the points of which it states the value.", c.Requests),
		X:       apAxis(), Y: Axis{Label: "seconds", Log: true}}
	speeds := Figure{Name: "cost-speedup", Title: fmt.Sprintf("Times faster than capia, n = %s", n),
		Caption: "Dashed is what fewer visits would allow if a visit cost what a record of the scan does; purple is what is left when the same rows are read in the order of the visits and nothing else is done. The paper's points are the quotients of its seconds.",
		X:       apAxis(), Y: Axis{Label: "times faster than capia", Log: true}}
	var scan float64
	for _, how := range searches {
		s, q := Series{Name: how.name, Colour: how.colour}, Series{Name: how.name, Colour: how.colour}
		bound := Series{Name: "visits alone", Colour: Grey, Style: Dashed}
		memory := Series{Name: "rows in that order", Colour: Purple, Style: Dashed}
		for _, row := range c.Rows {
			if row.Approx == 0 {
				scan = float64(row.NS) / 1e9
			}
			if row.Approx == 0 || row.Search != how.search.String() {
				continue
			}
			s.Points = append(s.Points, Point{X: row.Approx, Y: float64(row.NS) / 1e9})
			q.Points = append(q.Points, Point{X: row.Approx, Y: row.Speedup})
			bound.Points = append(bound.Points, Point{X: row.Approx, Y: row.Bound})
			memory.Points = append(memory.Points, Point{X: row.Approx, Y: row.MemoryBound})
		}
		f.Series = append(f.Series, s)
		if how.search == cpar.SearchDepthFirst {
			speeds.Series = append(speeds.Series, bound, memory)
		}
		speeds.Series = append(speeds.Series, q)
	}
	f.Series = append(f.Series, Series{Name: "capia", Colour: Grey, Style: Dashed, Points: []Point{{X: 2.5, Y: scan}, {X: 100, Y: scan}}})
	theirs, quotients := Series{Name: "the paper", Colour: Orange, Style: Hollow}, Series{Name: "the paper", Colour: Orange, Style: Hollow}
	for _, q := range p.Cost {
		theirs.Points = append(theirs.Points, Point{X: q.AP, Y: q.Value})
		quotients.Points = append(quotients.Points, Point{X: q.AP, Y: p.CapiaSeconds / q.Value})
	}
	f.Series = append(f.Series, theirs, Series{Name: "the paper's CAPIA", Colour: Orange, Style: Dashed, Points: []Point{{X: 2.5, Y: p.CapiaSeconds}, {X: 100, Y: p.CapiaSeconds}}})
	speeds.Series = append(speeds.Series, quotients)
	return []Figure{f, speeds}
}

// roofline has both limits as lines and the batches as points.
func roofline(c *eval.Cost) Figure {
	r := c.Roofline
	f := Figure{Name: "roofline", Title: fmt.Sprintf("Scans by the batch, n = %s, one core", thousands(c.Records)),
		Caption: fmt.Sprintf("The roofline: memory gives %s GB/s, the multiplier (%s) %s·10⁹ products of words a second. More requests in one pass over memory make more of every byte, until multiplying is what takes the time.", number(r.BandwidthGBs, 1), r.Kernels, number(r.MultipliesGs, 1)),
		X:       Axis{Label: "multiplications for a byte read", Log: true, Ticks: []float64{0.125, 0.25, 0.5, 1, 2, 4, 8}},
		Y:       Axis{Label: "multiplications a nanosecond", Log: true, Ticks: []float64{1, 2, 5, 10, 20}}}
	points := Series{Name: "batches of 1 to 64 scans", Colour: Blue}
	for _, p := range r.Points {
		points.Points = append(points.Points, Point{X: p.Intensity, Y: p.Rate})
	}
	left, right := r.Points[0].Intensity, r.Points[len(r.Points)-1].Intensity
	ridge := min(max(left, r.MultipliesGs/r.BandwidthGBs), right)
	f.Series = []Series{points,
		{Name: "memory", Colour: Grey, Style: Dashed, Points: []Point{{X: left, Y: left * r.BandwidthGBs}, {X: ridge, Y: ridge * r.BandwidthGBs}}},
		{Name: "multiplier", Colour: Purple, Style: Dashed, Points: []Point{{X: ridge, Y: r.MultipliesGs}, {X: right, Y: r.MultipliesGs}}}}
	return f
}

func speedup(s *eval.Sweep) Figure {
	f := Figure{Name: "speedup", Title: fmt.Sprintf("Times faster than capia, n = %s", thousands(s.Records)),
		Caption: fmt.Sprintf("The index of untouched images, all %d requests, one core. Bars are 95 %% intervals of the ratio of medians.", s.Requests),
		X:       apAxis(), Y: Axis{Label: "times faster than capia", Log: true}}
	f.Series = append(f.Series,
		Series{Name: "visits alone", Colour: Grey, Style: Dashed, Points: pick(s, cpar.SearchDepthFirst, func(row eval.SweepRow) Point { return Point{X: row.Approx, Y: row.Bound} })},
		Series{Name: "rows in that order", Colour: Purple, Style: Dashed, Points: pick(s, cpar.SearchDepthFirst, func(row eval.SweepRow) Point { return Point{X: row.Approx, Y: row.Memory} })})
	for _, how := range searches {
		f.Series = append(f.Series, Series{Name: how.name, Colour: how.colour, Points: pick(s, how.search, func(row eval.SweepRow) Point {
			return Point{X: row.Approx, Y: row.Speedup.Value, YLow: row.Speedup.Low, YHigh: row.Speedup.High}
		})})
	}
	return f
}

// panels are the paper's four: error and dimension against α and γ.
func panels(a *eval.AlphaGamma, p *paper.Paper) []Figure {
	alpha := Axis{Label: "α  (γ = 100)", Ticks: []float64{0.25, 0.5, 0.75, 1, 1.5, 2}}
	gamma := Axis{Label: "γ  (α = 1)", Log: true, Ticks: []float64{10, 30, 100, 300, 1000}}
	figure := func(name, title, y string, x Axis, keep func(eval.AlphaGammaRow) (float64, bool), of func(eval.AlphaGammaRow) float64, at, theirs float64) Figure {
		f := Figure{Name: name, Title: title, X: x, Y: Axis{Label: y}}
		ours, theory := Series{Name: "measured", Colour: Blue}, Series{Name: "theory, √(4/(π·dimension))", Colour: Grey, Style: Dashed}
		for _, row := range a.Rows {
			if v, ok := keep(row); ok {
				ours.Points = append(ours.Points, Point{X: v, Y: of(row)})
				theory.Points = append(theory.Points, Point{X: v, Y: row.Theory})
			}
		}
		if !strings.Contains(name, "error") {
			ours.Name, theory.Points = "α·m·log_γ(β+1)", nil
		}
		f.Series = []Series{theory, ours, {Name: "the paper", Colour: Orange, Style: Hollow, Points: []Point{{X: at, Y: theirs}}}}
		return f
	}
	byAlpha := func(r eval.AlphaGammaRow) (float64, bool) { return r.Alpha, r.Gamma == 100 }
	byGamma := func(r eval.AlphaGammaRow) (float64, bool) { return r.Gamma, r.Alpha == 1 }
	errors := func(r eval.AlphaGammaRow) float64 { return r.Error }
	size := func(r eval.AlphaGammaRow) float64 { return float64(r.Dimension) }
	e, m := p.Number("jl_error").Value, p.Number("m_hat").Value
	return []Figure{
		figure("alphagamma-error-alpha", "Error against α", "mean relative error, %", alpha, byAlpha, errors, 1, e),
		figure("alphagamma-error-gamma", "Error against γ", "mean relative error, %", gamma, byGamma, errors, 100, e),
		figure("alphagamma-dimension-alpha", "Dimension against α", "dimension", alpha, byAlpha, size, 1, m),
		figure("alphagamma-dimension-gamma", "Dimension against γ", "dimension", gamma, byGamma, size, 100, m),
	}
}

func pcaLoss(l *eval.PCALoss, p *paper.Paper) Figure {
	f := Figure{Name: "pca", Title: "Accuracy lost to PCA",
		Caption: fmt.Sprintf("Percentage points of the paper's recall lost against no PCA at all, in the clear, %d requests; bars are paired 95 %% intervals. The paper: within the dashed half per cent up to PCA-32, then rising.", l.Requests),
		X:       Axis{Label: "PCA-X keeps 4096/X dimensions of each Haar vector", Log: true}, Y: Axis{Label: "points of recall lost"}}
	ours := Series{Name: "measured", Colour: Blue}
	for _, row := range l.Rows {
		if row.Factor > 0 {
			ours.Points = append(ours.Points, Point{X: float64(row.Factor), Y: row.Lost.Value, YLow: row.Lost.Low, YHigh: row.Lost.High})
			f.X.Ticks = append(f.X.Ticks, float64(row.Factor))
			f.X.Names = append(f.X.Names, eval.PCAName(row.Factor))
		}
	}
	bound := p.Number("pca_loss").Value
	f.Series = []Series{ours, {Name: "the paper's bound", Colour: Orange, Style: Dashed, Points: []Point{{X: 8, Y: bound}, {X: 32, Y: bound}}}}
	return f
}

// flannLook is how a curve of the comparison is drawn.
func flannLook(c eval.FLANNCurve) Series {
	search := map[string]string{"by-rank": "by rank", "depth-first": "Algorithm 1"}[c.Search]
	switch {
	case c.Search == "scan":
		s := flannLook(eval.FLANNCurve{Library: c.Library})
		s.Name, s.Style = strings.TrimSuffix(s.Name, ", at every node")+": scan", Crossed
		return s
	case c.Library == eval.LibraryFLANN:
		return Series{Name: "FLANN", Colour: Olive}
	case c.Library == eval.LibraryLeaf:
		return Series{Name: "ours, in leaves", Colour: Green}
	case c.Library == eval.LibraryEncrypted && search == "":
		return Series{Name: "encrypted", Colour: Purple}
	case c.Library == eval.LibraryEncrypted:
		return Series{Name: "encrypted, " + search, Colour: map[string]Colour{"by-rank": Purple, "depth-first": Red}[c.Search]}
	case c.Splits == "levels":
		return Series{Name: "ours over levels, " + search, Colour: map[string]Colour{"by-rank": Green, "depth-first": Blue}[c.Search], Style: Dashed}
	case c.Search == "best-bin" || search == "":
		return Series{Name: "ours, at every node", Colour: Blue}
	}
	return Series{Name: "ours, at every node, " + search, Colour: Grey}
}

// flann draws, for each space, recall against visits and against time.
func flann(x *eval.FLANN) []Figure {
	var out []Figure
	for _, space := range []struct{ id, name string }{{"jl1296", "JL-1296"}, {"pca64", "PCA-64"}} {
		visits := Figure{Name: "flann-visits-" + space.id, Title: "Recall against visits, " + space.name, X: Axis{Label: "records visited, % of all", Log: true}, Y: Axis{Label: "recall@10"}}
		times := Figure{Name: "flann-time-" + space.id, Title: "Recall against time, " + space.name, X: Axis{Label: "µs a request, one core", Log: true}, Y: Axis{Label: "recall@10"}}
		seen := map[eval.FLANNCurve]bool{}
		for _, first := range x.Points {
			c := first.FLANNCurve
			if c.Space != space.id || seen[c] {
				continue
			}
			seen[c] = true
			s, t := flannLook(c), flannLook(c)
			for _, row := range x.Points {
				if row.FLANNCurve == c && row.Visited > 0 && row.Micros > 0 {
					s.Points = append(s.Points, Point{X: 100 * row.Visited / float64(x.Records), Y: row.Recall})
					t.Points = append(t.Points, Point{X: row.Micros, Y: row.Recall})
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

func scaling(s *eval.Scaling) []Figure {
	axis := Axis{Label: "n, images in the index", Log: true, Ticks: []float64{1250, 5000, 20000, 80000}, Names: []string{"1,250", "5,000", "20,000", "80,000"}}
	exponent := map[string]float64{}
	for _, f := range s.Fits {
		exponent[f.What] = f.Exponent
	}
	type line struct {
		name, fit string
		colour    Colour
		of        func(eval.ScalingRow) float64
	}
	figure := func(name, title, y string, log bool, lines ...line) Figure {
		f := Figure{Name: name, Title: title, X: axis, Y: Axis{Label: y, Log: log}}
		for _, l := range lines {
			label := l.name
			if k, ok := exponent[l.fit]; ok && log {
				label = fmt.Sprintf("%s ~ n^%.2f", l.name, k)
			}
			series := Series{Name: label, Colour: l.colour}
			for _, row := range s.Rows {
				series.Points = append(series.Points, Point{X: float64(row.Records), Y: l.of(row)})
			}
			f.Series = append(f.Series, series)
		}
		return f
	}
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	fixed := eval.FixedVisitsName
	return []Figure{
		figure("scaling-cloud", "Cloud time a request", "ms, one core", true,
			line{"scan", "scan", Grey, func(r eval.ScalingRow) float64 { return ms(r.Scan) }},
			line{"AP-10", "AP-10", Blue, func(r eval.ScalingRow) float64 { return ms(r.AP10) }},
			line{fixed, fixed, Green, func(r eval.ScalingRow) float64 { return ms(r.Fixed) }}),
		figure("scaling-build", "Building", "s, all cores", true,
			line{"all", "build", Blue, func(r eval.ScalingRow) float64 { return r.Build }},
			line{"PCA", "", Purple, func(r eval.ScalingRow) float64 { return r.PCA }},
			line{"encryption", "", Green, func(r eval.ScalingRow) float64 { return r.Encrypt }},
			line{"forest", "", Red, func(r eval.ScalingRow) float64 { return r.Forest }}),
		figure("scaling-index", "Index", "MB", true,
			line{"index", "index bytes", Blue, func(r eval.ScalingRow) float64 { return float64(r.IndexBytes) / 1e6 }}),
		figure("scaling-recall", "Of the ten nearest found", "recall@10, %", false,
			line{"AP-10", "", Blue, func(r eval.ScalingRow) float64 { return r.RecallAP10 }},
			line{fixed, "", Green, func(r eval.ScalingRow) float64 { return r.RecallFixed }}),
	}
}

// thousands writes 20000 as 20,000.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
