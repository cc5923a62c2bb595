package ui

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/leakage"
	"cpar/user/album"
	"cpar/user/album/catalogue"
	"cpar/user/album/thumbs"
)

// An albumPage serves an album to the page: its timeline, searches, thumbnails and
// originals. It also changes keywords.
type albumPage struct {
	live     *album.Live
	cloud    string
	related  func(word string) []string
	seeker   Seeker // nil if no index was named
	listings *lru.Cache[string, *timeline]
	decoded  *thumbnails // JPEGs of originals in formats that browsers do not show
	secret   [32]byte

	mu   sync.Mutex
	seen map[string]*catalogue.Photo // photos that the page has seen, by id
	past []pastEdit                  // edits that can be undone, oldest first
	last int                         // number of the latest edit
}

type pastEdit struct {
	number int
	edit   *album.Edit
}

func newAlbumPage(l *album.Live, cloud string, related func(string) []string) *albumPage {
	a := &albumPage{live: l, cloud: cloud, related: related, listings: newCache[string, *timeline](maxListings), decoded: newThumbnails(), seen: map[string]*catalogue.Photo{}}
	rand.Read(a.secret[:])
	return a
}

func (a *albumPage) routes(mux *http.ServeMux) {
	answer(mux, "GET /api/settings", a.settings)
	answer(mux, "POST /api/refresh", a.refresh)
	answerBody(mux, "POST /api/list", a.list)
	answer(mux, "GET /api/list/{listing}", a.rows)
	answerBody(mux, "POST /api/alike", a.alike)
	answerBody(mux, "POST /api/selected", a.selected)
	answer(mux, "GET /api/complete", a.complete)
	answerBody(mux, "POST /api/pictures", a.pictures)
	answerBody(mux, "POST /api/tag", a.tag)
	answerBody(mux, "POST /api/untag", a.untag)
	mux.HandleFunc("GET /api/picture/{id}", a.picture)
}

// id returns a photo's opaque id and stores the photo in seen. Another photo with
// the same path has another id.
func (a *albumPage) id(p *catalogue.Photo) string {
	key := thumbs.KeyOf(p)
	d := sha256.Sum256(slices.Concat(a.secret[:], key[:], []byte(p.Path())))
	id := "p" + base64.RawURLEncoding.EncodeToString(d[:12])
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[id] = p
	return id
}

func (a *albumPage) photo(id string) (*catalogue.Photo, error) {
	a.mu.Lock()
	p, ok := a.seen[id]
	a.mu.Unlock()
	if !ok {
		return nil, errUnknown
	}
	if now := a.live.Now(p); now != nil {
		return now, nil
	}
	return nil, album.Moved(p)
}

func (a *albumPage) settings(http.ResponseWriter, *http.Request) (any, error) {
	v := a.live.View()
	return struct {
		album.Usage
		Cloud        string                `json:"cloud"`
		Generation   uint64                `json:"generation"`
		Observations []leakage.Observation `json:"parts"`
	}{v.Usage, a.cloud, v.Number, leakage.Album()}, nil
}

// refresh fetches changes by other devices.
func (a *albumPage) refresh(_ http.ResponseWriter, r *http.Request) (any, error) {
	changed, err := a.live.Sync(r.Context())
	return struct {
		Changed bool `json:"changed"`
	}{changed}, err
}

func (a *albumPage) complete(_ http.ResponseWriter, r *http.Request) (any, error) {
	return struct {
		Words []string `json:"words"`
	}{a.live.View().Complete(r.URL.Query().Get("prefix"), 10)}, nil
}

var thumbSizes = map[string]thumbs.Size{"small": thumbs.Small, "medium": thumbs.Medium}

// picture responds with a thumbnail, the original, or the original in a format that
// browsers show. If there is no thumbnail, it responds with status 204, which
// browsers do not report as an error.
func (a *albumPage) picture(w http.ResponseWriter, r *http.Request) {
	p, err := a.photo(r.PathValue("id"))
	var b []byte
	name := r.URL.Query().Get("size")
	switch size, small := thumbSizes[name]; {
	case err != nil:
	case small:
		b, err = a.live.Thumbnail(r.Context(), p, size)
	default:
		var sent bool
		if b, sent, err = a.shown(w, r, p, name == "file"); sent {
			return
		}
	}
	switch {
	case err != nil:
		fail(w, err)
	case len(b) == 0:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", http.DetectContentType(b))
		w.Write(b)
	}
}

// pictures responds with the small thumbnails of photos, in order. It responds with
// null for a thumbnail that is missing or cannot be fetched.
func (a *albumPage) pictures(r *http.Request, which ids) (any, error) {
	found := make([][]byte, len(which.IDs))
	var work errgroup.Group
	work.SetLimit(6) // a browser also sends six requests at once
	for i, id := range which.IDs {
		work.Go(func() error {
			if p, err := a.photo(id); err == nil {
				found[i], _ = a.live.Thumbnail(r.Context(), p, thumbs.Small)
			}
			return nil
		})
	}
	work.Wait()
	return struct {
		Pictures [][]byte `json:"pictures"`
	}{found}, nil
}

// decodedSide bounds the longer side, in pixels, of originals decoded for the browser.
const decodedSide = 4096

// shown returns the original as a JPEG. If the page requests a file, or browsers
// show the original's format, shown instead sends the original and returns true.
func (a *albumPage) shown(w http.ResponseWriter, r *http.Request, p *catalogue.Photo, file bool) (made []byte, sent bool, err error) {
	if len(p.Files) > 0 && !file {
		if made, ok := a.decoded.large.Get(p.Files[0].Object); ok {
			return made, false, nil
		}
	}
	from, err := a.live.Original(r.Context(), p)
	if err != nil {
		return nil, false, err
	}
	defer from.Close()
	head, _ := from.Peek(512) // later reads repeat an error
	switch kind := http.DetectContentType(head); {
	case file:
		send(w, from, p, "application/octet-stream")
		return nil, true, nil
	case slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, kind):
		send(w, from, p, kind)
		return nil, true, nil
	}
	made, err = a.decoded.get(p.Files[0].Object, decodedSide, func() ([]byte, error) { return io.ReadAll(from) })
	return made, false, err
}

// send sends an original. If the original is damaged, the browser notices that the
// response is too short.
func send(w http.ResponseWriter, from *album.Original, p *catalogue.Photo, kind string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.FormatInt(p.Files[0].Size, 10))
	io.Copy(w, from)
}

// A tagging requests changes of keywords in part of a listing.
type tagging struct {
	Listing string   `json:"listing"`
	Only    [][2]int `json:"only"` // ranges of positions, [first, last]
	Add     []string `json:"add"`
	Remove  []string `json:"remove"`
}

// tag changes keywords in the catalogue as one edit.
func (a *albumPage) tag(r *http.Request, t tagging) (any, error) {
	photos, err := a.within(t)
	if err != nil {
		return nil, err
	}
	for i, word := range t.Add {
		if t.Add[i], err = checkWord(word); err != nil {
			return nil, err
		}
	}
	if len(t.Add)+len(t.Remove) > maxWords {
		return nil, fmt.Errorf("editing keywords: %w: at most %d at a time", cpar.ErrInput, maxWords)
	}
	e, err := a.live.Tag(r.Context(), photos, t.Add, t.Remove)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	a.past = append(a.past, pastEdit{a.last, e})
	a.past = a.past[max(0, len(a.past)-maxActions):]
	return struct {
		Action int `json:"action"`
		Photos int `json:"photos"`
	}{a.last, e.Photos()}, nil
}

func (a *albumPage) untag(r *http.Request, which undoing) (any, error) {
	e := a.take(which.Action)
	if e == nil {
		return nil, fmt.Errorf("undoing an edit: %w: it is too old, or undone already", cpar.ErrInput)
	}
	n, err := a.live.Undo(r.Context(), e)
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.past = append(a.past, pastEdit{which.Action, e})
	}
	return struct {
		Photos int `json:"photos"`
	}{n}, err
}

func (a *albumPage) take(number int) *album.Edit {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, p := range a.past {
		if p.number == number {
			a.past = append(a.past[:i:i], a.past[i+1:]...)
			return p.edit
		}
	}
	return nil
}

// typed makes the last word of a query, which the user may still be typing, also
// find words that begin with it.
func typed(text string) string {
	text = strings.TrimRight(text, " ")
	word := strings.TrimLeft(text[strings.LastIndexAny(text, " (")+1:], "-")
	begin := len(text) - len(word)
	if word == "" || strings.ContainsAny(word, `":*).`) || '0' <= text[begin] && text[begin] <= '9' {
		return text
	}
	switch strings.ToLower(word) {
	case "or", "and", "not":
		return text
	}
	return text[:begin] + "(" + word + " or " + word + "*)"
}
