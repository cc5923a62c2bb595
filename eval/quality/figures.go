package quality

import (
	"fmt"
	"strings"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/plot"
	"cpar/internal/paper"
)

func pick(s *Sweep, how cpar.Search, point func(SweepRow) plot.Point) []plot.Point {
	var out []plot.Point
	for _, row := range s.Rows {
		if row.Approx > 0 && row.Search == how.String() {
			out = append(out, point(row))
		}
	}
	return out
}

// Figures plots the equivalents of Figures 8 to 10 of the paper.
func (s *Sweep) Figures() []plot.Figure {
	p := paper.Values()
	return []plot.Figure{s.tradeoffFigure(p), s.recallFigure(p), s.speedupFigure()}
}

func publishedTradeoff(p *paper.Paper) plot.Series {
	theirs := plot.Series{Name: "the paper", Colour: plot.Orange, Style: plot.Triangles}
	for _, x := range p.TradeOff {
		theirs.Points = append(theirs.Points, plot.Point{X: x.Relative, Y: x.Speedup})
	}
	return theirs
}

func (s *Sweep) tradeoffFigure(p *paper.Paper) plot.Figure {
	f := plot.Figure{Name: "tradeoff", Title: "Speedup against accuracy",
		X: plot.Axis{Label: "accuracy in % of capia's, the paper's protocol"}, Y: plot.Axis{Label: "times faster than capia", Log: true, From: 1, To: 1}}
	for _, how := range measure.PlottedSearches {
		f.Series = append(f.Series, plot.Series{Name: how.Name, Colour: how.Colour, Points: pick(s, how.Search, func(row SweepRow) plot.Point { return measure.OfInterval(row.Relative, row.Speedup) })})
	}
	f.Series = append(f.Series, plot.Series{Name: "visits alone, by rank", Colour: plot.Grey, Style: plot.Dashed, Points: pick(s, cpar.SearchByRank, func(row SweepRow) plot.Point {
		return plot.Point{X: row.Relative.Value, Y: row.Bound}
	})}, publishedTradeoff(p))
	return f
}

func (s *Sweep) recallFigure(p *paper.Paper) plot.Figure {
	f := plot.Figure{Name: "recall", Title: "Accuracy against AP, the paper's protocol", X: measure.APAxis(), Y: plot.Axis{Label: "recall, %"}}
	for _, how := range measure.PlottedSearches {
		f.Series = append(f.Series, plot.Series{Name: how.Name, Colour: how.Colour, Points: pick(s, how.Search, func(row SweepRow) plot.Point {
			return plot.Point{X: row.Approx, Y: row.Paper.Value, YLow: row.Paper.Low, YHigh: row.Paper.High}
		})})
	}
	theirs := plot.Series{Name: "the paper", Colour: plot.Orange, Style: plot.Triangles}
	for _, q := range p.Recall {
		theirs.Points = append(theirs.Points, plot.Point{X: q.AP, Y: q.Value})
	}
	f.Series = append(f.Series, theirs)
	return f
}

func (s *Sweep) speedupFigure() plot.Figure {
	f := plot.Figure{Name: "speedup", Title: fmt.Sprintf("Times faster than capia, n = %s", measure.FormatThousands(s.Records)),
		X: measure.APAxis(), Y: plot.Axis{Label: "times faster than capia", Log: true}}
	f.Series = append(f.Series,
		plot.Series{Name: "visits alone", Colour: plot.Grey, Style: plot.Dashed, Points: pick(s, cpar.SearchDepthFirst, func(row SweepRow) plot.Point { return plot.Point{X: row.Approx, Y: row.Bound} })},
		plot.Series{Name: "rows in that order", Colour: plot.Purple, Style: plot.Dashed, Points: pick(s, cpar.SearchDepthFirst, func(row SweepRow) plot.Point { return plot.Point{X: row.Approx, Y: row.Memory} })})
	for _, how := range measure.PlottedSearches {
		f.Series = append(f.Series, plot.Series{Name: how.Name, Colour: how.Colour, Points: pick(s, how.Search, func(row SweepRow) plot.Point {
			return plot.Point{X: row.Approx, Y: row.Speedup.Value, YLow: row.Speedup.Low, YHigh: row.Speedup.High}
		})})
	}
	return f
}

func (a *AlphaGamma) Figures() []plot.Figure {
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
		f.Series = []plot.Series{theory, ours, {Name: "the paper", Colour: plot.Orange, Style: plot.Triangles, Points: []plot.Point{{X: at, Y: theirs}}}}
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

func (l *PCALoss) Figures() []plot.Figure {
	f := plot.Figure{Name: "pca", Title: "Accuracy lost to PCA",
		X: plot.Axis{Label: "PCA-X keeps 4096/X dimensions of each Haar vector", Log: true}, Y: plot.Axis{Label: "points of recall lost"}}
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
