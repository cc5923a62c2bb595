package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/album"
	"cpar/user/album/catalogue"
	"cpar/user/album/query"
	"cpar/user/device"
)

// A Seeker finds photos of an album that look like words or, if `words` is empty,
// like the photo in `file`. A call sends a request to the server of an index. For
// invalid words it sends none, and the error wraps cpar.ErrInput.
type Seeker interface {
	Seek(ctx context.Context, v *album.View, words string, file []byte) ([]album.Match, *album.Records, error)
}

// An Index is the Seeker of an index at a server. It opens the index for the first
// search.
type Index struct {
	// Open opens the index. It calls function ready before it sends anything that
	// depends on the search.
	Open func(ctx context.Context, ready func(*user.Owner) error) (*device.Index, error)
	// Prepare returns a function that makes the search.
	Prepare func(ctx context.Context, words string, file []byte) (func(*user.Owner) (*user.Search, error), error)

	mu      sync.Mutex // an index does not allow concurrent use
	index   *device.Index
	owner   *user.Owner // the generation of the index to which locate belongs
	locate  func(content [32]byte) []uint32
	records *album.Records // records of the photos in view
	view    *album.View
}

// Seek fetches the identities of records before the request. After the reply, the
// download would reveal to the server whether the reply was accepted.
func (x *Index) Seek(ctx context.Context, v *album.View, words string, file []byte) ([]album.Match, *album.Records, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	prepare, err := x.Prepare(ctx, words, file)
	if err != nil {
		return nil, nil, err
	}
	if x.index == nil {
		x.index, err = x.Open(ctx, func(o *user.Owner) error {
			_, err := prepare(o)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	found, err := x.index.Search(ctx, func(o *user.Owner) (*user.Search, error) {
		s, err := prepare(o)
		if err == nil && x.owner != o {
			x.owner, x.view = o, nil
			x.locate, err = x.index.Locate(ctx)
		}
		return s, err
	}, false)
	if err != nil {
		if !errors.Is(err, cpar.ErrInput) {
			x.index = nil // a push may have replaced it, so the next search opens it again
		}
		return nil, nil, err
	}
	if x.view != v {
		x.records, x.view = album.NewRecords(v.Photos, x.locate), v
	}
	return x.records.Matches(found.Hits), x.records, nil
}

// A search by likeness lists at most maxAlike photos. If it names a photo, the page
// shows firstAlike of them at first, because only words have a probability.
const (
	maxAlike   = 1000
	firstAlike = 60
)

// An alikeReply lists photos that look like a query or a photo. If the query is
// invalid, which is no failure while the user types, Wrong has the reason.
type alikeReply struct {
	shotList
	Likely    int    `json:"likely"` // number of rows to show at first
	Lacking   int    `json:"lacking"`
	Unindexed int    `json:"unindexed"`
	Wrong     string `json:"wrong,omitempty"`
	Hint      string `json:"hint,omitempty"`
}

// alike lists the photos that look like the words of a query, or like a photo,
// without those that the query finds by keywords.
func (a *albumPage) alike(r *http.Request, f struct {
	Query string `json:"query,omitempty"`
	Photo string `json:"photo,omitempty"`
}) (any, error) {
	if a.seeker == nil {
		return nil, fmt.Errorf("searching by likeness: %w: no index was named", cpar.ErrInput)
	}
	view := a.live.View()
	matches, records, shows, err := a.seek(r.Context(), view, f.Query, f.Photo)
	if errors.Is(err, cpar.ErrInput) {
		return alikeReply{Wrong: why(err), Hint: hint.Of(err)}, nil
	}
	if err != nil {
		return nil, err
	}
	reply, x := alikeReply{Lacking: records.Lacking, Unindexed: records.Unindexed}, &timeline{}
	for _, m := range matches {
		if !shows(m.Photo) || len(x.photos) == maxAlike {
			continue
		}
		x.photos = append(x.photos, m.Photo)
		if f.Photo == "" && m.Likely() || f.Photo != "" && len(x.photos) <= firstAlike {
			reply.Likely++
		}
	}
	reply.shotList = a.open(x, view)
	return reply, nil
}

// seek returns the matches in the index, and a test for the photos to show.
func (a *albumPage) seek(ctx context.Context, view *album.View, text, id string) (found []album.Match, of *album.Records, shows func(*catalogue.Photo) bool, err error) {
	if id != "" {
		p, err := a.photo(id)
		if err != nil {
			return nil, nil, nil, err
		}
		from, err := a.live.Original(ctx, p)
		if err != nil {
			return nil, nil, nil, err
		}
		defer from.Close()
		file, err := io.ReadAll(from)
		if err != nil {
			return nil, nil, nil, err
		}
		found, of, err = a.seeker.Seek(ctx, view, "", file)
		return found, of, func(o *catalogue.Photo) bool { return o.Key() != p.Key() }, err
	}
	tagged, err := query.Parse(text, a.related)
	if err != nil {
		return nil, nil, nil, err
	}
	asked, _ := query.Parse(text, nil)
	words, rest := asked.Split()
	if words == "" {
		return nil, nil, nil, fmt.Errorf("searching by likeness: %w: the search names no word", cpar.ErrInput)
	}
	if found, of, err = a.seeker.Seek(ctx, view, words, nil); err != nil {
		return nil, nil, nil, err
	}
	open := map[*catalogue.Photo]bool{}
	for _, p := range view.Find(rest) {
		open[p] = true
	}
	for _, p := range view.Find(tagged) {
		delete(open, p)
	}
	return found, of, func(p *catalogue.Photo) bool { return open[p] }, nil
}

// why returns the reason in an input error, without the operation that failed.
func why(err error) string {
	_, reason, ok := strings.Cut(err.Error(), cpar.ErrInput.Error()+": ")
	if !ok {
		return err.Error()
	}
	return reason
}
