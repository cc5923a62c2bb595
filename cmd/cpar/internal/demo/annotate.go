package demo

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/device"
)

// A search is a way to ask.
type search struct {
	name   string
	params cpar.Params // L is the index's own, or the paper's
}

// hero is the search that everything is shown of, that of the default scheme. peer is
// the one that the paper would show.
const hero, peer = "sealed", "cpar AP-10"

// searches are the schemes side by side, the default one first. All have indexes of
// the chosen profile.
var searches = []search{
	{hero, cpar.Params{Scheme: user.DefaultScheme, Approx: 1000}},
	{peer, cpar.Params{Scheme: cpar.SchemeCPAR, Approx: 100}},
	{"capia", cpar.Params{Scheme: cpar.SchemeCAPIA, Approx: 1000}},
	{"ivf AP-10", cpar.Params{Scheme: cpar.SchemeIVF, Search: cpar.SearchIVF, Approx: 100}},
	{"local", cpar.Params{Scheme: cpar.SchemeLocal, Approx: 1000}},
}

// paperSearches are those of the paper. Their costs are put beside the paper's, so they
// are asked of an index of its profile with its ranking.
var paperSearches = []search{
	{"cpar AP-100", cpar.Params{Scheme: cpar.SchemeCPAR, Approx: 1000}},
	{peer, cpar.Params{Scheme: cpar.SchemeCPAR, Approx: 100}},
	{"cpar AP-2.5", cpar.Params{Scheme: cpar.SchemeCPAR, Approx: 25}},
	{"capia", cpar.Params{Scheme: cpar.SchemeCAPIA, Approx: 1000}},
}

// A Photo is a new picture with what was found for it.
type Photo struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Truth   []string `json:"truth"`
	Answers []Answer `json:"answers"`

	path    string
	paper   []Answer // of paperSearches
	request []byte   // of the hero, as it was sent
	picture picture  // for the page
}

// answer is what a search found; the name is one of searches.
func (p *Photo) answer(name string) *Answer { return named(p.Answers, name) }

// nearest are the photos that are shown of those whose keywords count.
func (p *Photo) nearest() []rank.Neighbour {
	all := p.answer(hero).Nearest
	return all[:min(shownNear, len(all))]
}

// named is the answer of a search, empty if it was not asked.
func named(all []Answer, name string) *Answer {
	if i := slices.IndexFunc(all, func(a Answer) bool { return a.Search == name }); i >= 0 {
		return &all[i]
	}
	return &Answer{Search: name}
}

// An Answer is what one search found for a photo.
type Answer struct {
	Search   string    `json:"search"`
	Keywords []Keyword `json:"keywords"`
	// Nearest are the records whose keywords count, nearest first.
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
	Search  string `json:"search"`
	Profile string `json:"profile"`
	Same    int    `json:"same"`
	Places  int    `json:"places"`
}

// annotate asks for every new picture in every way.
func (s *session) annotate(ctx context.Context) error {
	ways := len(searches) + len(paperSearches)
	_, err := s.step(func() string {
		return fmt.Sprintf("annotate %d new pictures over HTTP, %d ways each", len(s.asked), ways)
	}, func() error {
		for i, it := range s.asked {
			p := Photo{Name: it.Name, Title: it.title, Truth: it.Keywords, path: it.Path}
			if err := s.askEveryWay(ctx, &p, it); err != nil {
				return err
			}
			s.result.Photos = append(s.result.Photos, p)
			s.tell("annotate", i+1, len(s.asked))
		}
		return nil
	})
	s.agree()
	return err
}

func (s *session) askEveryWay(ctx context.Context, p *Photo, it item) error {
	for _, how := range searches {
		a, sent, err := s.answer(ctx, s.indexes[indexOf(how.params.Scheme)], it, how)
		if err != nil {
			return err
		}
		if how.name == hero {
			p.request = sent
		}
		p.Answers = append(p.Answers, *a)
	}
	for _, how := range paperSearches {
		a, _, err := s.answer(ctx, s.paper, it, how)
		if err != nil {
			return err
		}
		p.paper = append(p.paper, *a)
	}
	return nil
}

// agree sums up how often the encrypted searches and those in the clear agree.
func (s *session) agree() {
	sum := func(how search, profile string, answers func(*Photo) []Answer) {
		g := Agreement{Search: how.name, Profile: profile}
		for i := range s.result.Photos {
			a := named(answers(&s.result.Photos[i]), how.name)
			g.Same += a.samePlaces
			g.Places += a.places
		}
		s.result.Agreement = append(s.result.Agreement, g)
	}
	for _, how := range searches {
		// What is searched in the clear, at home, leaves nothing to compare.
		if how.params.Scheme.CloudSearches() {
			sum(how, s.result.Chosen, func(p *Photo) []Answer { return p.Answers })
		}
	}
	for _, how := range paperSearches {
		if !slices.ContainsFunc(searches, func(other search) bool { return other.name == how.name }) {
			sum(how, s.paper.profile.String(), func(p *Photo) []Answer { return p.paper })
		}
	}
}

// ranking is what is shown of an index: where it knows probabilities, nothing that is
// less than maybe right.
func (s *session) ranking(x *indexed) user.Ranking {
	r := user.Ranking{MaxKeywords: s.Keywords}
	if x.probable() {
		r.MinProbability = maybeFrom
	}
	return r
}

// ask takes one photo the whole way and keeps a copy of the request, nil where
// nothing is sent.
func (s *session) ask(ctx context.Context, x *indexed, it item, p cpar.Params) (a *device.Annotated, sent []byte, err error) {
	all, err := x.opened.Annotate(ctx, []device.Photo{device.File(it.Path)}, device.AnnotateOptions{
		Params:  func(*device.Index) (cpar.Params, error) { return p, nil },
		Ranking: s.ranking(x),
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
	if err == nil && !x.probable() {
		a.Keywords = weighty(a.Keywords, len(a.Near))
	}
	return a, sent, err
}

// answer asks about a photo in one way, and in the same way in the clear.
func (s *session) answer(ctx context.Context, x *indexed, it item, how search) (a *Answer, sent []byte, err error) {
	params := how.params
	params.L = x.opened.DefaultParams().L
	got, sent, err := s.ask(ctx, x, it, params)
	if err != nil {
		return nil, nil, fmt.Errorf("annotating with %s: %w", how.name, err)
	}
	a = &Answer{
		Search: how.name, Keywords: marked(got.Keywords, it.Keywords), Nearest: got.Near,
		Sent: got.Sent, Received: got.Received, Visited: got.Visited, took: got.Took,
	}
	hits, err := x.twin.Search(got.Pending, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("searching in the clear: %w", err)
	}
	a.places = len(hits)
	for i, h := range hits {
		if i < len(a.Nearest) && a.Nearest[i].Record == h.Record {
			a.samePlaces++
		}
	}
	return a, sent, nil
}
