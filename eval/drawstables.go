package eval

import (
	"fmt"
	"slices"
)

// A spread is the mean of some values, or their median, and a range around it.
type valueRange struct{ mid, low, high float64 }

// rangeOf is the mean, the least and the greatest. The mean of equal values is their value,
// to the last digit shown.
func meanRange(x []float64) valueRange { return valueRange{RoundTo(mean(x), 6), slices.Min(x), slices.Max(x)} }

// quantilesOf is the median, and what 5 and 95 % are below.
func medianRange(x []float64) valueRange {
	y := slices.Sorted(slices.Values(x))
	at := func(percent int) float64 { return y[min(len(y)-1, len(y)*percent/100)] }
	return valueRange{at(50), at(5), at(95)}
}

func (s valueRange) cells(digits int) []string {
	return []string{FormatDecimal(s.mid, digits), FormatDecimal(s.low, digits), FormatDecimal(s.high, digits)}
}

// Tables implements Result. Each value has the least and the greatest behind it.
func (d *Draws) Tables() []Table {
	return []Table{d.quality(), d.recalls()}
}

// title says what the draws were.
func (d *Draws) title(what string) string {
	first := d.Draws[0]
	t := fmt.Sprintf("%s, n = %d, %d requests; mean, least and greatest of %d draws of key and order", what, first.Records, first.Requests, len(d.Draws))
	for _, s := range first.Skipped {
		t += fmt.Sprintf("; profile %s was left out: %s", s.Profile, s.Reason)
	}
	return t
}

func (d *Draws) quality() Table {
	t := Table{Name: "draws", Title: d.title("What is found, five keywords a photo"),
		Columns: []string{"profile", "ranker", "scheme", "P %", "low", "high", "R %", "low", "high", "N+", "low", "high", "words found", "low", "high"}}
	for i, row := range d.Draws[0].Rows {
		of := func(value func(DrawRow) float64) valueRange { return d.of(i, value) }
		t.Rows = append(t.Rows, slices.Concat([]string{row.Profile, row.Ranker, row.Scheme},
			of(func(r DrawRow) float64 { return r.P }).cells(1), of(func(r DrawRow) float64 { return r.R }).cells(1),
			of(func(r DrawRow) float64 { return float64(r.Nplus) }).cells(0), of(func(r DrawRow) float64 { return r.Found }).cells(2)))
	}
	return t
}

// of is a value of row i over the draws.
func (d *Draws) of(i int, value func(DrawRow) float64) valueRange {
	var x []float64
	for _, draw := range d.Draws {
		x = append(x, value(draw.Rows[i]))
	}
	return meanRange(x)
}

// recalls has two rows for each search and reading of the protocol: all requests, whose
// range is over draws; and some at a time, whose range has nine tenths of all of them.
func (d *Draws) recalls() Table {
	t := Table{Name: "draws-recall", Title: d.title("The paper's recall: all words of ten neighbours, over the words output") +
		fmt.Sprintf("; of %d requests at a time: median, 5 %% and 95 %% of %d times a draw", fewRequests, fewDraws),
		Columns: []string{"search", "related by", "requests", "recall %", "low", "high", "% of capia's", "low", "high"}}
	base := 0
	for i, row := range d.Draws[0].Recalls {
		if row.Search == "capia" {
			base = i
		}
		var all, allOf, few, fewOf []float64
		for _, draw := range d.Draws {
			x, capia := draw.Recalls[i], draw.Recalls[base]
			all, few = append(all, x.All), append(few, x.Subsets...)
			allOf = append(allOf, ratios([]float64{x.All}, []float64{capia.All})...)
			fewOf = append(fewOf, ratios(x.Subsets, capia.Subsets)...)
		}
		t.Rows = append(t.Rows,
			slices.Concat([]string{row.Search, row.Related, FormatInt(row.Admitted)}, meanRange(all).cells(1), meanRange(allOf).cells(1)),
			slices.Concat([]string{row.Search, row.Related, FormatInt(min(fewRequests, row.Admitted))}, medianRange(few).cells(1), medianRange(fewOf).cells(1)))
	}
	return t
}
