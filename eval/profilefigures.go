package eval

import (
	"fmt"

	"cpar/eval/plot"
)

// profileColours are the colours of the profiles, in order.
var profileColours = []plot.Colour{plot.Blue, plot.Green, plot.Purple}

// Figures implements Drawn: quality, cost and calibration of each profile.
func (p *Profiles) Figures(*Results) []plot.Figure {
	var names []string
	for _, d := range p.Details {
		names = append(names, d.Profile)
	}
	// of returns the points for one ranker and scheme, one per profile.
	of := func(ranker, scheme string, value func(ProfileRow) float64) []plot.Point {
		var out []plot.Point
		for _, row := range p.Rows {
			for i, name := range names {
				if row.Profile == name && row.Ranker == ranker && row.Scheme == scheme {
					out = append(out, plot.Point{X: float64(i + 1), Y: value(row)})
				}
			}
		}
		return out
	}
	figure := func(name, title, caption, y string, series []plot.Series) plot.Figure {
		f := plot.Figure{Name: name, Title: title, Caption: caption, Series: series}
		f.X, f.Y = plot.Groups(names, y, series)
		return f
	}
	precision, recall := func(r ProfileRow) float64 { return r.P }, func(r ProfileRow) float64 { return r.R }
	found := func(r ProfileRow) float64 { return float64(r.Nplus) }
	ms := func(r ProfileRow) float64 { return r.Cloud }
	out := []plot.Figure{
		figure("profiles-quality", "P and R by profile",
			fmt.Sprintf("Scheme capia, five keywords a photo, %d untouched test images, by the weights W_t and by the calibrated ranker.", p.Requests), "%",
			[]plot.Series{
				{Name: "P, W_t", Colour: plot.Grey, Style: plot.Bars, Points: of("paper", "capia", precision)},
				{Name: "P, calibrated", Colour: plot.Blue, Style: plot.Bars, Points: of("calibrated", "capia", precision)},
				{Name: "R, W_t", Colour: plot.Olive, Style: plot.Bars, Points: of("paper", "capia", recall)},
				{Name: "R, calibrated", Colour: plot.Green, Style: plot.Bars, Points: of("calibrated", "capia", recall)},
			}),
		figure("profiles-nplus", "N+ by profile", "Words of the test set that were given rightly at least once.", "words",
			[]plot.Series{
				{Name: "W_t", Colour: plot.Grey, Style: plot.Bars, Points: of("paper", "capia", found)},
				{Name: "calibrated", Colour: plot.Blue, Style: plot.Bars, Points: of("calibrated", "capia", found)},
			}),
	}
	if len(p.Costs) > 0 {
		out = append(out, figure("profiles-cloud", fmt.Sprintf("Cloud time a request, n = %s", FormatThousands(p.CostRecords)),
			"One core, all indexes asked in turn in one run.", "milliseconds",
			[]plot.Series{
				{Name: "capia", Colour: plot.Blue, Style: plot.Bars, Points: of("calibrated", "capia", ms)},
				{Name: "ivf, AP-10", Colour: plot.Green, Style: plot.Bars, Points: of("calibrated", "ivf@10", ms)},
				{Name: "sealed", Colour: plot.Purple, Style: plot.Bars, Points: of("calibrated", "sealed", ms)},
			}))
	}
	return append(out, p.reliabilityFigures()...)
}

// reliabilityFigures draws the reliability diagram, and the number of words in its bins.
func (p *Profiles) reliabilityFigures() []plot.Figure {
	diagram := plot.Figure{Name: "profiles-reliability", Title: "Is what is called probable right?",
		Caption: "The calibrated ranker on all words of all neighbours of the test images, in ten bins of probability: on the dashed line, probabilities are the shares that are right.",
		X:       plot.Axis{Label: "probability said", From: 0, To: 1}, Y: plot.Axis{Label: "share right", From: 0, To: 1}}
	counts := plot.Figure{Name: "profiles-words", Title: "How many words the bins have",
		Caption: "The same bins. Few words make an uncertain share.",
		X:       plot.Axis{Label: "probability said", From: 0, To: 1}, Y: plot.Axis{Label: "words", Log: true}}
	words := 0
	diagram.Series = append(diagram.Series, plot.Series{Name: "as said", Colour: plot.Grey, Style: plot.Dashed, Points: []plot.Point{{X: 0, Y: 0}, {X: 1, Y: 1}}})
	for i, d := range p.Details {
		said := plot.Series{Name: fmt.Sprintf("%s, ECE %.3f", d.Profile, d.ECE), Colour: profileColours[i%len(profileColours)]}
		many := plot.Series{Name: d.Profile, Colour: said.Colour}
		for _, b := range d.Bins {
			if b.Count == 0 {
				continue
			}
			said.Points = append(said.Points, plot.Point{X: b.Predicted, Y: b.Observed})
			words += b.Count
			many.Points = append(many.Points, plot.Point{X: b.Predicted, Y: float64(b.Count)})
		}
		diagram.Series, counts.Series = append(diagram.Series, said), append(counts.Series, many)
	}
	if words == 0 {
		return nil
	}
	return []plot.Figure{diagram, counts}
}
