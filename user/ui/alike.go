package ui

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/album"
	"cpar/user/album/catalogue"
	"cpar/user/album/query"
	"cpar/user/device"
)

// A Seeker finds photos of an album that look like words or, if the words are
// empty, like a photo, given as the bytes of its file. Every call sends a request to
// the server of an index. Errors in the words wrap cpar.ErrInput and send nothing.
type Seeker interface {
	Seek(ctx context.Context, v *album.View, words string, file []byte) (*Alike, error)
}

// Alike is the result of a Seeker.
type Alike struct {
	Matches []album.Match
	// No search finds photos of these numbers. See album.Records.
	Lacking, Unindexed int
}

// An Index is the Seeker of an index at a server. It opens the index for the first
// search.
type Index struct {
	// Open opens the index. It calls ready before it sends anything that depends on
	// the search.
	Open func(ctx context.Context, ready func(*user.Owner) error) (*device.Index, error)
	// Prepare returns a function that makes the search.
	Prepare func(ctx context.Context, words string, file []byte) (func(*user.Owner) (*user.Search, error), error)

	mu     sync.Mutex // an index does not allow concurrent use
	index  *device.Index
	owner  *user.Owner // the generation of the index that locate is for
	locate func(content [32]byte) []uint32
	// The records are those of a view in a generation of the index.
	records *album.Records
	view    *album.View
}

// Seek fetches the identities of records before the request. After the reply, that
// download would tell the server whether the reply was accepted.
func (x *Index) Seek(ctx context.Context, v *album.View, words string, file []byte) (*Alike, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	prepare, err := x.Prepare(ctx, words, file)
	if err != nil {
		return nil, err
	}
	if x.index == nil {
		x.index, err = x.Open(ctx, func(o *user.Owner) error {
			_, err := prepare(o)
			return err
		})
		if err != nil {
			return nil, err
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
		return nil, err
	}
	if x.view != v {
		x.records, x.view = album.NewRecords(v.Photos, x.locate), v
	}
	return &Alike{x.records.Matches(found.Hits), x.records.Lacking, x.records.Unindexed}, nil
}

// Numbers of photos that a search by likeness lists, and of those that the page
// shows at first if the search names a photo. Only words have a probability.
const (
	maxAlike   = 1000
	firstAlike = 60
)

// An alikeReply lists photos that look like a query or a photo. If the query cannot
// be asked, it has the reason instead, which is no failure while the user types.
type alikeReply struct {
	shotList
	Likely    int    `json:"likely"` // number of rows to show at first
	Lacking   int    `json:"lacking"`
	Unindexed int    `json:"unindexed"`
	Wrong     string `json:"wrong,omitempty"`
	Hint      string `json:"hint,omitempty"`
}

// alike lists the photos that look like the words of a query, or like a photo. The
// photos that the query finds by keywords are left out.
func (a *albumPage) alike(w http.ResponseWriter, r *http.Request) (any, error) {
	f, err := body[struct {
		Query string `json:"query,omitempty"`
		Photo string `json:"photo,omitempty"`
	}](w, r)
	if err != nil {
		return nil, err
	}
	if a.seeker == nil {
		return nil, fmt.Errorf("searching by likeness: %w: no index was named", cpar.ErrInput)
	}
	view := a.live.View()
	found, skip, err := a.seek(r.Context(), view, f.Query, f.Photo)
	if code := exitcode.Of(err); err != nil && r.Context().Err() == nil && (code == exitcode.Input || code == exitcode.Usage) {
		return alikeReply{Wrong: why(err), Hint: hint.Of(err)}, nil
	}
	if err != nil {
		return nil, err
	}
	reply, x := alikeReply{Lacking: found.Lacking, Unindexed: found.Unindexed}, &timeline{}
	for _, m := range found.Matches {
		if skip(m.Photo) || len(x.photos) == maxAlike {
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

// seek returns what the index finds, and a test for photos to leave out.
func (a *albumPage) seek(ctx context.Context, view *album.View, text, id string) (*Alike, func(*catalogue.Photo) bool, error) {
	if id != "" {
		p, err := a.photo(id)
		if err != nil {
			return nil, nil, err
		}
		from, err := a.live.Original(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		defer from.Close()
		file, err := io.ReadAll(from)
		if err != nil {
			return nil, nil, err
		}
		found, err := a.seeker.Seek(ctx, view, "", file)
		return found, func(o *catalogue.Photo) bool { return o.Key() == p.Key() }, err
	}
	q, err := query.Parse(text, a.related)
	if err != nil {
		return nil, nil, err
	}
	asked, err := query.Parse(text, nil)
	if err != nil {
		return nil, nil, err
	}
	words, rest := asked.Split()
	if words == "" {
		return nil, nil, fmt.Errorf("searching by likeness: %w: the search names no word", cpar.ErrInput)
	}
	found, err := a.seeker.Seek(ctx, view, words, nil)
	if err != nil {
		return nil, nil, err
	}
	within, tagged := map[*catalogue.Photo]bool{}, map[*catalogue.Photo]bool{}
	for _, p := range view.Find(rest) {
		within[p] = true
	}
	for _, p := range view.Find(q) {
		tagged[p] = true
	}
	return found, func(p *catalogue.Photo) bool { return tagged[p] || !within[p] }, nil
}

// why returns the reason in an input error, without the operation that failed.
func why(err error) string {
	_, reason, ok := strings.Cut(err.Error(), cpar.ErrInput.Error()+": ")
	if !ok {
		return err.Error()
	}
	return reason
}
