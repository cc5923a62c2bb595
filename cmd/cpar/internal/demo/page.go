package demo

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"cpar/internal/durable"
	"cpar/model/profile"
	"cpar/model/rank"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"join":  func(words []string) string { return strings.Join(words, ", ") },
	"count": count,
	"bytes": func(n int) string { return Bytes(float64(n)) },
}).Parse(pageText))

// pageData is the input of the page's template.
type pageData struct {
	*Result
	PaperRecords int
	ProfileHead  []string
	Best         string // name of the best profile, "" in doubt
	Chosen       string // name of the chosen profile
	Hero         Scheme
	Painted      bool
	Measuring    bool // with this profile the peers are safe only for measuring
	Looks        []look
	Cards        []card
	Tiles        []tile
	SawLines     []string
	SchemeHead   []string
	CaveatLines  []string
}

// A tile is one summary figure.
type tile struct{ Figure, Of, What string }

// A card is one new photo.
type card struct {
	Photo
	Shown, Noise picture
	Hero         cardAnswer
	Peers        []cardAnswer
	Near         []cardNear
	Sent         int
}

type cardAnswer struct {
	Answer
	Groups []Group
	Count  Count
	Missed []string
}

type cardNear struct {
	rank.Neighbour
	picture
}

// A look is one new photo with the keywords of every profile.
type look struct {
	Name, Title string
	Picture     picture
	// Says is the text that introduces Truth.
	Says    string
	Truth   []string
	Columns []lookColumn
}

type lookColumn struct {
	Suggestion
	Name string // empty for a single profile
	Of   int
}

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
			c := lookColumn{Suggestion: s, Of: len(h.Truth)}
			if len(h.Suggestions) > 1 {
				c.Name = r.Profiles[j].Name
			}
			l.Columns = append(l.Columns, c)
		}
		out = append(out, l)
	}
	return out
}

// enough is the number of photos needed to call one profile the best.
const enough = 20

// best returns the position of the profile that finds the most keywords, or -1
// if its lead may be due to chance.
func (r *Result) best() int {
	if len(r.Profiles) < 2 || len(r.HeldOut) < enough {
		return -1
	}
	first, second := 0, -1
	for i := 1; i < len(r.Profiles); i++ {
		switch {
		case r.Profiles[i].Found > r.Profiles[first].Found:
			first, second = i, first
		case second < 0 || r.Profiles[i].Found > r.Profiles[second].Found:
			second = i
		}
	}
	if lead := float64(r.Profiles[first].Found - r.Profiles[second].Found); lead <= r.Chance()*float64(len(r.HeldOut)) {
		return -1
	}
	return first
}

// WritePage writes the result as one self-contained page.
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
	d := pageData{Result: r, PaperRecords: paperRecords(), ProfileHead: profileHead, Looks: r.looks(),
		Chosen: r.chosenName(), Hero: r.scheme(hero), Painted: r.painted, Measuring: r.Chosen != profile.Paper.String(),
		SawLines: r.SawLines(), SchemeHead: schemeHead, CaveatLines: strings.Split(r.Caveat(), "\n")}
	if i := r.best(); i >= 0 {
		d.Best = r.Profiles[i].Name
	}
	for i := range r.Photos {
		d.Cards = append(d.Cards, r.card(&r.Photos[i]))
	}
	same, places := 0, 0
	for _, g := range r.Agreement {
		same += g.Same
		places += g.Places
	}
	all := d.Hero.Count
	for _, p := range r.Profiles {
		if p.Profile == r.Chosen {
			all = p.Count // of all held-out photos
		}
	}
	right := tile{count(all.SureRight), "of " + count(all.Sure), "sure keywords are right"}
	if !all.Probable {
		right = tile{count(all.Found), "of " + count(all.Given), "keywords are right"}
	}
	d.Tiles = []tile{
		right,
		{count(same), "of " + count(places), "places filled as without encryption"},
		{Bytes(float64(r.Photos[0].answer(hero).Sent)), "", "leave this machine for a picture"},
		{count(len(r.Saw.Found)), fmt.Sprintf("of %s", count(r.Saw.Searched)), "of your words and file names reached the cloud"},
	}
	return d
}

// noiseBytes is the number of request bytes drawn. More would look the same and
// enlarge the page.
const noiseBytes = 12_288

func (r *Result) card(p *Photo) card {
	c := card{Photo: *p, Shown: p.picture, Noise: noise(p.request[:min(noiseBytes, len(p.request))], p.picture), Sent: len(p.request),
		Hero: newCardAnswer(p.answer(hero), p.Truth)}
	for _, name := range []string{peer, "capia"} {
		c.Peers = append(c.Peers, newCardAnswer(p.answer(name), p.Truth))
	}
	for _, near := range p.nearest() {
		c.Near = append(c.Near, cardNear{near, r.thumbs[near.Record]})
	}
	return c
}

func newCardAnswer(a *Answer, truth []string) cardAnswer {
	c := cardAnswer{Answer: *a, Groups: groups(a.Keywords)}
	c.Count.Probable = !slices.ContainsFunc(a.Keywords, func(k Keyword) bool { return k.Probability == 0 })
	c.Count.add(a.Keywords)
	for _, w := range truth {
		if !slices.ContainsFunc(a.Keywords, func(k Keyword) bool { return k.Word == w }) {
			c.Missed = append(c.Missed, w)
		}
	}
	return c
}
