package demo

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/rank"
)

// A search is a way to ask. Of all searches the times and the agreement are
// measured; keywords are shown of the first three.
type search struct {
	name   string
	params cpar.Params
}

var searches = []search{
	{"cpar AP-10", cpar.Params{Scheme: cpar.SchemeCPAR, L: neighbours, Approx: 100}},
	{"capia", cpar.Params{Scheme: cpar.SchemeCAPIA, L: neighbours, Approx: 1000}},
	{"sealed", cpar.Params{Scheme: cpar.SchemeSealed, L: neighbours, Approx: 1000}},
	{"local", cpar.Params{Scheme: cpar.SchemeLocal, L: neighbours, Approx: 1000}},
	{"cpar AP-100", cpar.Params{Scheme: cpar.SchemeCPAR, L: neighbours, Approx: 1000}},
	{"cpar AP-2.5", cpar.Params{Scheme: cpar.SchemeCPAR, L: neighbours, Approx: 25}},
	{"ivf AP-10", cpar.Params{Scheme: cpar.SchemeIVF, Search: cpar.SearchIVF, L: neighbours, Approx: 100}},
}

// sideBySide is how many of the first searches are compared as schemes, and
// withKeywords of how many the keywords are shown: local computes as sealed does.
const sideBySide, withKeywords = 4, 3

// place is the place of a search among searches.
func place(name string) int {
	return slices.IndexFunc(searches, func(s search) bool { return s.name == name })
}

// A Photo is a new picture with what was found for it.
type Photo struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Truth   []string `json:"truth"`
	Answers []Answer `json:"answers"`

	path    string
	request []byte  // of the first search, as it was sent
	sealed  []byte  // of scheme sealed
	picture picture // for the page
}

// An Answer is what one search found for a photo.
type Answer struct {
	Search   string    `json:"search"`
	Keywords []Keyword `json:"keywords"`
	// Nearest are the records that the cloud returned, nearest first.
	Nearest  []rank.Neighbour `json:"nearest"`
	Sent     int              `json:"bytes_sent"`
	Received int              `json:"bytes_received"`
	Visited  uint32           `json:"records_visited"`

	took               device.Took
	samePlaces, places int
}

// An Agreement says how often the encrypted search puts the same record in the
// same place as the search in the clear.
type Agreement struct {
	Search string `json:"search"`
	Same   int    `json:"same"`
	Places int    `json:"places"`
}

// annotate asks for every new picture in every way.
func (s *session) annotate(ctx context.Context) error {
	total := len(s.asked) * len(searches)
	_, err := s.step(func() string {
		return fmt.Sprintf("annotate %d new pictures over HTTP, %d ways each", len(s.asked), len(searches))
	}, func() error {
		for i, it := range s.asked {
			p := Photo{Name: it.Name, Title: it.title, Truth: it.Keywords, path: it.Path}
			for j, how := range searches {
				a, err := s.answer(ctx, &p, it, how)
				if err != nil {
					return fmt.Errorf("annotating with %s: %w", how.name, err)
				}
				p.Answers = append(p.Answers, *a)
				s.tell("annotate", i*len(searches)+j+1, total)
			}
			s.result.Photos = append(s.result.Photos, p)
		}
		return nil
	})
	s.agree()
	return err
}

// agree sums up how often the encrypted searches and those in the clear agree.
func (s *session) agree() {
	for i, how := range searches {
		if !how.params.Scheme.CloudSearches() {
			continue // searched in the clear, at home: there is nothing to compare
		}
		g := Agreement{Search: how.name}
		for _, p := range s.result.Photos {
			g.Same += p.Answers[i].samePlaces
			g.Places += p.Answers[i].places
		}
		s.result.Agreement = append(s.result.Agreement, g)
	}
}

// ask takes one photo the whole way and keeps a copy of the request, nil where
// nothing is sent.
func (s *session) ask(ctx context.Context, x *indexed, it item, p cpar.Params) (a *device.Annotated, sent []byte, err error) {
	all, err := x.opened.Annotate(ctx, []device.Photo{device.File(it.Path)}, device.Walk{
		Params:  func(*device.Index) (cpar.Params, error) { return p, nil },
		Ranking: user.Ranking{Most: s.Keywords},
		Sending: func(_ int, q *cpar.Request) (err error) {
			if sent, err = q.MarshalBinary(); err == nil {
				s.sent = append(s.sent, sent)
			}
			return err
		},
	})
	if err == nil {
		a, err = &all[0], all[0].Err
	}
	return a, sent, err
}

// answer asks about a photo in one way, and in the same way in the clear.
func (s *session) answer(ctx context.Context, photo *Photo, it item, how search) (*Answer, error) {
	x := s.indexes[indexOf(how.params.Scheme)]
	got, sent, err := s.ask(ctx, x, it, how.params)
	if err != nil {
		return nil, err
	}
	if photo.request == nil {
		photo.request = sent
	}
	if how.params.Scheme == cpar.SchemeSealed {
		photo.sealed = sent
	}
	a := &Answer{
		Search: how.name, Keywords: marked(got.Keywords, it.Keywords), Nearest: got.Near,
		Sent: got.Sent, Received: got.Received, Visited: got.Visited, took: got.Took,
	}
	hits, err := x.twin.Search(got.Pending, nil)
	if err != nil {
		return nil, fmt.Errorf("searching in the clear: %w", err)
	}
	a.places = len(hits)
	for i, h := range hits {
		if i < len(a.Nearest) && a.Nearest[i].Record == h.Record {
			a.samePlaces++
		}
	}
	return a, nil
}
