package demo

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Print writes the result for a terminal.
func (r *Result) Print(w io.Writer) {
	r.printProfiles(w)
	r.printPhotos(w)
	r.printSchemes(w)
	r.printCosts(w)
	r.printAgreement(w)
	r.printSaw(w)
}

func (r *Result) printProfiles(w io.Writer) {
	if len(r.Profiles) > 1 {
		fmt.Fprintf(w, "\nThe profiles side by side: what each looks at, and what it finds for a photo.\n\n")
		row := func(cells ...string) {
			line := "  " + pad(cells[0], 33)
			for i, c := range cells[1:] {
				line += " " + pad(c, max(10, utf8.RuneCountInString(profileHead[i])))
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
		row(append([]string{""}, profileHead...)...)
		for _, p := range r.Profiles {
			row(append([]string{p.Name}, p.Cells()...)...)
		}
		fmt.Fprintf(w, "\n  %s\n", wrap(r.BasedOn(), 76, "  "))
		fmt.Fprintf(w, "\n  %s\n", wrap(r.Ranking(), 76, "  "))
	}
	for _, x := range r.LeftOut {
		fmt.Fprintf(w, "\n  %s\n", wrap("Profile "+x.Profile+" was left out: "+x.Reason, 76, "  "))
	}
	if a := r.Advice(); a != "" {
		fmt.Fprintf(w, "\n  %s\n", wrap(a, 76, "  "))
	}
}

func (r *Result) printPhotos(w io.Writer) {
	fmt.Fprintf(w, "\nKeywords of the new pictures, scheme %s, %s; ✓ marks those that are true.\n", hero, r.chosenName())
	for i := range r.Photos {
		p := &r.Photos[i]
		name := p.Title
		if p.Title != p.Name {
			name += " (" + p.Name + ")"
		}
		fmt.Fprintf(w, "\n  %s\n", name)
		fmt.Fprintf(w, "    %-10s %s\n", "truth", strings.Join(p.Truth, ", "))
		for _, g := range groups(p.answer(hero).Keywords) {
			var words []string
			for _, k := range g.Keywords {
				mark := " "
				if k.Correct {
					mark = "✓"
				}
				words = append(words, mark+k.Word+" "+k.Figure())
			}
			fmt.Fprintf(w, "    %-10s %s\n", g.Name, strings.Join(words, "  "))
		}
		if len(p.answer(hero).Keywords) == 0 {
			fmt.Fprintf(w, "    nothing is likely enough\n")
		}
	}
	fmt.Fprintf(w, "\n  %s.\n", wrap(capital(r.scheme(hero).Text()), 76, "  "))
	if len(r.Profiles) == 1 {
		fmt.Fprintf(w, "  %s\n", wrap(r.Ranking(), 76, "  "))
	}
}

func (r *Result) printSchemes(w io.Writer) {
	fmt.Fprintf(w, "\nThe schemes side by side, %s; time and bytes for one picture, the median of %d:\n\n", r.chosenName(), len(r.Photos))
	row := func(name string, cells []string) {
		line := "  " + pad(name, 11)
		for i, c := range cells {
			line += " " + pad(c, max(10, utf8.RuneCountInString(schemeHead[i])))
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	row("", schemeHead)
	for _, s := range r.Schemes {
		row(s.Name, s.Cells())
	}
	fmt.Fprintf(w, "\n  What the cloud learnt of a picture:\n\n")
	for _, s := range r.Schemes {
		fmt.Fprintf(w, "  %s %s\n", pad(s.Name, 11), wrap(s.Learnt, 64, "              "))
	}
}

func (r *Result) printCosts(w io.Writer) {
	fmt.Fprintln(w)
	row := func(a, b, c string) { fmt.Fprintf(w, "  %s %s  %s\n", pad(a, 36), pad(b, 18), c) }
	row("Costs", "here, n = "+count(r.Records), "the paper, n = "+count(paperRecords()))
	for _, c := range r.Costs {
		row(c.Stage, c.HereText(), c.PaperText())
	}
	fmt.Fprintln(w, "\n  "+strings.ReplaceAll(r.Caveat(), "\n", "\n  "))
}

func (r *Result) chosenName() string {
	for kind, name := range names {
		if kind.String() == r.Chosen {
			return name
		}
	}
	return r.Chosen
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Caveat explains how the two columns compare.
func (r *Result) Caveat() string {
	return fmt.Sprintf("The paper's figures are for %s images on its machine, these for %s on this one.\n"+
		"Figures of one record or one request compare; forest and search grow with n.\n"+
		"Search is the whole HTTP round trip, the median of %d requests. All is of scheme cpar with\n"+
		"the paper's colours and textures.", count(paperRecords()), count(r.Records), len(r.Photos))
}

func (r *Result) printAgreement(w io.Writer) {
	fmt.Fprintf(w, "\nThe nearest, encrypted and computed in the clear, place by place:\n\n")
	for _, g := range r.Agreement {
		fmt.Fprintf(w, "  %-12s %-8s %d of %d alike\n", g.Search, g.Profile, g.Same, g.Places)
	}
}

func (r *Result) printSaw(w io.Writer) {
	fmt.Fprintf(w, "\nWhat the cloud saw:\n\n")
	for _, line := range r.SawLines() {
		fmt.Fprintf(w, "  - %s\n", wrap(line, 76, "    "))
	}
	fmt.Fprintf(w, "\n  two lines of its log, at level debug:\n\n")
	for _, line := range r.Saw.Log {
		fmt.Fprintf(w, "    %s\n", line)
	}
	fmt.Fprintf(w, "\n  Of cpar, ivf and capia it can tell how near every record is to each request, and when\n"+
		"  a picture is asked for twice. It cannot read pictures or keywords; but a cloud\n"+
		"  that knows some of the pictures, or guesses which collection it holds, can work\n"+
		"  out others. Of sealed and local it learns no such thing. See SECURITY.md.\n")
}

// SawLines describes the cloud's view in plain words.
func (r *Result) SawLines() []string {
	saw := r.Saw
	first := r.Photos[0].answer(hero)
	records := make([]string, 0, shownNear)
	for _, x := range saw.Returned[:min(shownNear, len(saw.Returned))] {
		records = append(records, fmt.Sprint(x))
	}
	lines := []string{
		fmt.Sprintf("of scheme %s %s of ciphertext: %s photos and their keywords", hero, Bytes(float64(r.scheme(hero).Stored)), count(r.Records)),
		fmt.Sprintf("of the first photo %s of request and %s of reply: a number for each of the %s photos, none of which it can read", Bytes(float64(first.Sent)), Bytes(float64(first.Received)), count(r.Records)),
		"nothing of what came of it: which photos are near, and which keywords they gave, was found out at home",
		fmt.Sprintf("asked by scheme cpar, which is here to be measured: that the nearest records are %s", strings.Join(records, ", ")),
		fmt.Sprintf("%d HTTP requests; %d of them asked for keywords, %s in all", saw.Requests, saw.Annotations, Bytes(float64(saw.Received))),
	}
	if len(saw.Found) == 0 {
		lines = append(lines, fmt.Sprintf("no word of yours: of %s keywords and file names, none is in the %s of its folder, log and requests", count(saw.Searched), Bytes(float64(saw.Haystack))))
	} else {
		lines = append(lines, fmt.Sprintf("of %s keywords and file names, these are in the %s of its folder, log and requests: %s",
			count(saw.Searched), Bytes(float64(saw.Haystack)), strings.Join(saw.Found, ", ")))
	}
	return lines
}

// wrap breaks a line at spaces and indents every line but the first.
func wrap(s string, width int, indent string) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + indent)
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// pad pads by characters, because fmt's %-*s would count bytes.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}
