package ui

import (
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"sort"

	"cpar"
	"cpar/model/rank"
	"cpar/photo/metadata"
)

type view struct {
	ID      string `json:"id"`
	Name    string `json:"name"`   // name of the file
	Folder  string `json:"folder"` // below the opened folder
	Dropped bool   `json:"dropped,omitempty"`
	Asked   bool   `json:"asked"`
	// Yours holds the keywords that people entered.
	Yours    []string     `json:"yours"`
	Machine  []string     `json:"machine"`  // written by runs, not accepted
	Rejected []string     `json:"rejected"` // never suggested again
	Added    []string     `json:"added"`    // words added but not yet written
	Words    []suggestion `json:"words"`
	Near     []neighbour  `json:"near"`
	Problems []string     `json:"problems"`
	Pending  bool         `json:"pending"` // some decision is not yet written
	Own      bool         `json:"own"`     // see Settings
}

type suggestion struct {
	Word string `json:"word"`
	// Percent is the probability, or 0 if the ranker has none.
	Percent int    `json:"percent"`
	Bar     int    `json:"bar"` // length of the bar on the page, in percent
	Sure    bool   `json:"sure"`
	Mark    string `json:"mark"`    // accept, reject, or ""
	Written bool   `json:"written"` // already in the file
}

// A neighbour is a similar photo of the collection that contributed keywords.
type neighbour struct {
	Bar      int      `json:"bar"` // nearness in percent, 100 for the nearest neighbour
	Distance float64  `json:"distance"`
	Keywords []string `json:"keywords"`
	// Photo is the photo's id if it is in the opened folders.
	Photo string `json:"photo,omitempty"`
	Name  string `json:"name,omitempty"` // name of this photo's file
}

func (s *Server) view(id string) (*view, error) {
	v := &view{ID: id}
	var known *Known
	if x, ok := s.dropped.by.Get(id); ok {
		v.Name, v.Dropped = x.name, true
		known = &x.known
	} else {
		p, ok := s.photos.get(id)
		if !ok {
			return nil, errUnknown
		}
		v.Name, v.Folder = path.Base(p.name), path.Dir(p.name)
		var err error
		if known, err = s.lookAt(p); err != nil {
			return nil, err
		}
		s.survey.put(id, known)
	}
	d := s.decided.of(id)
	v.Asked, v.Pending, v.Own = known.Asked, !d.empty(), s.backend.Settings().Own
	v.Yours, v.Machine, v.Rejected = listed(known.Yours), listed(known.Machine), listed(known.Rejected)
	v.Added, v.Problems = listed(d.Add), listed(known.Problems)
	v.Words = s.suggestions(known, d)
	v.Near = neighbours(known.Near)
	s.survey.mu.RLock()
	defer s.survey.mu.RUnlock()
	for i, n := range known.Near {
		if p := s.survey.records[n.Record]; p != nil {
			v.Near[i].Photo, v.Near[i].Name = p.id, path.Base(p.name)
		}
	}
	return v, nil
}

// listed returns a non-nil copy, so that JSON shows [] instead of null.
func listed(words []string) []string { return append([]string{}, words...) }

func (s *Server) suggestions(known *Known, d Decision) []suggestion {
	threshold := s.backend.Settings().limit
	words := []suggestion{}
	for _, c := range candidates(known) {
		words = append(words, suggestion{Word: c.word, Percent: c.percent(), Bar: int(c.bar), Sure: c.sure(threshold), Mark: d.mark(c.word), Written: c.written})
	}
	sort.SliceStable(words, func(i, j int) bool {
		a, b := words[i], words[j]
		return a.Sure && !b.Sure || a.Sure == b.Sure && a.Percent > b.Percent
	})
	return words
}

func neighbours(near []rank.Neighbour) []neighbour {
	out := []neighbour{}
	for _, n := range near {
		x := neighbour{Distance: max(0, n.Dis), Keywords: listed(n.Keywords), Bar: 100}
		if nearest := max(0, near[0].Dis); x.Distance > 0 {
			x.Bar = int(100 * nearest / x.Distance)
		}
		out = append(out, x)
	}
	return out
}

type oneMark struct {
	ID   string `json:"id"`
	Word string `json:"word"`
	Mark string `json:"mark"`
}

func (s *Server) decide(_ *http.Request, m oneMark) (any, error) {
	v, err := s.view(m.ID)
	if err != nil {
		return nil, err
	}
	if m.Mark == "add" {
		switch i := slices.IndexFunc(v.Words, func(x suggestion) bool { return metadata.Fold(x.Word) == metadata.Fold(m.Word) }); {
		case i >= 0:
			m.Word, m.Mark = v.Words[i].Word, "accept"
		case has(v.Yours, m.Word):
			return v, nil // the photo has this keyword
		}
	}
	if err := s.decided.mark(m.ID, m.Word, m.Mark); err != nil {
		return nil, err
	}
	return s.view(m.ID)
}

// picture responds with a small or large thumbnail, upright and without metadata.
func (s *Server) picture(w http.ResponseWriter, r *http.Request) {
	id, side := r.PathValue("id"), smallSide
	if r.URL.Query().Get("size") == "large" {
		side = largeSide
	}
	name, read := id, func() ([]byte, error) { return nil, errUnknown }
	if x, ok := s.dropped.by.Get(id); ok {
		read = func() ([]byte, error) { return x.data, nil }
	} else if p, ok := s.photos.get(id); ok {
		info, err := s.photos.stat(p)
		if err != nil {
			fail(w, err)
			return
		}
		name += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
		read = func() ([]byte, error) { return s.photos.read(p) }
	}
	made, err := s.thumbs.get(name, side, read)
	if err != nil {
		if _, ok := s.photos.get(id); ok {
			s.survey.outcome(id, err)
		}
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "image/jpeg")
	w.Write(made)
}

func (s *Server) sidecar(w http.ResponseWriter, r *http.Request) {
	x, ok := s.dropped.by.Get(r.PathValue("id"))
	if !ok {
		fail(w, errUnknown)
		return
	}
	b, err := s.backend.Sidecar(x.name, x.data, &x.known, s.decided.of(x.id))
	if err == nil && len(b) == 0 {
		err = fmt.Errorf("%w: there is nothing to write beside this photo", cpar.ErrInput)
	}
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/rdf+xml")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": x.name + ".xmp"}))
	w.Write(b)
}
