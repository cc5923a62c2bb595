package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"regexp"
	"strings"
	"time"

	"cpar/eval"
	"cpar/internal/paper"
)

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// page is what the template shows.
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
	// Open tables are shown at once.
	Open bool
}

type shownFigure struct {
	Title, Caption string
	SVG            template.HTML
}

type shownSample struct {
	Name    string
	Picture template.URL
	// Lists are what was said, Human what a person said.
	Lists []shownWords
	Human []string
}

type shownWords struct {
	Title string
	Words []eval.Word
}

// Page is report.html: one file that loads nothing. data is the folder of the
// collection, for thumbnails; "" for none.
func Page(r *eval.Results, figures []Figure, data string) ([]byte, error) {
	b := builder{r: r, paper: paper.Values(), figures: map[string]Figure{}}
	for _, f := range figures {
		b.figures[f.Name] = f
	}
	p := page{Source: b.paper.Source, Machine: r.Machine, TheirMachine: b.paper.Machine, Tiles: b.tiles(), Failed: r.Failed}
	total := 0.0
	for _, s := range r.Steps {
		total += s.Seconds
		p.Steps = append(p.Steps, stepRow{s.Name, seconds(s.Seconds)})
	}
	p.Total = seconds(total)
	p.Sections = b.sections(data)
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
	r       *eval.Results
	paper   *paper.Paper
	figures map[string]Figure
	err     error
}

// show takes figures by the start of their names, in the order asked for.
func (b *builder) show(names ...string) []shownFigure {
	var out []shownFigure
	for _, name := range names {
		f, ok := b.figures[name]
		if !ok {
			continue
		}
		svg, err := f.svg()
		if err != nil {
			b.err = fmt.Errorf("drawing %s: %w", name, err)
			return nil
		}
		out = append(out, shownFigure{f.Title, f.Caption, inline(svg, f.Title)})
	}
	return out
}

// inline makes an SVG file part of a page: sized by the page, and coloured by
// its variables, so that it is dark where the page is.
func inline(svg []byte, title string) template.HTML {
	s := string(svg)
	s = s[strings.Index(s, "<svg"):]
	s = svgSize.ReplaceAllString(s, `<svg role="img" aria-label="`+template.HTMLEscapeString(title)+`" $1`)
	s = svgFont.ReplaceAllString(s, "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;font-variant:normal")
	s = svgEmptyGroup.ReplaceAllString(s, "")
	for hex, name := range variables() {
		s = strings.ReplaceAll(s, hex, "var(--"+name+")")
	}
	return template.HTML(s) // of our own drawing; text in it is escaped
}

var (
	svgSize       = regexp.MustCompile(`<svg width="[^"]*" height="[^"]*" (viewBox="[^"]*")`)
	svgFont       = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*`)
	svgEmptyGroup = regexp.MustCompile(`<!--[^>]*-->\n?`)
)

// variables are the page's names of the palette's colours.
func variables() map[string]string {
	names := map[string]string{hexOf(ink): "ink", hexOf(faint): "faint", hexOf(background): "card"}
	for i, name := range []string{"blue", "green", "orange", "grey", "purple", "red", "olive"} {
		names[hexOf(palette[i])] = name
	}
	return names
}

func hexOf(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// tiles are the figures a reader takes home.
func (b *builder) tiles() []tile {
	var out []tile
	r := b.r
	if r.AlphaGamma != nil {
		out = append(out, tile{number(r.AlphaGamma.Mean, 2) + " %", "error of the L1 approximation at α = 1, γ = 100", fmt.Sprintf("the paper: %s %%", number(b.paper.Number("jl_error").Value, 2))})
	}
	if r.Cost != nil {
		for _, row := range r.Cost.Rows {
			if row.Name == "cpar@10" {
				out = append(out, tile{number(float64(row.NS)/1e6, 1) + " ms", fmt.Sprintf("cloud time at AP-10, n = %s", thousands(r.Cost.Records)), fmt.Sprintf("%s times faster than our scan; visits alone would allow %s", number(row.Speedup, 1), number(row.Bound, 0))})
			}
		}
		out = append(out, tile{seconds(r.Cost.Build.Encrypt), fmt.Sprintf("to encrypt an index of %s", thousands(r.Cost.Records)), fmt.Sprintf("the paper: %s min", number(b.paper.Number("forest_encrypt").Value, 2))})
	}
	if r.Profiles != nil {
		out = append(out, profileTiles(r.Profiles)...)
	}
	if r.Sweep != nil {
		for _, row := range r.Sweep.Rows {
			if row.Name == "cpar@10" {
				out = append(out, tile{number(row.Relative.Value, 1) + " %", "of capia's accuracy at AP-10, the paper's protocol", fmt.Sprintf("95 %% interval %s to %s", number(row.Relative.Low, 1), number(row.Relative.High, 1))})
			}
		}
	}
	return out
}

func number(x float64, digits int) string { return fmt.Sprintf("%.*f", digits, x) }
