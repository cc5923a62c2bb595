package demo

import (
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"cpar/internal/humanfmt"
	"cpar/photo/dataset"
)

func (r *Result) Print(w io.Writer) {
	for _, s := range []string{dataset.PeopleLeftOut(r.People), dataset.Summary(r.Warnings)} {
		if s != "" {
			fmt.Fprintf(w, "\n%s\n", s)
		}
	}
	if !r.Painted {
		fmt.Fprintf(w, "\nOf %s photos with keywords, %s were indexed and %d annotated. %d were left out as duplicates or unusable.\n",
			count(r.Available+r.HeldOut), count(r.Records), len(r.Photos), r.LeftOut)
	}
	fmt.Fprintf(w, "\nKeywords of the new photos. ✓ marks keywords that people gave too.\n")
	for _, p := range r.Photos {
		fmt.Fprintf(w, "\n  %s\n    %-10s %s\n", p.Name, "truth", strings.Join(p.Truth, ", "))
		for _, g := range p.Groups() {
			fmt.Fprintf(w, "    %-9s", g.Name)
			for _, k := range g.Keywords {
				mark := ' '
				if k.Correct {
					mark = '✓'
				}
				fmt.Fprintf(w, " %c%s %s ", mark, k.Word, k.Figure())
			}
			fmt.Fprintln(w)
		}
		if len(p.Keywords) == 0 {
			fmt.Fprintln(w, "    nothing is likely enough")
		}
	}
	fmt.Fprintf(w, "\n  %s.\n\nWhat the server saw:\n\n", r.Verdict())
	for _, line := range r.SawLines() {
		fmt.Fprintf(w, "  - %s\n", line)
	}
}

func (r *Result) Verdict() string {
	if r.Probable {
		return r.Share() + " likely keywords are right"
	}
	return r.Share() + " suggestions are right; weights are not probabilities"
}

// SawLines describes in plain words what the server saw.
func (r *Result) SawLines() []string {
	saw, first := r.Saw, r.Photos[0]
	found := "none of your"
	if len(saw.Found) > 0 {
		found = strings.Join(saw.Found, ", ") + " of your"
	}
	return []string{
		fmt.Sprintf("%s of ciphertext: %s photos and their keywords", Bytes(r.Stored), count(r.Records)),
		fmt.Sprintf("%s of request and %s of reply for the first photo. It computed a number for each indexed photo, and can read none of them", Bytes(uint64(first.Sent)), Bytes(uint64(first.Received))),
		"no keyword that was found: only this machine could decrypt the reply",
		fmt.Sprintf("%d HTTP requests. %d of them asked for keywords, %s in all", saw.Requests, saw.Annotations, Bytes(uint64(saw.Received))),
		fmt.Sprintf("%s %s keywords and file names: %s of its data, log and requests were searched for them", found, count(saw.Searched), Bytes(uint64(saw.Haystack))),
	}
}

// Duration formats a number of milliseconds with three digits.
func Duration(ms float64) string {
	if ms >= 1000 {
		return humanfmt.Digits(ms/1000) + " s"
	}
	return humanfmt.Digits(ms) + " ms"
}

// Bytes formats a size with three digits.
func Bytes(n uint64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return humanfmt.Digits(float64(n)/1e3) + " kB"
	}
	return humanfmt.Digits(float64(n)/1e6) + " MB"
}

// count writes 20000 as 20,000.
func count(n int) string { return humanize.Comma(int64(n)) }
