package demo

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"cpar"
	"cpar/user"
	"cpar/user/feature"
	"cpar/user/rank"
	"cpar/user/vector"
)

// A search is a way to ask. Of all searches the times and the agreement are
// measured; keywords are shown of the first three.
type search struct {
	name   string
	params cpar.Params
}

var searches = []search{
	{"cpar AP-10", cpar.Params{Scheme: cpar.SchemeCPAR, Search: cpar.SearchByRank, L: neighbours, Approx: 100}},
	{"capia", cpar.Params{Scheme: cpar.SchemeCAPIA, L: neighbours, Approx: 1000}},
	{"sealed", cpar.Params{Scheme: cpar.SchemeSealed, L: neighbours, Approx: 1000}},
	{"local", cpar.Params{Scheme: cpar.SchemeLocal, L: neighbours, Approx: 1000}},
	{"cpar AP-100", cpar.Params{Scheme: cpar.SchemeCPAR, Search: cpar.SearchByRank, L: neighbours, Approx: 1000}},
	{"cpar AP-2.5", cpar.Params{Scheme: cpar.SchemeCPAR, Search: cpar.SearchByRank, L: neighbours, Approx: 25}},
	{"lists AP-10", cpar.Params{Scheme: cpar.SchemeCPAR, Search: cpar.SearchIVF, L: neighbours, Approx: 100}},
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
	picture picture // for the page
}

// An Answer is what one search found for a photo.
type Answer struct {
	Search   string    `json:"search"`
	Keywords []Keyword `json:"keywords"`
	// Nearest are the records that the cloud returned, nearest first.
	Nearest  []user.Neighbour `json:"nearest"`
	Sent     int              `json:"bytes_sent"`
	Received int              `json:"bytes_received"`
	Visited  uint32           `json:"records_visited"`

	features, makeRequest, roundTrip, selection time.Duration
	samePlaces, places                          int
}

// A Keyword is one that was found, and whether a person gave it too.
type Keyword struct {
	rank.Keyword
	Correct bool `json:"correct"`
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
	extractor := feature.NewExtractor()
	total := len(s.asked) * len(searches)
	_, err := s.step(func() string {
		return fmt.Sprintf("annotate %d new pictures over HTTP, %d ways each", len(s.asked), len(searches))
	}, func() error {
		for i, it := range s.asked {
			p := Photo{Name: it.Name, Title: it.title, Truth: it.Keywords, path: it.Path}
			for j, how := range searches {
				a, err := s.ask(ctx, extractor, &p, how)
				if err != nil {
					return fmt.Errorf("annotating %s with %s: %w", it.Name, how.name, err)
				}
				p.Answers = append(p.Answers, *a)
				s.tell("annotate", i*len(searches)+j+1, total)
			}
			s.result.Photos = append(s.result.Photos, p)
		}
		return nil
	})
	for i, how := range searches {
		g := Agreement{Search: how.name}
		for _, p := range s.result.Photos {
			g.Same += p.Answers[i].samePlaces
			g.Places += p.Answers[i].places
		}
		if g.Places == 0 {
			continue // local: there is nothing to compare it with
		}
		s.result.Agreement = append(s.result.Agreement, g)
	}
	return err
}

// ask is the walk of one photo, with a stopwatch at every corner.
func (s *session) ask(ctx context.Context, extractor *feature.Extractor, photo *Photo, how search) (*Answer, error) {
	file, err := os.ReadFile(photo.path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	a := &Answer{Search: how.name}
	start := time.Now()
	lap := func(to *time.Duration) {
		*to = time.Since(start)
		start = time.Now()
	}
	features, err := extractor.Photo(file, feature.Options{})
	if err != nil {
		return nil, err
	}
	lap(&a.features)
	x := s.indexes[indexOf(how.params.Scheme)]
	var pending *user.Pending
	if how.params.Scheme == cpar.SchemeLocal {
		a.Nearest, err = x.owner.Nearest(features, neighbours)
		a.Visited = x.manifest.Records
	} else {
		pending, err = s.askCloud(ctx, x, photo, a, features, how.params, lap)
	}
	if err != nil {
		return nil, err
	}
	for _, w := range user.RankKeywords(a.Nearest, s.Keywords) {
		a.Keywords = append(a.Keywords, Keyword{w, slices.Contains(photo.Truth, w.Word)})
	}
	lap(&a.selection)
	v, err := x.builder.Vector(features)
	if err != nil {
		return nil, err
	}
	return a, x.compare(a, v, pending)
}

// askCloud sends a request and decrypts the reply.
func (s *session) askCloud(ctx context.Context, x *indexed, photo *Photo, a *Answer, features *feature.Vectors, p cpar.Params, lap func(*time.Duration)) (*user.Pending, error) {
	pending, request, err := x.owner.Request(features, p)
	if err != nil {
		return nil, err
	}
	lap(&a.makeRequest)
	reply, stats, err := s.client.Annotate(ctx, request)
	if err != nil {
		return nil, err
	}
	lap(&a.roundTrip)
	if a.Nearest, err = pending.Neighbours(reply); err != nil {
		return nil, err
	}
	a.Sent, a.Received, a.Visited = stats.Sent, stats.Received, reply.Visited
	if p.Scheme == cpar.SchemeSealed {
		a.Visited = x.manifest.Records
	}
	bytes, err := request.MarshalBinary()
	if err != nil {
		return nil, err
	}
	s.sent = append(s.sent, bytes)
	if photo.request == nil {
		photo.request = bytes
	}
	return pending, nil
}

// compare counts the places that the twin in the clear fills alike.
func (x *indexed) compare(a *Answer, v *vector.Vector, pending *user.Pending) error {
	if pending == nil {
		return nil // a search in the clear is all that it is
	}
	hits, err := x.twin.Search(v, pending, nil)
	if err != nil {
		return fmt.Errorf("searching in the clear: %w", err)
	}
	a.places = len(hits)
	for i, h := range hits {
		if i < len(a.Nearest) && a.Nearest[i].Record == h.Record {
			a.samePlaces++
		}
	}
	return nil
}
