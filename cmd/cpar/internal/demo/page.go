package demo

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"cpar/internal/durable"
	"cpar/user/rank"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"join":  func(words []string) string { return strings.Join(words, ", ") },
	"count": count,
	"bytes": func(n int) string { return Bytes(float64(n)) },
}).Parse(pageText))

// pageData is what the page shows, all of it made before.
type pageData struct {
	*Result
	PaperRecords int
	ProfileHead  []string
	Best         string // name of the profile that finds most; "" in doubt
	Looks        []look
	Cards        []card
	Tiles        []tile
	SawLines     []string
	SchemeHead   []string
	CaveatLines  []string
}

// A tile is one figure that sums the run up.
type tile struct{ Figure, Of, What string }

// A card is one new picture.
type card struct {
	Photo
	Shown, Noise picture
	Answers      []cardAnswer
	Near         []cardNear
	Sent         int
}

type cardAnswer struct {
	Answer
	Hits   int
	Missed []string
}

type cardNear struct {
	rank.Neighbour
	picture
}

// A look is one new picture as every profile sees it.
type look struct {
	Name, Title string
	Picture     picture
	// Says is who says the truth.
	Says    string
	Truth   []string
	Columns []lookColumn
}

type lookColumn struct {
	Suggestion
	Name string
	Of   int
}

// looks are the new pictures that are shown, with what each profile says.
func (r *Result) looks() []look {
	var out []look
	for _, p := range r.Photos {
		i := slices.IndexFunc(r.HeldOut, func(h HeldOut) bool { return h.Name == p.Name })
		if i < 0 {
			continue
		}
		h := r.HeldOut[i]
		l := look{Name: p.Name, Title: p.Title, Picture: p.picture, Says: "people wrote:", Truth: h.Truth}
		if r.painted {
			l.Says = "painted:"
		}
		for j, s := range h.Suggestions {
			l.Columns = append(l.Columns, lookColumn{s, r.Profiles[j].Name, len(h.Truth)})
		}
		out = append(out, l)
	}
	return out
}

// enough photos must be asked about before one profile is called the best.
const enough = 20

// best is the name of the profile that finds most, if it does so by more than
// chance.
func (r *Result) best() string {
	if len(r.Profiles) < 2 || len(r.HeldOut) < enough {
		return ""
	}
	sorted := slices.SortedFunc(slices.Values(r.Profiles), func(a, b Profile) int { return b.Found - a.Found })
	if lead := float64(sorted[0].Found - sorted[1].Found); lead <= r.Chance()*float64(len(r.HeldOut)) {
		return ""
	}
	return sorted[0].Name
}

// WritePage writes the result as one page that needs no other file.
func (r *Result) WritePage(path string) error {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, r.page()); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	if err := durable.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func (r *Result) page() pageData {
	d := pageData{Result: r, PaperRecords: paperRecords(), ProfileHead: profileHead, Best: r.best(), Looks: r.looks(),
		SawLines: r.SawLines(), SchemeHead: schemeHead, CaveatLines: strings.Split(r.Caveat(), "\n")}
	for _, p := range r.Photos {
		c := card{Photo: p, Shown: p.picture, Noise: noise(p.request, p.picture), Sent: len(p.request)}
		for _, a := range p.Answers[:withKeywords] {
			c.Answers = append(c.Answers, newCardAnswer(a, p.Truth))
		}
		for _, near := range p.Answers[0].Nearest {
			c.Near = append(c.Near, cardNear{near, r.thumbs[near.Record]})
		}
		d.Cards = append(d.Cards, c)
	}
	hit, said := r.Hits(0)
	same, places := 0, 0
	for _, g := range r.Agreement {
		same += g.Same
		places += g.Places
	}
	d.Tiles = []tile{
		{count(hit), fmt.Sprintf("of %d", said), "keywords are true"},
		{count(same), fmt.Sprintf("of %d", places), "places filled as without encryption"},
		{Bytes(float64(r.Photos[0].Answers[0].Sent)), "", "leave this machine for a picture"},
		{count(len(r.Saw.Found)), fmt.Sprintf("of %s", count(r.Saw.Searched)), "of your words and file names reached the cloud"},
	}
	return d
}

func newCardAnswer(a Answer, truth []string) cardAnswer {
	c := cardAnswer{Answer: a}
	found := map[string]bool{}
	for _, k := range a.Keywords {
		found[k.Word] = true
		if k.Correct {
			c.Hits++
		}
	}
	for _, w := range truth {
		if !found[w] {
			c.Missed = append(c.Missed, w)
		}
	}
	return c
}
