package demo

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"cpar/internal/durable"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"join":  func(words []string) string { return strings.Join(words, ", ") },
	"count": count,
}).Parse(pageText))

// WritePage writes the result as one self-contained page.
func (r *Result) WritePage(path string) error {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, r); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	if err := durable.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// noiseBytes is the number of bytes of a request that the page draws as pixels.
// More would look the same and enlarge the page.
const noiseBytes = 12_288

func (p Photo) Noise() picture { return noise(p.request[:min(noiseBytes, len(p.request))], p.Picture) }

// Missed returns the keywords that people gave and Run did not find.
func (p Photo) Missed() []string {
	return slices.DeleteFunc(slices.Clone(p.Truth), func(w string) bool {
		return slices.ContainsFunc(p.Keywords, func(k Keyword) bool { return k.Word == w })
	})
}

// A Group is a list of keywords under one heading.
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

type Figure struct{ What, Value string }

// Figures returns the sizes and times of the run.
func (r *Result) Figures() []Figure {
	sent, received := 0, 0
	for _, p := range r.Photos {
		sent += p.Sent
		received += p.Received
	}
	n := len(r.Photos)
	return []Figure{
		{"how photos are compared", "profile " + r.Profile},
		{"encrypted index", Bytes(r.Stored)},
		{"of this, for each indexed photo", Bytes(r.Stored / uint64(r.Records))},
		{"downloaded once by a device with the key", Bytes(r.Fetched)},
		{"sent for each new photo", Bytes(uint64(sent / n))},
		{"received for each new photo", Bytes(uint64(received / n))},
		{"encryption and decryption on this machine, for each new photo", Duration(r.DeviceMS)},
		{"search by the server and transfer, for each new photo", Duration(r.CloudMS)},
	}
}

func (r *Result) Request() string { return Bytes(uint64(r.Photos[0].Sent)) }
