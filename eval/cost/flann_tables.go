package cost

import (
	"fmt"

	"cpar/eval/measure"
	"cpar/eval/plot"
	"cpar/internal/paper"
)

func (c FLANNCurve) String() string {
	s := fmt.Sprintf("%s, %s, %s", c.Library, c.Search, c.Space)
	if c.Splits == splitsLevels {
		s += ", split in levels"
	}
	return s
}

func (f *FLANN) Tables() []measure.Table {
	all := measure.Table{Name: "flann", Title: fmt.Sprintf("Forests beside FLANN, n = %d, %d trees, %d requests, one core", f.Records, f.Trees, f.Requests),
		Columns: []string{"space", "library", "search", "splits", "visits", "approx", "visited", "recall_at_10", "us_per_request"}}
	for _, r := range f.Points {
		all.Rows = append(all.Rows, []string{r.Space, r.Library, r.Search, r.Splits, measure.FormatInt(r.Visits),
			paper.Digits(r.Approx), paper.Digits(r.Visited), paper.Digits(r.Recall), paper.Digits(r.Micros)})
	}
	equal := measure.Table{Name: "flann-equal", Title: "At equal recall@10",
		Columns: []string{"space", "library", "search", "splits", "recall@10", "visited", "µs", "visits over FLANN's", "time over FLANN's"}}
	for _, e := range f.Equal {
		equal.Rows = append(equal.Rows, []string{e.Space, e.Library, e.Search, e.Splits, measure.FormatDecimal(e.Recall, 2), measure.FormatDecimal(e.Visited, 0), measure.FormatDecimal(e.Micros, 0), measure.FormatDecimal(e.VisitsOverFLANN, 2), measure.FormatDecimal(e.TimeOverFLANN, 2)})
	}
	price := measure.Table{Name: "flann-price", Title: "The price of privacy: the encrypted forest's time over another's",
		Columns: []string{"at", "encrypted", "against", "factor"}}
	for _, x := range f.Price {
		price.Rows = append(price.Rows, []string{x.At, x.Encrypted.String(), x.Against.String(), measure.FormatDecimal(x.Factor, 2)})
	}
	return []measure.Table{all, equal, price}
}

const flannSpace = "jl1296"

var flannSeries = []struct {
	curve  FLANNCurve
	series plot.Series
}{
	{flannCurve(flannSpace), plot.Series{Name: "FLANN", Colour: plot.Olive}},
	{FLANNCurve{flannSpace, LibraryFLANN, searchScan, splitsVectors}, plot.Series{Name: "FLANN: scan", Colour: plot.Olive, Style: plot.Crossed}},
	{FLANNCurve{flannSpace, LibraryLeaf, searchBestBin, splitsVectors}, plot.Series{Name: "ours, in leaves", Colour: plot.Green}},
	{FLANNCurve{flannSpace, LibraryNode, searchBestBin, splitsVectors}, plot.Series{Name: "ours, at every node", Colour: plot.Blue}},
	{FLANNCurve{flannSpace, LibraryNode, searchScan, splitsVectors}, plot.Series{Name: "ours: scan", Colour: plot.Blue, Style: plot.Crossed}},
	{FLANNCurve{flannSpace, LibraryNode, searchByRank, splitsLevels}, plot.Series{Name: "ours over levels, by rank", Colour: plot.Green, Style: plot.Dashed}},
	{FLANNCurve{flannSpace, LibraryNode, searchDepthFirst, splitsLevels}, plot.Series{Name: "ours over levels, Algorithm 1", Colour: plot.Blue, Style: plot.Dashed}},
	{FLANNCurve{flannSpace, LibraryEncrypted, searchScan, splitsLevels}, plot.Series{Name: "encrypted: scan", Colour: plot.Purple, Style: plot.Crossed}},
	{FLANNCurve{flannSpace, LibraryEncrypted, searchByRank, splitsLevels}, plot.Series{Name: "encrypted, by rank", Colour: plot.Purple}},
	{FLANNCurve{flannSpace, LibraryEncrypted, searchDepthFirst, splitsLevels}, plot.Series{Name: "encrypted, Algorithm 1", Colour: plot.Red}},
}

func (f *FLANN) Figures() []plot.Figure {
	times := plot.Figure{Name: "flann-time-" + flannSpace, Title: "Recall against time, JL-1296", X: plot.Axis{Label: "µs a request, one core", Log: true}, Y: plot.Axis{Label: "recall@10"}}
	for _, s := range flannSeries {
		for _, row := range f.Points {
			if row.FLANNCurve == s.curve && row.Micros > 0 {
				s.series.Points = append(s.series.Points, plot.Point{X: row.Micros, Y: row.Recall})
			}
		}
		if len(s.series.Points) > 0 {
			times.Series = append(times.Series, s.series)
		}
	}
	if len(times.Series) == 0 {
		return nil
	}
	return []plot.Figure{times}
}
