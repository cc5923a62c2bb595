package eval

import (
	"context"
	"fmt"
	"strconv"

	"cpar/internal/paper"
)

// Tables implements Result.
func (a *Agreement) Tables() []Table {
	t := Table{Name: "agreement", Title: fmt.Sprintf("The encrypted search beside its plaintext twin, n = %d, %d requests", a.Records, a.Requests),
		Columns: []string{"what", "search", "AP", "share"}}
	for _, scheme := range []string{"capia", "cpar@100", "cpar@10"} {
		t.Rows = append(t.Rows, []string{"places 1 to 10 alike", scheme, "", FormatDecimal(a.RankAgreement[scheme], 4)})
	}
	t.Rows = append(t.Rows, []string{"visits in the same order", "forest", "", FormatDecimal(a.VisitOrderEqual, 4)},
		[]string{"lists in the same order", "ivf", "", FormatDecimal(a.ListOrderEqual, 4)},
		[]string{"AP-100 equals the scan", "all", "100", FormatDecimal(a.FullEqualsScan, 4)})
	for _, how := range searches {
		for _, approx := range recallApprox {
			ap := approxName(approx)
			t.Rows = append(t.Rows, []string{"of the ten nearest found", how.String(), ap, FormatDecimal(a.recalls(how)[ap], 4)})
		}
	}
	return []Table{t}
}

// Tables implements Result, with the published results below ours.
func (r *Corel5k) Tables() []Table {
	t := Table{Name: "corel5k", Title: "The standard protocol: five keywords an image, means over the words of the test set",
		Columns: []string{"method", "AP", "neighbours", "P %", "R %", "F1 %", "N+"}}
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, []string{row.Scheme, FormatNonZero(row.Approx, 1), FormatInt(row.Neighbours), FormatDecimal(row.P, 1), FormatDecimal(row.R, 1), FormatDecimal(row.F1, 1), FormatInt(row.Nplus)})
	}
	for _, row := range published() {
		t.Rows = append(t.Rows, []string{row.Scheme + " (published)", "", "", FormatDecimal(row.P, 0), FormatDecimal(row.R, 0), FormatDecimal(row.F1, 1), FormatInt(row.Nplus)})
	}
	jl := Table{Name: "jl", Title: fmt.Sprintf("L1 through the projection, all pairs; theory says %s %%", FormatDecimal(r.JL.Theory, 2)), Columns: []string{"secret", "error %"}}
	for i, e := range r.JL.Seeds {
		jl.Rows = append(jl.Rows, []string{FormatInt(i + 1), FormatDecimal(e, 3)})
	}
	jl.Rows = append(jl.Rows, []string{"mean", FormatDecimal(r.JL.Mean, 3)})
	return []Table{t, jl}
}

// A PublishedRow is the annotation quality of a method in the literature.
type PublishedRow struct {
	Scheme string `json:"scheme"`
	Quality
}

// Corel5kBeside is a Corel5k whose JSON also has the published results. They are not
// measured, and not kept with it.
type Corel5kBeside struct {
	*Corel5k
	Published []PublishedRow `json:"published"`
}

func Corel5kStep(ctx context.Context, r *Run, m Measurement) (Result, error) {
	c, err := RunStep(ctx, r, m.Name, nil, withSession(r, MeasureCorel5k))
	if err != nil {
		return nil, err
	}
	return &Corel5kBeside{c, published()}, nil
}

func published() []PublishedRow {
	var rows []PublishedRow
	for _, p := range paper.Values().Published {
		rows = append(rows, PublishedRow{p.Name, Quality{P: p.P, R: p.R, F1: RoundTo(2*p.P*p.R/(p.P+p.R), 2), Nplus: p.Nplus}})
	}
	return rows
}

func (c FLANNCurve) String() string {
	s := fmt.Sprintf("%s, %s, %s", c.Library, c.Search, c.Space)
	if c.Splits == splitsLevels {
		s += ", split in levels"
	}
	return s
}

// Rows returns the points of all curves as a table: its head and its rows.
func (f *FLANN) Rows() ([]string, [][]string) {
	head := []string{"space", "library", "search", "splits", "visits", "approx", "visited", "recall_at_10", "us_per_request"}
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	var rows [][]string
	for _, r := range f.Points {
		rows = append(rows, []string{r.Space, r.Library, r.Search, r.Splits, strconv.Itoa(r.Visits),
			number(r.Approx), number(r.Visited), number(r.Recall), number(r.Micros)})
	}
	return head, rows
}

// Tables implements Result.
func (f *FLANN) Tables() []Table {
	columns, rows := f.Rows()
	all := Table{Name: "flann", Title: fmt.Sprintf("Forests beside FLANN, n = %d, %d trees, %d requests, one core", f.Records, f.Trees, f.Requests), Columns: columns, Rows: rows}
	verdict := "does not hold"
	if f.LeafWithin10 {
		verdict = "holds"
	}
	equal := Table{Name: "flann-equal", Title: "At equal recall@10; that records in leaves take at most 10 % more visits than FLANN " + verdict,
		Columns: []string{"space", "library", "search", "splits", "recall@10", "visited", "µs", "visits over FLANN's", "time over FLANN's"}}
	for _, e := range f.Equal {
		equal.Rows = append(equal.Rows, []string{e.Space, e.Library, e.Search, e.Splits, FormatDecimal(e.Recall, 2), FormatDecimal(e.Visited, 0), FormatDecimal(e.Micros, 0), FormatDecimal(e.VisitsOverFLANN, 2), FormatDecimal(e.TimeOverFLANN, 2)})
	}
	price := Table{Name: "flann-price", Title: "The price of privacy: the encrypted forest's time over another's",
		Columns: []string{"at", "encrypted", "against", "factor"}}
	for _, x := range f.Price {
		price.Rows = append(price.Rows, []string{x.At, x.Encrypted.String(), x.Against.String(), FormatDecimal(x.Factor, 2)})
	}
	return []Table{all, equal, price}
}
