package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"time"

	"cpar/eval"
	"cpar/eval/plot"
	"cpar/internal/paper"
)

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// page is the template's data.
type page struct {
	Source, Machine, TheirMachine string
	Tiles                         []tile
	Sections                      []section
	Failed                        []eval.Failure
	Steps                         []stepRow
	Total                         string
}

type tile struct{ Value, What, Note string }

type stepRow struct{ Name, Took string }

type section struct {
	ID, Title string
	Text      []template.HTML
	Figures   []shownFigure
	Samples   []shownSample
	Tables    []eval.Table
	// Open says that the tables are initially shown.
	Open bool
}

type shownFigure struct {
	Title, Caption string
	SVG            template.HTML
}

type shownSample struct {
	Name    string
	Picture template.URL
	// Lists are the given words, Human those from a person.
	Lists []shownWords
	Human []string
}

type shownWords struct {
	Title string
	Words []eval.SampleKeyword
}

// Page returns report.html: a single file that loads nothing. data is the folder of the
// collection, for thumbnails; "" for none.
func Page(r *eval.Results, data string) ([]byte, error) {
	b := builder{r: r, data: data, paper: paper.Values()}
	p := page{Source: b.paper.Source, Machine: r.Machine, TheirMachine: b.paper.Machine, Tiles: b.tiles(), Failed: r.Failed}
	total := 0.0
	for _, s := range r.Steps {
		total += s.Seconds
		p.Steps = append(p.Steps, stepRow{s.Name, seconds(s.Seconds)})
	}
	p.Total = seconds(total)
	p.Sections = b.sections()
	if b.err != nil {
		return nil, fmt.Errorf("making the page: %w", b.err)
	}
	var buf bytes.Buffer
	if err := pageTemplate.Execute(&buf, p); err != nil {
		return nil, fmt.Errorf("making the page: %w", err)
	}
	return buf.Bytes(), nil
}

func seconds(s float64) string {
	if s < 10 {
		return fmt.Sprintf("%.1f s", s)
	}
	return (time.Duration(s) * time.Second).String()
}

type builder struct {
	r     *eval.Results
	data  string
	paper *paper.Paper
	err   error
}

// show draws the figures of a result, either those with the given names or all.
func (b *builder) show(x eval.Result, names ...string) []shownFigure {
	drawn, ok := x.(eval.Drawn)
	if !ok {
		return nil
	}
	var out []shownFigure
	for _, f := range drawn.Figures(b.r) {
		if len(names) > 0 && !slices.Contains(names, f.Name) {
			continue
		}
		svg, err := f.SVG()
		if err != nil {
			b.err = fmt.Errorf("drawing %s: %w", f.Name, err)
			return nil
		}
		out = append(out, shownFigure{f.Title, f.Caption, inline(svg, f.Title)})
	}
	return out
}

// inline makes an SVG file part of a page: sized by the page, and coloured by its
// variables, so that it follows the page's dark mode.
func inline(svg []byte, title string) template.HTML {
	s := string(svg)
	s = s[strings.Index(s, "<svg"):]
	s = svgSize.ReplaceAllString(s, `<svg role="img" aria-label="`+template.HTMLEscapeString(title)+`" $1`)
	s = svgFont.ReplaceAllString(s, "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;font-variant:normal")
	s = svgEmptyGroup.ReplaceAllString(s, "")
	for hex, name := range plot.Colours() {
		s = strings.ReplaceAll(s, hex, "var(--"+name+")")
	}
	return template.HTML(s) // we drew it; text in it is escaped
}

var (
	svgSize       = regexp.MustCompile(`<svg width="[^"]*" height="[^"]*" (viewBox="[^"]*")`)
	svgFont       = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*`)
	svgEmptyGroup = regexp.MustCompile(`<!--[^>]*-->\n?`)
)

// tiles are the headline figures.
func (b *builder) tiles() []tile {
	var out []tile
	if a := eval.Of[*eval.AlphaGamma](b.r); a != nil {
		out = append(out, tile{number(a.Mean, 2) + " %", "error of the L1 approximation at α = 1, γ = 100", fmt.Sprintf("the paper: %s %%", number(b.paper.Number("jl_error").Value, 2))})
	}
	if c := eval.Of[*eval.Cost](b.r); c != nil {
		for _, row := range c.Rows {
			if row.Name == "cpar@10" {
				out = append(out, tile{number(float64(row.NS)/1e6, 1) + " ms", fmt.Sprintf("cloud time at AP-10, n = %s", eval.FormatThousands(c.Records)), fmt.Sprintf("%s times faster than our scan; visits alone would allow %s", number(row.Speedup, 1), number(row.Bound, 0))})
			}
		}
		out = append(out, tile{seconds(c.Build.Encrypt), fmt.Sprintf("to encrypt an index of %s", eval.FormatThousands(c.Records)), fmt.Sprintf("the paper: %s min", number(b.paper.Number("forest_encrypt").Value, 2))})
	}
	if p := eval.Of[*eval.Profiles](b.r); p != nil {
		out = append(out, profileTiles(p)...)
	}
	if s := eval.Of[*eval.Sweep](b.r); s != nil {
		for _, row := range s.Rows {
			if row.Name == "cpar@10" {
				out = append(out, tile{number(row.Relative.Value, 1) + " %", "of capia's accuracy at AP-10, the paper's protocol", fmt.Sprintf("95 %% interval %s to %s", number(row.Relative.Low, 1), number(row.Relative.High, 1))})
			}
		}
	}
	return out
}

func number(x float64, digits int) string { return fmt.Sprintf("%.*f", digits, x) }
