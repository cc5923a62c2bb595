package cost

import (
	"fmt"
	"strconv"
	"strings"

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

// Rows returns the header and the points of all curves.
func (f *FLANN) Rows() ([]string, [][]string) {
	head := []string{"space", "library", "search", "splits", "visits", "approx", "visited", "recall_at_10", "us_per_request"}
	var rows [][]string
	for _, r := range f.Points {
		rows = append(rows, []string{r.Space, r.Library, r.Search, r.Splits, strconv.Itoa(r.Visits),
			paper.Digits(r.Approx), paper.Digits(r.Visited), paper.Digits(r.Recall), paper.Digits(r.Micros)})
	}
	return head, rows
}

func (f *FLANN) Tables() []measure.Table {
	columns, rows := f.Rows()
	all := measure.Table{Name: "flann", Title: fmt.Sprintf("Forests beside FLANN, n = %d, %d trees, %d requests, one core", f.Records, f.Trees, f.Requests), Columns: columns, Rows: rows}
	verdict := "does not hold"
	if f.LeafWithin10 {
		verdict = "holds"
	}
	equal := measure.Table{Name: "flann-equal", Title: "At equal recall@10; that records in leaves take at most 10 % more visits than FLANN " + verdict,
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
func (x *FLANN) Figures() []plot.Figure {
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
