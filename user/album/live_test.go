package album

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/thumbs"
)

func (w *world) live(name string) *Live {
	w.t.Helper()
	a := w.open(name)
	must(w.t, a.Sync(w.t.Context()))
	l := NewLive(a)
	w.t.Cleanup(func() { must(w.t, l.Close(w.t.Context())) })
	return l
}

// photos returns the rows of paths, with nil for those without one.
func (l *Live) photos(paths ...string) (all []*catalogue.Photo) {
	for _, path := range paths {
		all = append(all, l.View().state.Photo(path))
	}
	return all
}

func keywords(p *catalogue.Photo) (words []string) {
	for _, k := range p.Keywords {
		words = append(words, k.Word+"/"+k.Source.String())
	}
	slices.Sort(words)
	return words
}

func TestViewIsTimeline(t *testing.T) {
	w := newWorld(t)
	dir := w.photos("photos", 4, 1)
	for i, date := range []string{"2019:05:06 07:08:09", "2024:01:02 03:04:05", "1965:01:02 03:04:05"} {
		file := filepath.Join(dir, string(rune('a'+i))+".jpg")
		b, err := os.ReadFile(filepath.Join(dir, "2020", "IMG_0000.jpg"))
		must(t, err)
		must(t, os.WriteFile(file, withDate(append(b, byte(i)), date), 0o644))
	}
	w.add(w.open("one"), dir)
	l := w.live("one")
	var names []string
	for _, p := range l.View().Photos {
		names = append(names, p.Name)
	}
	if !slices.Equal(names[:3], []string{"b.jpg", "a.jpg", "c.jpg"}) || len(names) != 7 {
		t.Errorf("the timeline is %v", names)
	}
	for i, p := range l.View().Find(parse(t, "")) {
		if p.Name != names[i] {
			t.Fatalf("a query finds %s at %d", p.Name, i)
		}
	}
	if got := l.View().Complete("D", 9); !slices.Equal(got, []string{"dog"}) {
		t.Errorf("completed %v", got)
	}
}

func TestTagsAreInCatalogueAndUndone(t *testing.T) {
	w := newWorld(t)
	dir := w.photos("photos", 4, 1)
	a := w.open("one")
	w.add(a, dir)
	const first, second = "photos/2020/IMG_0000.jpg", "photos/2021/IMG_0001.jpg"
	must(t, a.Suggest(t.Context(), map[string][]catalogue.Keyword{second: {{Word: "Sea", Source: catalogue.Suggested, Probability: 70}, {Word: "car", Source: catalogue.Suggested}}}))
	l := w.live("one")
	before := keywords(l.photos(first)[0])
	e, err := l.Tag(t.Context(), l.photos(first, second), []string{"sea", "new"}, []string{"ALL"})
	must(t, err)
	if e.Photos() != 2 {
		t.Errorf("%d photos changed", e.Photos())
	}
	other := w.live("two")
	for _, l := range []*Live{l, other} {
		if got := keywords(l.photos(first)[0]); !slices.Equal(got, []string{"dog/human", "new/accepted", "sea/accepted"}) {
			t.Errorf("the first photo has %v", got)
		}
		if got := keywords(l.photos(second)[0]); !slices.Equal(got, []string{"Sea/accepted", "car/suggested", "new/accepted"}) {
			t.Errorf("the second photo has %v", got)
		}
	}
	// A photo that another device has changed since is left alone.
	_, err = other.Tag(t.Context(), other.photos(second), []string{"later"}, nil)
	must(t, err)
	n, err := l.Undo(t.Context(), e)
	must(t, err)
	if n != 1 || !slices.Equal(keywords(l.photos(first)[0]), before) || len(l.photos(second)[0].Keywords) != 4 {
		t.Errorf("undone for %d photos: %v and %v", n, keywords(l.photos(first)[0]), keywords(l.photos(second)[0]))
	}
}

// An edit of a photo that another device has replaced or moved to the trash changes
// nothing. Neither does an undo of the edit.
func TestTagsMeetOnlyTheirPhoto(t *testing.T) {
	w := newWorld(t)
	dir := w.photos("photos", 4, 1)
	a := w.open("one")
	w.add(a, dir)
	const first, second = "photos/2020/IMG_0000.jpg", "photos/2021/IMG_0001.jpg"
	l := w.live("two")
	edit, err := l.Tag(t.Context(), l.photos(first), []string{"mine"}, nil)
	must(t, err)
	stale := l.photos(second, first)
	b, err := os.ReadFile(filepath.Join(w.root, second))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(w.root, first), b[:len(b)-1], 0o644)) // another photo under the name of the first
	w.add(a, dir)
	if _, err := l.Tag(t.Context(), stale, []string{"other"}, nil); exitcode.Of(err) != exitcode.Input || !strings.Contains(err.Error(), "IMG_0000.jpg has been renamed, replaced or removed") {
		t.Errorf("an edit of a replaced photo: %v", err)
	}
	if l.Now(stale[1]) != nil || l.Now(stale[0]) == nil {
		t.Error("the view does not tell the replaced photo from the other")
	}
	for _, p := range l.photos(first, second) {
		if p.Has("other") {
			t.Errorf("%s has %v", p.Name, keywords(p))
		}
	}
	before := keywords(l.photos(first)[0])
	if n, err := l.Undo(t.Context(), edit); n != 0 || err != nil || !slices.Equal(keywords(l.photos(first)[0]), before) {
		t.Errorf("undone for %d photos, %v; %v", n, err, keywords(l.photos(first)[0]))
	}
}

// Keywords that were added to the album stay when the photo's sidecar changes.
func TestTagsSurviveChangedFile(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 1, 1)
	w.add(a, dir)
	const path = "photos/2020/IMG_0000.jpg"
	l := w.live("one")
	_, err := l.Tag(t.Context(), l.photos(path), []string{"mine"}, nil)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "2020", "IMG_0000.jpg.xmp"), sidecar("cat"), 0o644))
	w.add(a, dir)
	if got := keywords(a.catalogue.State().Photo(path)); !slices.Equal(got, []string{"cat/human", "mine/accepted"}) {
		t.Errorf("the photo has %v", got)
	}
}

// whole reads an original.
func (l *Live) whole(t *testing.T, p *catalogue.Photo) ([]byte, error) {
	o, err := l.Original(t.Context(), p)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	return io.ReadAll(o)
}

// Several callers read thumbnails and originals while other devices add and merge.
func TestLiveReadsWhileAlbumChanges(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 6, 1)
	w.add(a, dir)
	l := w.live("two")
	var all sync.WaitGroup
	read := func() {
		for _, p := range l.View().Photos {
			want, err := os.ReadFile(filepath.Join(w.root, filepath.FromSlash(p.Path())))
			must(t, err)
			if got, err := l.whole(t, p); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, %v", p.Path(), len(got), err)
			}
			for _, size := range thumbs.Sizes {
				if b, err := l.Thumbnail(t.Context(), p, size); err != nil || len(b) == 0 {
					t.Errorf("%s: a thumbnail of %d bytes, %v", p.Path(), len(b), err)
				}
			}
		}
	}
	for range 3 {
		all.Go(read)
	}
	w.add(a, w.photos("more", 3, 2))
	all.Wait()
	must(t, a.Maintain(t.Context(), false))
	read() // of the state before
	if changed, err := l.Sync(t.Context()); err != nil || len(l.View().Photos) != 9 {
		t.Errorf("changed: %v, %v; %d photos", changed, err, len(l.View().Photos))
	}
	read()
}

// Several callers read thumbnails of a state that another device has merged. Only
// one of them fetches the new state, and all get their thumbnails.
func TestThumbnailsAfterMaintenance(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	for i := range 3 {
		w.add(a, w.photos("photos", 3+i, uint64(i)))
	}
	var l *Live
	b := w.over("two", interrupted{w.store, catalogue.ThumbPrefix, new(sync.Once), func() {
		_, err := l.Sync(t.Context()) // another caller is faster
		must(t, err)
	}})
	must(t, b.Sync(t.Context()))
	l = NewLive(b)
	must(t, a.Maintain(t.Context(), false))
	if got, err := l.Thumbnail(t.Context(), l.View().Photos[0], thumbs.Small); err != nil || len(got) == 0 {
		t.Errorf("a thumbnail of %d bytes, %v", len(got), err)
	}
}

// A stumbling store fails some requests for packs, counted from 1.
type stumbling struct {
	blobs.Store
	requests *int
	fails    map[int]bool
}

func (s stumbling) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if name[0] == 'p' {
		if *s.requests++; s.fails[*s.requests] {
			return nil, fmt.Errorf("%w: stumbled", cpar.ErrCloud)
		}
	}
	return s.Store.Get(ctx, name, offset, length)
}

// An original is read in pieces. A failure at its beginning is repaired once.
func TestOriginalIsReadInPieces(t *testing.T) {
	w := newWorld(t)
	dir := w.photos("photos", 1, 1)
	w.large(dir, 2)
	w.add(w.open("one"), dir)
	want, err := os.ReadFile(filepath.Join(dir, "large.jpg"))
	must(t, err)
	for _, c := range []struct {
		fails      map[int]bool
		opens, all bool
	}{{nil, true, true}, {map[int]bool{1: true}, true, true}, {map[int]bool{1: true, 2: true}, false, false}, {map[int]bool{2: true}, true, false}} {
		b := w.over("two", stumbling{w.store, new(int), c.fails})
		must(t, b.Sync(t.Context()))
		l := NewLive(b)
		p := l.View().state.Photo("photos/large.jpg")
		before := w.store.Received
		o, err := l.Original(t.Context(), p)
		if err == nil != c.opens {
			t.Errorf("failures %v: %v", c.fails, err)
		}
		if got := w.store.Received - before; got >= p.Size()*9/10 {
			t.Errorf("the beginning of %d bytes fetches %d", p.Size(), got)
		}
		if err != nil {
			continue
		}
		got, err := io.ReadAll(o)
		if c.all && (err != nil || !bytes.Equal(got, want)) || !c.all && !errors.Is(err, cpar.ErrCloud) {
			t.Errorf("failures %v: %d bytes of %d, %v", c.fails, len(got), len(want), err)
		}
		must(t, o.Close())
		must(t, l.Close(t.Context()))
	}
}
