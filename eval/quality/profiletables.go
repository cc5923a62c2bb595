package quality

import (
	"fmt"

	"cpar/eval/measure"
	"cpar/eval/plot"
)

func (p *Profiles) Tables() []measure.Table {
	rows := measure.Table{Name: "profiles", Title: fmt.Sprintf("Profiles, n = %d, %d requests, five keywords a photo; bytes and times at n = %d (%s), one core", p.Records, p.Requests, p.CostRecords, p.CostKind),
		Columns: []string{"profile", "ranker", "scheme", "neighbours", "dimensions", "P %", "R %", "N+", "index MB", "cloud ms", "owner ms"}}
	for _, s := range p.Skipped {
		rows.Title += fmt.Sprintf("; %s was left out: %s", s.Profile, s.Reason)
	}
	for _, r := range p.Rows {
		rows.Rows = append(rows.Rows, []string{r.Profile, r.Ranker, r.Scheme, measure.FormatInt(r.Neighbours), measure.FormatInt(r.Dim), measure.FormatDecimal(r.P, 2), measure.FormatDecimal(r.R, 2), measure.FormatInt(r.Nplus),
			measure.FormatNonZero(float64(r.IndexBytes)/1e6, 2), measure.FormatNonZero(r.Cloud, 3), measure.FormatNonZero(r.Owner, 1)})
	}
	return append([]measure.Table{rows}, p.detailTables()...)
}

func (p *Profiles) detailTables() []measure.Table {
	details := measure.Table{Name: "profile-search", Title: "Share found: of capia's ten nearest at AP-10, and of the ten nearest in the clear",
		Columns: []string{"profile", "ivf, AP-10", "by rank, AP-10", "capia of plain", "sealed of plain"}}
	probable := measure.Table{Name: "profile-probability", Title: "The calibrated ranker on the test images, scheme capia: calibration error",
		Columns: []string{"profile", "ECE, all words", "ECE, five given"}}
	found := measure.Table{Name: "profile-found", Title: "Mean number of keywords found per photo, five given, scheme capia: by the paper's W_t and by the calibrated ranker",
		Columns: []string{"profile", "human", "W_t", "probable"}}
	for _, d := range p.Details {
		details.Rows = append(details.Rows, []string{d.Profile, measure.FormatDecimal(d.Recall["ivf"], 4), measure.FormatDecimal(d.Recall["rank"], 4), measure.FormatDecimal(d.OfPlain["capia"], 4), measure.FormatDecimal(d.OfPlain["sealed"], 4)})
		probable.Rows = append(probable.Rows, []string{d.Profile, measure.FormatDecimal(d.ECE, 4), measure.FormatDecimal(d.ECEKept, 4)})
		found.Rows = append(found.Rows, []string{d.Profile, measure.FormatDecimal(d.Found.Human, 2), measure.FormatDecimal(d.Found.Paper, 2), measure.FormatDecimal(d.Found.Probable, 2)})
	}
	costs := measure.Table{Name: "profile-cost", Title: fmt.Sprintf("What each profile costs at n = %d, milliseconds on one core", p.CostRecords),
		Columns: []string{"profile", "scheme", "index MB", "of it profile MB", "request B", "reply B", "cloud ms", "features ms", "vector ms", "request ms", "reply ms"}}
	for _, c := range p.Costs {
		costs.Rows = append(costs.Rows, []string{c.Profile, c.Scheme, measure.FormatDecimal(float64(c.IndexBytes)/1e6, 2), measure.FormatDecimal(float64(c.ProfileBytes)/1e6, 2), measure.FormatInt(c.Request), measure.FormatInt(c.Reply), measure.FormatDecimal(c.Cloud, 3),
			measure.FormatDecimal(c.Features, 2), measure.FormatDecimal(c.Project, 3), measure.FormatDecimal(c.Encrypt, 3), measure.FormatDecimal(c.Read, 3)})
	}
	return []measure.Table{details, found, probable, costs}
}

func (p *Profiles) Figures() []plot.Figure {
	var names []string
	for _, d := range p.Details {
		names = append(names, d.Profile)
	}
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
	figure := func(name, title, y string, series []plot.Series) plot.Figure {
		f := plot.Figure{Name: name, Title: title, Series: series}
		f.X, f.Y = plot.Groups(names, y, series)
		return f
	}
	precision, recall := func(r ProfileRow) float64 { return r.P }, func(r ProfileRow) float64 { return r.R }
	ms := func(r ProfileRow) float64 { return r.Cloud }
	out := []plot.Figure{
		figure("profiles-quality", "P and R by profile", "%",
			[]plot.Series{
				{Name: "P, W_t", Colour: plot.Grey, Style: plot.Bars, Points: of("paper", "capia", precision)},
				{Name: "P, calibrated", Colour: plot.Blue, Style: plot.Bars, Points: of("calibrated", "capia", precision)},
				{Name: "R, W_t", Colour: plot.Olive, Style: plot.Bars, Points: of("paper", "capia", recall)},
				{Name: "R, calibrated", Colour: plot.Green, Style: plot.Bars, Points: of("calibrated", "capia", recall)},
			}),
	}
	if len(p.Costs) > 0 {
		out = append(out, figure("profiles-cloud", fmt.Sprintf("Cloud time a request, n = %s", measure.FormatThousands(p.CostRecords)), "milliseconds",
			[]plot.Series{
				{Name: "capia", Colour: plot.Blue, Style: plot.Bars, Points: of("calibrated", "capia", ms)},
				{Name: "ivf, AP-10", Colour: plot.Green, Style: plot.Bars, Points: of("calibrated", "ivf@10", ms)},
				{Name: "sealed", Colour: plot.Purple, Style: plot.Bars, Points: of("calibrated", "sealed", ms)},
			}))
	}
	return out
}
