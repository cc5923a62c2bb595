package demo

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"cpar/internal/durable"
	"cpar/user"
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
	user.Neighbour
	picture
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
	d := pageData{Result: r, PaperRecords: paperRecords(), SawLines: r.SawLines(), SchemeHead: schemeHead, CaveatLines: strings.Split(r.Caveat(), "\n")}
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
