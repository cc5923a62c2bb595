package demo

import (
	_ "embed"
	"fmt"
	"html"
	"slices"
	"strings"

	"cpar/internal/durable"
)

//go:embed page.html
var pageText string

// A markup is HTML that needs no escaping.
type markup string

// fill returns a part of page.html with values in place of their names. It
// escapes every value that is not markup. Package html/template would call
// methods by name, so that the linker would keep all exported methods in cpar.
func fill(part string, pairs ...any) markup {
	_, text, _ := strings.Cut(pageText, "<!-- part "+part+" -->\n")
	text, _, _ = strings.Cut(text, "\n<!-- part ")
	var holes []string
	for pair := range slices.Chunk(pairs, 2) {
		value := fmt.Sprint(pair[1])
		if _, safe := pair[1].(markup); !safe {
			value = html.EscapeString(value)
		}
		holes = append(holes, "{{"+pair[0].(string)+"}}", value)
	}
	return markup(strings.NewReplacer(holes...).Replace(text))
}

func each[T any](list []T, show func(T) markup) (all markup) {
	for _, x := range list {
		all += show(x)
	}
	return all
}

// show returns the part that shows a picture, or nothing if there is none.
func (p picture) show(part string, words ...string) markup {
	if p.URL == "" {
		return ""
	}
	return fill(part, "url", p.URL, "width", p.Width, "height", p.Height, "words", strings.Join(words, ", "))
}

func (p Photo) groups() markup {
	all := p.Groups()
	if len(all) == 0 {
		return fill("nothing")
	}
	return each(all, func(g Group) markup {
		return fill("group", "name", g.Name, "keywords", each(g.Keywords, func(k Keyword) markup {
			part := "keyword"
			if k.Correct {
				part = "right keyword"
			}
			return fill(part, "word", k.Word, "figure", k.Figure())
		}))
	})
}

func (r *Result) card(p Photo) (missed markup) {
	if words := p.missed(); len(words) > 0 {
		missed = fill("missed", "words", strings.Join(words, ", "))
	}
	author := "people wrote"
	if r.Painted {
		author = "painted"
	}
	return fill("card", "picture", p.Picture.show("photo"), "groups", p.groups(), "author", author,
		"truth", strings.Join(p.Truth, ", "), "missed", missed, "near", each(p.Near, item.show))
}

func (i item) show() markup { return i.Picture.show("thumb", i.Keywords...) }

// WritePage writes the result as one self-contained page.
func (r *Result) WritePage(path string) error {
	first, records, found, were := r.Photos[0], count(r.Records), "None", "was"
	if r.Available > r.Records {
		records += " of the " + count(r.Available)
	}
	if len(r.Saw.Found) > 0 {
		found, were = strings.Join(r.Saw.Found, ", "), "were"
	}
	kind, numbers := "suggestions", fill("weights")
	if r.Probable {
		kind, numbers = "likely keywords", fill("probabilities")
	}
	has, try := "people gave the photo too", markup("")
	if r.Painted {
		has, try = "the painted photo has", fill("try")
	}
	page := fill("page", "records", records, "collection", r.Collection, "words", count(r.Words), "photos", len(r.Photos),
		"share", r.Share(), "kind", kind, "request", Bytes(uint64(first.Sent)), "hits", len(r.Saw.Found), "searched", count(r.Saw.Searched),
		"album", each(r.Album, item.show), "has", has, "numbers", numbers, "cards", each(r.Photos, r.card),
		"view", first.Picture.show("view"), "groups", first.groups(), "noise", noise(first.request[:min(noiseBytes, len(first.request))], first.Picture).show("noise"),
		"found", found, "were", were, "try", try, "figures", r.figures(), "log", strings.Join(r.Saw.Log, "\n"),
		"saw", each(r.SawLines(), func(s string) markup { return fill("line", "text", s) }))
	if err := durable.WriteFile(path, []byte(page), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// noiseBytes is the number of bytes of a request that the page draws as pixels.
// More would look the same and enlarge the page.
const noiseBytes = 12_288

// missed returns the keywords that people gave and Run did not find.
func (p Photo) missed() []string {
	return slices.DeleteFunc(slices.Clone(p.Truth), func(w string) bool {
		return slices.ContainsFunc(p.Keywords, func(k Keyword) bool { return k.Word == w })
	})
}

type Group struct {
	Name     string
	Keywords []Keyword
}

// Groups returns the non-empty groups among "likely", "maybe" and "by weight".
func (p Photo) Groups() []Group {
	all := []Group{{Name: "likely"}, {Name: "maybe"}, {Name: "by weight"}}
	for _, k := range p.Keywords {
		g := &all[1]
		switch {
		case k.Sure:
			g = &all[0]
		case k.Probability == 0:
			g = &all[2]
		}
		g.Keywords = append(g.Keywords, k)
	}
	return slices.DeleteFunc(all, func(g Group) bool { return len(g.Keywords) == 0 })
}

// Share returns, as "12 of 20", the number of right keywords among the likely
// ones, or among all keywords if there are no probabilities.
func (r *Result) Share() string {
	right, given := 0, 0
	for _, p := range r.Photos {
		for _, k := range p.Keywords {
			if k.Sure == r.Probable {
				given++
				if k.Correct {
					right++
				}
			}
		}
	}
	return fmt.Sprintf("%d of %d", right, given)
}

// figures returns the sizes and times of the run, as rows of a table.
func (r *Result) figures() (rows markup) {
	sent, received := 0, 0
	for _, p := range r.Photos {
		sent += p.Sent
		received += p.Received
	}
	n := len(r.Photos)
	for _, row := range [][2]string{
		{"how photos are compared", "profile " + r.Profile},
		{"encrypted index", Bytes(r.Stored)},
		{"of this, for each indexed photo", Bytes(r.Stored / uint64(r.Records))},
		{"downloaded once by a device with the key", Bytes(r.Fetched)},
		{"sent for each new photo", Bytes(uint64(sent / n))},
		{"received for each new photo", Bytes(uint64(received / n))},
		{"encryption and decryption on this machine, for each new photo", Duration(r.DeviceMS)},
		{"search by the server and transfer, for each new photo", Duration(r.CloudMS)},
	} {
		rows += fill("figure", "what", row[0], "value", row[1])
	}
	return rows
}
