package album

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cpar/photo/metadata"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/query"
	"cpar/user/album/thumbs"
)

// A Live serves an album to a long-running program, such as a web page. It is
// safe for concurrent use.
type Live struct {
	album    *Album
	changing sync.Mutex // held while the album is changed or fetched
	view     atomic.Pointer[View]

	opening sync.Mutex // held while the repository is opened or closed
	files   *shared    // nil before the first original
}

// A View is an album in one generation, sorted by time.
type View struct {
	Number uint64
	// Photos lists the photos outside the trash, newest first. Those without a
	// date come last.
	Photos []*catalogue.Photo
	Usage  Usage
	state  *catalogue.State
	index  func() *query.Index
	words  func() []word
}

// A word is a keyword with its number of photos.
type word struct {
	folded, word string
	photos       int
}

// NewLive returns a live album. Its first view is this device's copy.
func NewLive(a *Album) *Live {
	l := &Live{album: a}
	l.look()
	return l
}

// look renews the view. The caller holds l.changing, unless l is new.
func (l *Live) look() {
	s := l.album.catalogue.State()
	if v := l.view.Load(); v != nil && v.Number == s.Number {
		return
	}
	l.album.thumbnails()
	v := &View{Number: s.Number, Usage: l.album.Usage(), state: s}
	for _, p := range s.Photos() {
		if p.Trashed == 0 {
			v.Photos = append(v.Photos, p)
		}
	}
	slices.SortStableFunc(v.Photos, func(a, b *catalogue.Photo) int {
		return cmp.Compare(order(b), order(a))
	})
	v.index = sync.OnceValue(func() *query.Index {
		return query.NewIndex(v.Photos, func(*catalogue.Photo) bool { return true })
	})
	v.words = sync.OnceValue(v.count)
	go v.index() // saves the first search from waiting
	l.view.Store(v)
}

// order returns the time of a photo, or the earliest time if it has none.
func order(p *catalogue.Photo) int64 {
	if p.Time == 0 {
		return math.MinInt64
	}
	return p.Time
}

func (l *Live) View() *View { return l.view.Load() }

// Photo returns the photo of a path in the newest view, or nil.
func (l *Live) Photo(path string) *catalogue.Photo { return l.View().state.Photo(path) }

// Find returns the photos that a query finds, newest first.
func (v *View) Find(q query.Query) []*catalogue.Photo { return v.index().Find(q) }

func (v *View) count() (all []word) {
	at := map[string]int{}
	for _, p := range v.Photos {
		for _, k := range p.Keywords {
			i, ok := at[k.Word]
			if !ok {
				i = len(all)
				at[k.Word], all = i, append(all, word{metadata.Fold(k.Word), k.Word, 0})
			}
			all[i].photos++
		}
	}
	slices.SortFunc(all, func(a, b word) int {
		return cmp.Or(cmp.Compare(b.photos, a.photos), strings.Compare(a.folded, b.folded))
	})
	return all
}

// Complete returns the most frequent keywords that begin with a prefix.
func (v *View) Complete(prefix string, most int) []string {
	found := []string{}
	prefix = metadata.Fold(prefix)
	for _, w := range v.words() {
		if len(found) < most && strings.HasPrefix(w.folded, prefix) {
			found = append(found, w.word)
		}
	}
	return found
}

// Sync fetches the newest generation and reports whether the view has changed.
func (l *Live) Sync(ctx context.Context) (changed bool, err error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	before := l.View()
	err = l.album.Sync(ctx)
	l.look()
	return l.View() != before, err
}

// Thumbnail returns a photo's thumbnail, a JPEG file, or nothing if there is
// none. If the server no longer has the blob with it, Thumbnail fetches the
// newest generation, because another device may have merged blobs.
func (l *Live) Thumbnail(ctx context.Context, p *catalogue.Photo, size thumbs.Size) ([]byte, error) {
	month, day := thumbs.When(p)
	get := func() ([]byte, error) { return l.album.thumbs.Get(ctx, size, month, day, thumbs.KeyOf(p)) }
	before := l.View() // before the parts that get uses, which another caller may renew
	b, err := get()
	if errors.Is(err, blobs.ErrDamaged) {
		if _, again := l.Sync(ctx); again == nil && l.View() != before {
			b, err = get()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading a thumbnail: %w", err)
	}
	return b, nil
}

// An Edit records the keywords that Tag has changed, by path, for Undo.
type Edit struct {
	before, after map[string][]catalogue.Keyword
}

// Photos returns the number of changed photos.
func (e *Edit) Photos() int { return len(e.after) }

// Tag adds keywords to photos, given by path, and removes others. Added
// keywords count as accepted, even if they were suggestions. They stay when a
// changed file of the photo is added to the album.
func (l *Live) Tag(ctx context.Context, paths, add, remove []string) (*Edit, error) {
	var e *Edit
	err := l.edit(ctx, func(s *catalogue.State) map[string][]catalogue.Keyword {
		e = &Edit{map[string][]catalogue.Keyword{}, map[string][]catalogue.Keyword{}}
		for _, path := range paths {
			p := s.Photo(path)
			if p == nil {
				continue
			}
			if now := tagged(p.Keywords, add, remove); !slices.Equal(now, p.Keywords) {
				e.before[path], e.after[path] = p.Keywords, now
			}
		}
		return e.after
	})
	return e, err
}

// tagged returns keywords with some added and others removed.
func tagged(words []catalogue.Keyword, add, remove []string) []catalogue.Keyword {
	is := func(word string) func(catalogue.Keyword) bool {
		return func(k catalogue.Keyword) bool { return metadata.Fold(k.Word) == metadata.Fold(word) }
	}
	out := slices.Clone(words)
	for _, word := range remove {
		out = slices.DeleteFunc(out, is(word))
	}
	for _, word := range add {
		accepted := catalogue.Keyword{Word: word, Source: catalogue.Accepted}
		switch i := slices.IndexFunc(out, is(word)); {
		case i < 0:
			out = append(out, accepted)
		case out[i].Source == catalogue.Suggested:
			accepted.Word = out[i].Word
			out[i] = accepted
		}
	}
	return out
}

// Undo restores the keywords before an edit, except those of photos that have
// changed since. It returns the number of restored photos.
func (l *Live) Undo(ctx context.Context, e *Edit) (n int, err error) {
	err = l.edit(ctx, func(s *catalogue.State) map[string][]catalogue.Keyword {
		back := map[string][]catalogue.Keyword{}
		for path, after := range e.after {
			if p := s.Photo(path); p != nil && slices.Equal(p.Keywords, after) {
				back[path] = e.before[path]
			}
		}
		n = len(back)
		return back
	})
	return n, err
}

// edit commits new keywords of photos, by path.
func (l *Live) edit(ctx context.Context, words func(*catalogue.State) map[string][]catalogue.Keyword) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	_, err := l.album.edit(ctx, func(s *catalogue.State) *catalogue.Change {
		c := &catalogue.Change{}
		for path, list := range words(s) {
			now := *s.Photo(path)
			now.Keywords = list
			c.Put = append(c.Put, &now)
		}
		return c
	})
	l.look()
	return err
}
