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

// A search is one of the compared ways to search an index.
type search struct {
	name   string
	params cpar.Params // L comes from the index or the paper
}

// hero is the search of the default scheme, which every view uses. peer is the
// search of the paper.
const hero, peer = "sealed", "cpar AP-10"

// searches are the compared schemes, the default first. All have indexes of the
// chosen profile.
var searches = []search{
	{hero, cpar.Params{Scheme: user.DefaultScheme, Approx: 1000}},
	{peer, cpar.Params{Scheme: cpar.SchemeCPAR, Approx: 100}},
	{"capia", cpar.Params{Scheme: cpar.SchemeCAPIA, Approx: 1000}},
	{"ivf AP-10", cpar.Params{Scheme: cpar.SchemeIVF, Search: cpar.SearchIVF, Approx: 100}},
	{"local", cpar.Params{Scheme: cpar.SchemeLocal, Approx: 1000}},
}

// paperSearches are compared with the paper's costs, so they use an index with
// the paper's profile and ranking.
var paperSearches = []search{
	{"cpar AP-100", cpar.Params{Scheme: cpar.SchemeCPAR, Approx: 1000}},
	{peer, cpar.Params{Scheme: cpar.SchemeCPAR, Approx: 100}},
	{"cpar AP-2.5", cpar.Params{Scheme: cpar.SchemeCPAR, Approx: 25}},
	{"capia", cpar.Params{Scheme: cpar.SchemeCAPIA, Approx: 1000}},
}

// A Photo is a new photo with its answers.
type Photo struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Truth   []string `json:"truth"`
	Answers []Answer `json:"answers"`

	path    string
	paper   []Answer // from paperSearches
	request []byte   // of the hero, as sent
	picture picture  // for the page
}

func (p *Photo) answer(name string) *Answer { return named(p.Answers, name) }

// nearest returns the neighbours shown.
func (p *Photo) nearest() []rank.Neighbour {
	all := p.answer(hero).Nearest
	return all[:min(shownNear, len(all))]
}

// named returns the answer of a search, or an empty one.
func named(all []Answer, name string) *Answer {
	if i := slices.IndexFunc(all, func(a Answer) bool { return a.Search == name }); i >= 0 {
		return &all[i]
	}
	return &Answer{Search: name}
}

// An Answer is the result of one search for a photo.
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

// An Agreement counts the ranks at which the encrypted search and the search in
// the clear have the same record.
type Agreement struct {
	Search  string `json:"search"`
	Profile string `json:"profile"`
	Same    int    `json:"same"`
	Places  int    `json:"places"`
}

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

// agree sums up the agreement of encrypted searches and those in the clear.
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
		// If the device itself searches in the clear, there is nothing to
		// compare.
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

// ranking returns the options for an index. With probabilities, keywords below
// maybeFrom are left out.
func (s *session) ranking(x *indexed) user.Ranking {
	r := user.Ranking{MaxKeywords: s.Keywords}
	if x.probable() {
		r.MinProbability = maybeFrom
	}
	return r
}

// ask annotates one photo and keeps a copy of the request, or nil if nothing is
// sent.
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

// answer searches for a photo, encrypted and in the clear.
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
