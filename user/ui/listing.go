package ui

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"time"

	"cpar"
	"cpar/photo/metadata"
)

// A listing is an ordered selection of photos that stays the same while the user
// works on it. The page loads the visible part and refers to photos by position, so
// that messages stay small.
type listing struct {
	word string // the word whose suggestions the listing reviews, or ""
	rows []row
}

type row struct {
	photo *shelfPhoto
	c     candidate // the suggestion of listing.word, if any
}

const (
	maxListings = 24
	maxRows     = 500 // rows per call
)

// A filter selects photos. An empty field restricts nothing.
type filter struct {
	// Show is untagged, likely, maybe, or undecided.
	Show   string `json:"show,omitempty"`
	Word   string `json:"word,omitempty"` // a keyword or a suggestion
	Folder string `json:"folder,omitempty"`
	From   string `json:"from,omitempty"` // first modification date, such as 2026-11-25
	To     string `json:"to,omitempty"`
	// Review lists the photos for which Word is suggested, likeliest first.
	Review bool `json:"review,omitempty"`
	Faint  bool `json:"faint,omitempty"` // include suggestions below 25 %
	// At, if not "", is a photo's id. The page requests its position.
	At string `json:"at,omitempty"`
}

type entry struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Percent int    `json:"percent,omitempty"`
	Bar     int    `json:"bar,omitempty"`
	Sure    bool   `json:"sure,omitempty"`
	Mark    string `json:"mark,omitempty"`
}

func (s *Server) listPhotos(_ *http.Request, f filter) (any, error) {
	all, _ := s.photos.list()
	x, err := s.filter(all, f)
	if err != nil {
		return nil, err
	}
	id := randomName("l", 9)
	s.listings.Add(id, x)
	out := struct {
		Listing  string  `json:"listing"`
		Total    int     `json:"total"`
		At       int     `json:"at"`     // position of photo filter.At, or -1
		Likely   int     `json:"likely"` // number of rows with a likely suggestion of the reviewed word
		Surveyed int     `json:"surveyed"`
		Of       int     `json:"of"`
		LeftOut  int     `json:"left_out"`
		Rows     []entry `json:"rows"` // the first rows
	}{Listing: id, Total: len(x.rows), Surveyed: s.survey.progress(), Of: len(all), LeftOut: len(s.leftOut())}
	out.At = slices.IndexFunc(x.rows, func(r row) bool { return r.photo.id == f.At })
	threshold := s.backend.Settings().limit
	for _, r := range x.rows {
		if x.word != "" && r.c.sure(threshold) {
			out.Likely++
		}
	}
	out.Rows = s.entries(x, 0, maxAtOnce)
	return out, nil
}

func (s *Server) filter(all []*shelfPhoto, f filter) (*listing, error) {
	from, err := day(f.From, 0)
	if err != nil {
		return nil, err
	}
	to, err := day(f.To, 1)
	if err != nil {
		return nil, err
	}
	if f.Review && f.Word == "" {
		return nil, fmt.Errorf("listing photos: %w: no word was named", cpar.ErrInput)
	}
	test, err := s.shows(f)
	if err != nil {
		return nil, err
	}
	x := &listing{rows: make([]row, 0, len(all))}
	for _, p := range all {
		if f.Folder != "" && path.Dir(p.name) != f.Folder || !from.IsZero() && p.dated.Before(from) || !to.IsZero() && !p.dated.Before(to) {
			continue
		}
		if c, ok := test(p); ok {
			x.rows = append(x.rows, row{p, c})
		}
	}
	if f.Review {
		x.word = f.Word
		slices.SortStableFunc(x.rows, func(a, b row) int {
			return cmp.Or(cmp.Compare(b.c.probability, a.c.probability), cmp.Compare(b.c.bar, a.c.bar))
		})
	}
	return x, nil
}

// shows returns a test for the fields of a filter that depend on keywords. The test
// also returns the photo's suggestion of the filter's word.
func (s *Server) shows(f filter) (func(*shelfPhoto) (candidate, bool), error) {
	threshold, word := s.backend.Settings().limit, metadata.Fold(f.Word)
	is := map[string]func(*summary, Decision) bool{
		"":         func(*summary, Decision) bool { return true },
		"untagged": func(x *summary, d Decision) bool { return x != nil && len(x.yours)+len(d.Accept)+len(d.Add) == 0 },
		"likely": func(x *summary, d Decision) bool {
			return x.open(d, func(c candidate) bool { return c.sure(threshold) })
		},
		"maybe": func(x *summary, d Decision) bool {
			return x.open(d, func(c candidate) bool {
				return !c.sure(threshold) && !c.faint(threshold)
			})
		},
		"undecided": func(x *summary, d Decision) bool { return x.open(d, func(candidate) bool { return true }) },
	}[f.Show]
	if is == nil {
		return nil, fmt.Errorf("listing photos: %w: there is no filter %q", cpar.ErrInput, f.Show)
	}
	simple := f.Show == "" && f.Word == ""
	return func(p *shelfPhoto) (c candidate, ok bool) {
		if simple {
			return c, true
		}
		x := s.survey.get(p.id)
		if !is(x, s.decided.of(p.id)) {
			return c, false
		}
		if word == "" {
			return c, true
		}
		if x == nil {
			return c, false
		}
		for _, c := range x.words {
			if metadata.Fold(c.word) == word {
				return c, !f.Review || f.Faint || !c.faint(threshold)
			}
		}
		return c, !f.Review && has(x.yours, f.Word)
	}, nil
}

// open reports whether a photo has an undecided suggestion that satisfies `kind`.
func (x *summary) open(d Decision, kind func(candidate) bool) bool {
	return x != nil && slices.ContainsFunc(x.words, func(c candidate) bool { return kind(c) && d.mark(c.word) == "" })
}

// day parses a date and adds days. The zero time stands for an empty date.
func day(text string, add int) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	if err != nil {
		return t, fmt.Errorf("reading a date: %w: %w", cpar.ErrInput, err)
	}
	return t.AddDate(0, 0, add), nil
}

var errListing = fmt.Errorf("%w: this list is out of date", errUnknown)

func (s *Server) rows(_ http.ResponseWriter, r *http.Request) (any, error) {
	x, ok := s.listings.Get(r.PathValue("listing"))
	if !ok {
		return nil, errListing
	}
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil {
		return nil, fmt.Errorf("listing photos: %w: %w", cpar.ErrInput, err)
	}
	return s.entries(x, from, maxRows), nil
}

func (s *Server) entries(x *listing, from, n int) []entry {
	from = min(max(from, 0), len(x.rows))
	threshold := s.backend.Settings().limit
	out := []entry{}
	for _, r := range x.rows[from:min(len(x.rows), from+n)] {
		e := entry{ID: r.photo.id, Name: path.Base(r.photo.name)}
		if x.word != "" {
			e.Percent, e.Bar, e.Sure, e.Mark = r.c.percent(), int(r.c.bar), r.c.sure(threshold), s.decided.of(r.photo.id).mark(r.c.word)
		}
		out = append(out, e)
	}
	return out
}

func (s *Server) suggested(_ http.ResponseWriter, r *http.Request) (any, error) {
	prefix, all := metadata.Fold(r.URL.Query().Get("prefix")), s.groups()
	if prefix != "" {
		all = slices.DeleteFunc(all, func(g group) bool { return !hasPrefix(g.Word, prefix) })
	}
	photos, _ := s.photos.list()
	return struct {
		Words    []group `json:"words"`
		Total    int     `json:"total"`
		Surveyed int     `json:"surveyed"`
		Of       int     `json:"of"`
	}{all[:min(len(all), maxRows)], len(all), s.survey.progress(), len(photos)}, nil
}

func (s *Server) completed(_ http.ResponseWriter, r *http.Request) (any, error) {
	return struct {
		Words []string `json:"words"`
	}{s.complete(r.URL.Query().Get("prefix"), 10)}, nil
}

func (s *Server) folders() []string {
	all, _ := s.photos.list()
	out := []string{}
	for _, p := range all { // sorted by name
		if dir := path.Dir(p.name); len(out) == 0 || out[len(out)-1] != dir {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A leftOut names a file that the page cannot show or annotate, and the reason.
type leftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func (s *Server) unreadable(http.ResponseWriter, *http.Request) (any, error) {
	out := s.leftOut()
	return struct {
		Files []leftOut `json:"files"`
		Total int       `json:"total"`
	}{out[:min(len(out), maxRows)], len(out)}, nil
}

// leftOut lists the unreadable photos and Backend.Skipped.
func (s *Server) leftOut() []leftOut {
	out := []leftOut{}
	all, _ := s.photos.list()
	for _, p := range all {
		if why := s.survey.why(p.id); why != "" {
			out = append(out, leftOut{p.name, why})
		}
	}
	return append(out, s.backend.Skipped()...)
}
