package ui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/testing/browser"
	"cpar/user"
	"cpar/user/album"
	"cpar/user/album/catalogue"
)

// A fakeSeeker finds every seventh photo. Half of them are likely.
type fakeSeeker struct {
	mu    sync.Mutex
	asked []string // the words, or the number of bytes of a photo
	fail  error
}

func (f *fakeSeeker) Seek(_ context.Context, v *album.View, words string, file []byte) (found []album.Match, _ *album.Records, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.Contains(words, "nosuchword") {
		return nil, nil, hint.Add(fmt.Errorf("searching for words: %w: no photo of the index has the keyword %s", cpar.ErrInput, words), "similar keywords: none")
	}
	if words == "" {
		words = fmt.Sprint(len(file), " bytes")
	}
	f.asked = append(f.asked, words)
	for i := 0; i < len(v.Photos) && len(found) < 2000; i += 7 {
		found = append(found, album.Match{Photo: v.Photos[i], Hit: user.Hit{Similarity: 1 - float64(i)/1e6, Probability: 1 - float64(i)/float64(len(v.Photos))}})
	}
	return found, &album.Records{Lacking: 2, Unindexed: 30}, f.fail
}

func (f *fakeSeeker) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// alikeAnswer is the answer to POST /api/alike.
type alikeAnswer struct {
	Total, Likely, Lacking, Unindexed int
	Wrong, Hint                       string
	Rows                              []shot
}

func TestAlikeLeavesOutPhotosWithKeywords(t *testing.T) {
	m := newAlbum(t, 2000)
	f := &fakeSeeker{}
	s, live, _ := startSeeking(t, m.synced(t, "two"), f)
	c := caller{t: t, s: s}
	got := ask[alikeAnswer](c, "POST", "/api/alike", map[string]string{"query": `sea "old town" -party 2015..2020`})
	want, likely := 0, 0
	for i := 0; i < len(live.View().Photos); i += 7 {
		p := live.View().Photos[i]
		if year := (&timeline{live.View().Photos[i : i+1]}).spans()[0].Month; year >= "2015" && year < "2021" {
			if !(p.Has("sea") && p.Has("old town")) {
				want++
				if 2*i <= len(live.View().Photos) {
					likely++
				}
			}
		}
	}
	if got.Total != want || got.Likely != likely || got.Lacking != 2 || got.Unindexed != 30 || want == likely || likely == 0 {
		t.Errorf("%d photos, %d likely, want %d and %d; %d lack a digest", got.Total, got.Likely, want, likely, got.Lacking)
	}
	if want := []string{`sea "old town" -party`}; !slices.Equal(f.requests(), want) {
		t.Errorf("asked %q, want %q", f.requests(), want)
	}
	wrong := ask[alikeAnswer](c, "POST", "/api/alike", map[string]string{"query": "2015"})
	if wrong.Wrong != "the search names no word" || len(f.requests()) != 1 {
		t.Errorf("a query without words: %+v", wrong)
	}
	if wrong = ask[alikeAnswer](c, "POST", "/api/alike", map[string]string{"query": "nosuchword"}); !strings.HasPrefix(wrong.Wrong, "no photo of the index") || wrong.Hint == "" {
		t.Errorf("an unknown word: %+v", wrong)
	}
	first := ask[queried](c, "POST", "/api/list", map[string]string{}).Rows[0]
	got = ask[alikeAnswer](c, "POST", "/api/alike", map[string]string{"photo": first.ID})
	if got.Likely != firstAlike || slices.ContainsFunc(got.Rows, func(r shot) bool { return r.ID == first.ID }) || f.requests()[1] != fmt.Sprint(first.Bytes, " bytes") {
		t.Errorf("like a photo: %d of %d, asked %q", got.Likely, got.Total, f.requests())
	}
	s, _, _ = startAlbum(t, m.synced(t, "three"))
	if status, b := (caller{t: t, s: s}).call("POST", "/api/alike", []byte(`{"query":"sea"}`)); status != 422 {
		t.Errorf("without an index: %d %s", status, b)
	}
}

// The page searches by likeness on Enter, not while the user types. It shows the
// results separately, and the user can tag them, follow a photo to similar ones, and
// return.
func TestAlbumFindsWhatLooksAlike(t *testing.T) {
	m := newAlbum(t, 500)
	f := &fakeSeeker{}
	_, live, address := startSeeking(t, m.synced(t, "two"), f)
	p := browser.New(t)
	p.Window("light", 1280, 860)
	p.Open(address)
	p.Await(shown)
	p.Press("/", "s", "e", "a", " ", "s", "k")
	p.Await(`document.getElementById('told').textContent.includes(' of 512') && document.getElementById('ask-alike')`)
	p.Press("y")
	p.Await(`document.getElementById('ask-alike').textContent.includes('“sea sky”')`)
	if got := f.requests(); len(got) > 0 {
		t.Errorf("typing asked for %q", got)
	}
	p.Press("Enter")
	p.Await(`document.querySelector('#alike .wall li') && document.getElementById('more-alike')`)
	if got := f.requests(); !slices.Equal(got, []string{"sea sky"}) {
		t.Errorf("Enter asked for %q", got)
	}
	if got := p.Text(`document.getElementById('alike-title').textContent + '; ' + document.getElementById('alike-told').textContent`); !strings.HasPrefix(got, "Looks like “sea sky”; ") ||
		!strings.Contains(got, "30 photos") || !strings.Contains(got, "2 photos lack") {
		t.Errorf("the section says %s", got)
	}
	if got := p.Text(`document.querySelector('.timeline .wall').getBoundingClientRect().bottom < document.querySelector('#alike .wall').getBoundingClientRect().top`); got != "true" {
		t.Error("photos that look alike are not below those with keywords")
	}
	p.Text(`document.getElementById('jump').click()`)
	p.Await(`scrollY > 0 || document.getElementById('alike').getBoundingClientRect().top < innerHeight`)
	p.Text(`document.querySelector('.timeline .tick').click()`)
	p.Text(`document.querySelector('#alike .tick').click()`)
	p.Await(`document.querySelectorAll('[aria-selected=true]').length === 1 && document.querySelector('#alike [aria-selected=true]')`)
	p.Press("e")
	p.Await(`document.activeElement.id === 'tag'`)
	p.Press("q", "u", "a", "y", "Enter", "Enter")
	p.Await(`document.getElementById('said').textContent === 'quay added: 1 photo'`)
	if n := len(slices.DeleteFunc(slices.Clone(live.View().Photos), func(p *catalogue.Photo) bool { return !p.Has("quay") })); n != 1 {
		t.Errorf("%d photos have the keyword", n)
	}
	p.Text(`document.activeElement.blur()`)
	p.Press("Escape")
	p.Text(`document.querySelector('#alike .wall li').click()`)
	p.Await(`document.querySelector('.viewer .lit img.there')`)
	name := p.Text(`document.querySelector('.viewer h1').textContent`)
	f.mu.Lock()
	f.fail = fmt.Errorf("asking: %w: it is busy", cpar.ErrCloud)
	f.mu.Unlock()
	p.Text(`history.back()`)
	p.Await(`!document.querySelector('.viewer')`)
	// Going back restores the former scroll position after a while.
	p.Await(`(scrollTo(0, 0), document.querySelector('.timeline .wall li[data-at="0"]'))`)
	p.Text(`document.querySelector('.timeline .wall li[data-at="0"]').click()`) // the photo of the archive has no original
	p.Await(`document.querySelector('.viewer')`)
	p.Press("l")
	p.Await(`!document.querySelector('.viewer') && document.querySelector('#alike .failed')`)
	if p.Text(`document.querySelector('.timeline').offsetParent`) != "null" {
		t.Errorf("photos like %s stand below the timeline", name)
	}
	p.Text(`document.activeElement.blur()`)
	p.Press("Escape")
	p.Await(`document.querySelector('.timeline').offsetParent && document.getElementById('told').textContent.includes(' of 512')`)
	if got := p.Strangers(); len(got) > 0 {
		t.Errorf("requests to strangers: %q", got)
	}
}
