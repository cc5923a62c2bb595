package ui

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"cpar"
	"cpar/photo/metadata"
	"cpar/user/album"
	"cpar/user/album/catalogue"
	"cpar/user/album/query"
)

// A timeline is the result of a query. It stays the same while the page shows it.
type timeline struct{ photos []*catalogue.Photo }

// A span is a run of photos of one month.
type span struct {
	Month  string `json:"month"` // such as 2024-07, or "" for photos without a date
	Photos int    `json:"photos"`
}

type shot struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Folder string   `json:"folder"`
	Time   string   `json:"time,omitempty"` // by the camera's clock, such as 2024-07-16T12:30:00
	Camera string   `json:"camera,omitempty"`
	Place  string   `json:"place,omitempty"`
	Width  int      `json:"width,omitempty"`
	Height int      `json:"height,omitempty"`
	Bytes  int64    `json:"bytes"`
	Words  []string `json:"words"`
	// Maybe lists the suggestions that no person has accepted.
	Maybe []string `json:"maybe"`
}

// A shotList is the response for a timeline, with its first rows.
type shotList struct {
	Listing string `json:"listing"`
	Total   int    `json:"total"`
	Of      int    `json:"of"`
	Rows    []shot `json:"rows"`
}

// open stores a timeline under a new id and returns its first rows.
func (a *albumPage) open(x *timeline, view *album.View) shotList {
	id := randomName("l", 9)
	a.listings.Add(id, x)
	return shotList{id, len(x.photos), len(view.Photos), a.shots(x, 0, maxAtOnce)}
}

// list opens a timeline. If the query is incomplete, the response contains the
// reason instead, because an incomplete query is no error while the user types.
func (a *albumPage) list(_ *http.Request, f struct {
	Query string `json:"query,omitempty"`
}) (any, error) {
	view := a.live.View()
	x := &timeline{view.Photos}
	if strings.TrimSpace(f.Query) != "" {
		q, err := query.Parse(typed(f.Query), a.related)
		if err != nil {
			return struct {
				Wrong string `json:"wrong"`
			}{why(err)}, nil
		}
		x = &timeline{view.Find(q)}
	}
	return struct {
		shotList
		Spans []span `json:"spans"`
		// Alike reports whether the page can search by likeness.
		Alike bool `json:"alike"`
	}{a.open(x, view), x.spans(), a.seeker != nil}, nil
}

func (x *timeline) spans() []span {
	out := []span{}
	first, next := int64(0), int64(0) // beginnings of the current and the next month
	for _, p := range x.photos {
		if n := len(out); n > 0 && (p.Time == 0 && out[n-1].Month == "" || p.Time != 0 && first <= p.Time && p.Time < next) {
			out[n-1].Photos++
			continue
		}
		month := ""
		if p.Time != 0 {
			t := time.Unix(p.Time, 0).UTC()
			start := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
			month, first, next = start.Format("2006-01"), start.Unix(), start.AddDate(0, 1, 0).Unix()
		} else {
			first, next = 0, 0
		}
		out = append(out, span{month, 1})
	}
	return out
}

func (a *albumPage) rows(_ http.ResponseWriter, r *http.Request) (any, error) {
	x, ok := a.listings.Get(r.PathValue("listing"))
	if !ok {
		return nil, errListing
	}
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil {
		return nil, fmt.Errorf("listing photos: %w: %w", cpar.ErrInput, err)
	}
	return a.shots(x, from, maxRows), nil
}

// shots returns rows of a timeline with the newest keywords.
func (a *albumPage) shots(x *timeline, from, n int) []shot {
	from = min(max(from, 0), len(x.photos))
	out := []shot{}
	for _, p := range x.photos[from:min(len(x.photos), from+n)] {
		if now := a.live.Now(p); now != nil {
			p = now
		}
		s := shot{ID: a.id(p), Name: p.Name, Folder: p.Folder, Camera: p.Camera, Width: p.Width, Height: p.Height, Bytes: p.Size(), Words: []string{}, Maybe: []string{}}
		if p.Time != 0 {
			s.Time = time.Unix(p.Time, 0).UTC().Format("2006-01-02T15:04:05")
		}
		if p.Place != nil {
			s.Place = fmt.Sprintf("%.2f, %.2f", float64(p.Place.Lat)/1e5, float64(p.Place.Lon)/1e5)
		}
		for _, k := range p.Keywords {
			if k.Source == catalogue.Suggested {
				s.Maybe = append(s.Maybe, k.Word)
			} else {
				s.Words = append(s.Words, k.Word)
			}
		}
		out = append(out, s)
	}
	return out
}

// within returns the photos in the ranges of a request, with their newest rows. It
// fails if a photo has been moved or replaced since the page listed it.
func (a *albumPage) within(t tagging) (photos []*catalogue.Photo, err error) {
	x, ok := a.listings.Get(t.Listing)
	if !ok {
		return nil, errListing
	}
	for i, p := range x.photos {
		if !within(t.Only, i) {
			continue
		}
		now := a.live.Now(p)
		if now == nil {
			return nil, album.Moved(p)
		}
		photos = append(photos, now)
	}
	return photos, nil
}

// selected returns the keywords of the selected photos, the most frequent first.
func (a *albumPage) selected(_ *http.Request, t tagging) (any, error) {
	photos, err := a.within(t)
	if err != nil {
		return nil, err
	}
	type counted struct {
		Word   string `json:"word"`
		Photos int    `json:"photos"`
		// Maybe counts the photos for which the word is a suggestion.
		Maybe int `json:"maybe"`
	}
	at, all := map[string]int{}, []counted{}
	for _, p := range photos {
		for _, k := range p.Keywords {
			folded := metadata.Fold(k.Word)
			i, ok := at[folded]
			if !ok {
				i = len(all)
				at[folded], all = i, append(all, counted{Word: k.Word})
			}
			all[i].Photos++
			if k.Source == catalogue.Suggested {
				all[i].Maybe++
			}
		}
	}
	slices.SortStableFunc(all, func(a, b counted) int { return b.Photos - a.Photos })
	return struct {
		Photos int       `json:"photos"`
		Words  []counted `json:"words"`
	}{len(photos), all[:min(len(all), maxWords)]}, nil
}
