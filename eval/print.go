package eval

import (
	"fmt"
	"io"
)

// Print writes a for people.
func (a *Agreement) Print(w io.Writer) {
	fmt.Fprintf(w, "%d records, %d requests\n\n", a.Records, a.Requests)
	fmt.Fprintln(w, "places 1 to 10 that hold the same record encrypted and in the clear")
	for _, scheme := range []string{"capia", "cpar@100", "cpar@10"} {
		fmt.Fprintf(w, "  %-9s %7.4f\n", scheme, a.PlaceAgreement[scheme])
	}
	fmt.Fprintf(w, "requests whose visits come in the same order  %.4f\n", a.VisitOrderEqual)
	fmt.Fprintf(w, "requests for which AP-100 equals the scan     %.4f\n\n", a.FullEqualsScan)
	fmt.Fprintln(w, "of the ten nearest the forest finds  depth first (Algorithm 1)  by rank")
	for _, ap := range []string{"2.5", "5", "10", "20", "40"} {
		fmt.Fprintf(w, "  AP-%-4s %34.4f %13.4f\n", ap, a.Recall[ap], a.RecallByRank[ap])
	}
}

// Print writes r for people.
func (r *Corel5k) Print(w io.Writer) {
	fmt.Fprintln(w, "scheme        AP   neighbours      P      R   N+")
	for _, row := range r.Rows {
		ap := ""
		if row.Approx != 0 {
			ap = fmt.Sprint(row.Approx)
		}
		fmt.Fprintf(w, "%-12s %4s %11d  %5.1f  %5.1f  %3d\n", row.Scheme, ap, row.Neighbours, row.P, row.R, row.Nplus)
	}
	fmt.Fprintf(w, "\nL1 through the projection: mean relative error %.2f %% (theory %.2f %%) over %d seeds\n", r.JL.Mean, r.JL.Theory, len(r.JL.Seeds))
}
