package eval

import (
	"fmt"
	"io"
	"strconv"
)

func (c FLANNCurve) String() string {
	s := fmt.Sprintf("%s, %s, %s", c.Library, c.Search, c.Space)
	if c.Splits == splitsLevels {
		s += ", split in levels"
	}
	return s
}

// Print writes f for people.
func (f *FLANN) Print(w io.Writer) {
	fmt.Fprintf(w, "%d records, %d requests, %d trees, one core; means of %d forests (encrypted: one)\n", f.Records, f.Requests, f.Trees, f.Builds)
	var last FLANNCurve
	for _, r := range f.Points {
		if r.FLANNCurve != last {
			fmt.Fprintf(w, "\n%v\n  %8s %7s %9s %7s %12s\n", r.FLANNCurve, "visits", "AP", "visited", "recall", "µs a request")
			last = r.FLANNCurve
		}
		fmt.Fprintf(w, "  %8d %7.2f %9.1f %7.3f %12.1f\n", r.Visits, r.Approx, r.Visited, r.Recall, r.Micros)
	}
	fmt.Fprintf(w, "\nat equal recall@%d%40s %8s %9s %10s %14s %12s\n", f.Neighbours, "", "recall", "visited", "µs", "visits/FLANN's", "time/FLANN's")
	for _, e := range f.Equal {
		fmt.Fprintf(w, "  %-56s %8.2f %9.1f %10.1f %14.2f %12.2f\n", e.FLANNCurve, e.Recall, e.Visited, e.Micros, e.VisitsOverFLANN, e.TimeOverFLANN)
	}
	fmt.Fprintln(w, "\nthe price of privacy: time of the encrypted forest over that of")
	for _, p := range f.Price {
		fmt.Fprintf(w, "  %-56s at %-12s %8.2f (%s)\n", p.Against, p.At, p.Factor, p.Encrypted.Search)
	}
	verdict := "does not hold"
	if f.LeafWithin10 {
		verdict = "holds"
	}
	fmt.Fprintf(w, "\nrecords in leaves, at most 10 %% more visits than FLANN at equal recall: %s\n", verdict)
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
