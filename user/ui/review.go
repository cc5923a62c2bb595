package ui

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"cpar"
	"cpar/photo/metadata"
)

// An action is one decision of the user on any number of photos. Until the
// decision is written, a single undo reverts it.
type action struct {
	number  int
	changes []change
}

type change struct{ id, word, before, after string }

// maxActions bounds the actions that can be undone.
const maxActions = 100

// The type marks is the page's request to decide on part of a listing.
type marks struct {
	Listing string `json:"listing"`
	Mark    string `json:"mark"` // accept, reject, or "" for undecided
	// Only, if not null, lists the ranges of positions, [first, last], to which the
	// decision applies. Otherwise the decision applies to all photos without one.
	Only   [][2]int `json:"only,omitempty"`
	Except [][2]int `json:"except,omitempty"` // excluded ranges
	// Likely, if set, restricts the decision to likely keywords. Listings
	// without a word require Likely.
	Likely bool `json:"likely,omitempty"`
}

// The type pending counts decisions that are not yet written.
type pending struct {
	Photos   int `json:"photos"`
	Accepted int `json:"accepted"` // including words added by the user
	Rejected int `json:"rejected"`
}

func (d *decisions) pending() (n pending) {
	d.each(func(id string, x Decision) {
		if strings.HasPrefix(id, "p") { // dropped photos cannot be written
			n.Photos++
			n.Accepted += len(x.Accept) + len(x.Add)
			n.Rejected += len(x.Reject)
		}
	})
	return n
}

func (s *Server) mark(_ *http.Request, m marks) (any, error) {
	x, ok := s.listings.Get(m.Listing)
	if !ok {
		return nil, errListing
	}
	if x.word == "" && (m.Mark != "accept" || !m.Likely) {
		return nil, fmt.Errorf("deciding on photos: %w: without a word, only likely keywords can be accepted", cpar.ErrInput)
	}
	done, err := s.decided.markAll(s.changes(x, m))
	if err != nil {
		return nil, err
	}
	photos := map[string]bool{}
	for _, c := range done.changes {
		photos[c.id] = true
	}
	return struct {
		Action  int     `json:"action"`
		Photos  int     `json:"photos"`
		Words   int     `json:"words"`
		Pending pending `json:"pending"`
	}{done.number, len(photos), len(done.changes), s.decided.pending()}, nil
}

// changes returns the changes that decision m makes to the marks of a listing.
func (s *Server) changes(x *listing, m marks) (all []change) {
	threshold, folded := s.backend.Settings().limit, metadata.Fold(x.word)
	for i, r := range x.rows {
		if m.Only != nil && !within(m.Only, i) || within(m.Except, i) {
			continue
		}
		now := s.survey.get(r.photo.id)
		if now == nil {
			continue
		}
		d := s.decided.of(r.photo.id)
		for _, c := range now.words {
			if x.word != "" && metadata.Fold(c.word) != folded || m.Likely && !c.sure(threshold) {
				continue
			}
			if before := d.mark(c.word); before != m.Mark && (before == "" || m.Only != nil) {
				all = append(all, change{r.photo.id, c.word, before, m.Mark})
			}
		}
	}
	return all
}

func within(ranges [][2]int, i int) bool {
	return slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] <= i && i <= r[1] })
}

type undoing struct {
	Action int `json:"action"`
}

func (s *Server) unmark(_ *http.Request, which undoing) (any, error) {
	n, err := s.decided.unmark(which.Action)
	if err != nil {
		return nil, err
	}
	return struct {
		Words   int     `json:"words"`
		Pending pending `json:"pending"`
	}{n, s.decided.pending()}, nil
}

// waiting returns the numbers of unwritten decisions and of surveyed photos.
func (s *Server) waiting(http.ResponseWriter, *http.Request) (any, error) {
	all, _ := s.photos.list()
	return struct {
		pending
		Surveyed int `json:"surveyed"`
		Of       int `json:"of"`
		LeftOut  int `json:"left_out"`
	}{s.decided.pending(), s.survey.progress(), len(all), len(s.leftOut())}, nil
}

// write writes all decisions, or one photo's decisions and likely keywords, as one run.
func (s *Server) write(r *http.Request, which struct {
	ID  string `json:"id"`
	All bool   `json:"all"`
}) (any, error) {
	if which.All {
		all := []*shelfPhoto{}
		s.decided.each(func(id string, _ Decision) {
			if p, ok := s.photos.get(id); ok {
				all = append(all, p)
			}
		})
		slices.SortFunc(all, func(a, b *shelfPhoto) int {
			return cmp.Or(cmp.Compare(a.folder, b.folder), strings.Compare(a.name, b.name))
		})
		return s.writePhotos(r.Context(), all, false)
	}
	p, ok := s.photos.get(which.ID)
	if !ok {
		return nil, errUnknown
	}
	if _, err := s.photos.stat(p); err != nil { // the file may now be a link out of the folder
		return nil, err
	}
	out, err := s.writePhotos(r.Context(), []*shelfPhoto{p}, true)
	if err == nil && len(out.Failed) > 0 {
		err = out.Failed[0].err
	}
	return out, err
}

func (s *Server) writePhotos(ctx context.Context, all []*shelfPhoto, likely bool) (*Written, error) {
	var list []Change
	var photos []*shelfPhoto
	out := &Written{Added: []string{}, Failed: []Failed{}}
	for _, p := range all {
		if _, err := s.photos.stat(p); err != nil {
			out.Failed = append(out.Failed, Failed{p.name, err.Error(), err})
			continue
		}
		list = append(list, Change{p.path, s.decided.of(p.id), likely})
		photos = append(photos, p)
	}
	results, err := s.backend.Write(ctx, list)
	words := map[string]bool{}
	for i, r := range results {
		p := photos[i]
		if r.Err != nil {
			out.Failed = append(out.Failed, Failed{p.name, r.Err.Error(), r.Err})
			continue
		}
		s.decided.forget(p.id, list[i].Decision)
		s.lookAgain(p)
		for _, word := range r.Added {
			if !words[word] {
				words[word] = true
				out.Added = append(out.Added, word)
			}
		}
		if len(r.Files) > 0 {
			out.Photos++
			out.Files += len(r.Files)
			out.Run, out.File = r.Run, filepath.Base(r.Files[0])
		}
	}
	out.Pending = s.decided.pending()
	return out, err
}
