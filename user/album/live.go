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

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
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

type word struct {
	folded, word string
	photos       int
}

// NewLive returns a live album that first shows this device's copy.
func NewLive(a *Album) *Live {
	l := &Live{album: a}
	l.refresh()
	return l
}

// refresh renews the view. The caller holds l.changing, unless l is new.
func (l *Live) refresh() {
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
	v.words = sync.OnceValue(v.countWords)
	go v.index() // so that the first search need not wait
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

// Now returns a photo's row in the newest view, or nil if the photo has been
// renamed, replaced or removed.
func (l *Live) Now(p *catalogue.Photo) *catalogue.Photo { return now(l.View().state, p) }

func now(s *catalogue.State, p *catalogue.Photo) *catalogue.Photo {
	if row := s.Photo(p.Path()); row != nil && thumbs.KeyOf(row) == thumbs.KeyOf(p) {
		return row
	}
	return nil
}

// Moved returns the error for a photo whose row Now does not find.
func Moved(p *catalogue.Photo) error {
	return hint.Add(fmt.Errorf("reading the album: %w: %s has been renamed, replaced or removed since it was listed", cpar.ErrInput, sanitize.Text(p.Name)), "search again, and then repeat the change")
}

// Find returns the photos that a query finds, newest first.
func (v *View) Find(q query.Query) []*catalogue.Photo { return v.index().Find(q) }

func (v *View) countWords() (all []word) {
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

// Complete returns at most `limit` keywords that begin with a prefix, the most
// frequent first.
func (v *View) Complete(prefix string, limit int) []string {
	found := []string{}
	prefix = metadata.Fold(prefix)
	for _, w := range v.words() {
		if len(found) < limit && strings.HasPrefix(w.folded, prefix) {
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
	l.refresh()
	return l.View() != before, err
}

// Thumbnail returns a photo's thumbnail as a JPEG file, or nothing if there is
// none. If the server lacks the thumbnail's blob, Thumbnail fetches the newest
// generation, because another device may have merged blobs.
func (l *Live) Thumbnail(ctx context.Context, p *catalogue.Photo, size thumbs.Size) ([]byte, error) {
	month, day := thumbs.When(p)
	get := func() ([]byte, error) { return l.album.thumbs.Get(ctx, size, month, day, thumbs.KeyOf(p)) }
	before := l.View() // read first, because another caller may sync before get runs
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

// An Edit records rows before and after Tag, for Undo.
type Edit struct{ before, after []*catalogue.Photo }

func (e *Edit) Photos() int { return len(e.after) }

// Tag adds keywords to photos and removes others. Added keywords become accepted,
// even if they were suggestions, and stay when a changed file of the photo is
// added to the album. If another device has moved or replaced one of the photos,
// Tag changes nothing, because it could affect a different photo.
func (l *Live) Tag(ctx context.Context, photos []*catalogue.Photo, add, remove []string) (*Edit, error) {
	var e *Edit
	err := l.edit(ctx, func(s *catalogue.State) ([]*catalogue.Photo, error) {
		e = &Edit{}
		for _, p := range photos {
			row := now(s, p)
			if row == nil {
				return nil, Moved(p)
			}
			if words := tagged(row.Keywords, add, remove); !slices.Equal(words, row.Keywords) {
				e.before, e.after = append(e.before, row), append(e.after, with(row, words))
			}
		}
		return e.after, nil
	})
	return e, err
}

func with(p *catalogue.Photo, words []catalogue.Keyword) *catalogue.Photo {
	row := *p
	row.Keywords = words
	return &row
}

// tagged applies Tag to the keywords of one photo.
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

// Undo restores the keywords before an edit, and returns the number of restored
// photos. It skips photos that have changed since.
func (l *Live) Undo(ctx context.Context, e *Edit) (n int, err error) {
	err = l.edit(ctx, func(s *catalogue.State) (back []*catalogue.Photo, _ error) {
		for i, after := range e.after {
			if row := now(s, after); row != nil && slices.Equal(row.Keywords, after.Keywords) {
				back = append(back, with(row, e.before[i].Keywords))
			}
		}
		n = len(back)
		return back, nil
	})
	return n, err
}

// edit commits the rows that function change returns.
func (l *Live) edit(ctx context.Context, change func(*catalogue.State) ([]*catalogue.Photo, error)) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	var refused error
	_, err := l.album.edit(ctx, func(s *catalogue.State) *catalogue.Change {
		var c catalogue.Change
		c.Put, refused = change(s)
		return &c
	})
	l.refresh()
	return errors.Join(err, refused)
}
