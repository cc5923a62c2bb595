package ui

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"cpar"
	"cpar/internal/testing/browser"
	"cpar/user/album/blobs"
	"cpar/user/album/query"
)

const screenful = `[...document.querySelectorAll('.wall img')].filter((i) => { const r = i.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight; })`

// shown is true once all photos in the window have their thumbnails.
const shown = screenful + `.length > 2 && ` + screenful + `.every((i) => i.matches('.there'))`

// In both themes and at three widths, every view of the album passes axe-core, logs
// no errors, and loads nothing from elsewhere.
func TestEveryViewOfAlbumIsAccessible(t *testing.T) {
	m := newAlbum(t, 3000)
	_, _, address := startSeeking(t, m.synced(t, "two"), &fakeSeeker{})
	p := browser.New(t)
	p.Open(address)
	p.Await(shown)
	found := `document.getElementById('told').textContent`
	search := func(text string) func() {
		return func() {
			p.Text(fmt.Sprintf(`(() => { const i = document.getElementById('find'); i.value = %q; i.dispatchEvent(new Event('input')); })()`, text))
		}
	}
	leave := func() {
		p.Text(`document.querySelector('.viewer') && history.back()`)
		p.Await(`!document.querySelector('.viewer')`)
		p.Text(`document.getElementById('help').close()`)
		p.Text(`location.hash = '#/album'`)
		p.Await(`document.getElementById('sees')`)
		p.Text(`location.hash = '#/'`)
		p.Await(shown)
	}
	open := `document.querySelector('.wall li[data-at="1"]').click()`
	enter := func(text string) func() {
		return func() {
			search(text)()
			p.Text(`document.querySelector('.finding').requestSubmit()`)
		}
	}
	alike := `!document.getElementById('alike').matches('[aria-busy]') && document.querySelector('#alike .wall img.there')`
	views := []struct {
		name  string
		do    func()
		ready string
	}{
		{"timeline", func() {}, shown},
		{"scrolled", func() {
			p.Text(`scrollTo(0, 9000)`)
			p.Await(`document.querySelector('.month').textContent !== 'July 2026' && ` + shown)
			p.Text(`scrollTo(0, 9001)`)
		}, `document.querySelector('.scrubber.moving')`},
		{"found", search("sea sky"), found + `.includes(' of 3,012') && ` + shown},
		{"typing", search(`"sea`), found + `.includes('quotation')`},
		{"none", search("nosuchword"), `document.querySelector('.empty')`},
		{"offered", search("boat sunset 2019-07"), `document.getElementById('ask-alike')`},
		{"alike", func() {
			enter("boat sunset")()
			p.Await(alike)
			p.Text(`document.getElementById('more-alike').click()`)
			p.Text(`document.getElementById('jump').click()`)
		}, shown + ` && document.querySelectorAll('#alike .wall li').length > 12`},
		{"unknown", enter("nosuchword"), `document.querySelector('#alike .failed')`},
		{"like", func() {
			p.Text(open)
			p.Await(`document.querySelector('.viewer')`)
			p.Text(`document.getElementById('like').click()`)
		}, alike + ` && ` + shown},
		{"selected", func() {
			p.Text(`[...document.querySelectorAll('.wall .tick')].slice(2, 7).forEach((e) => e.click())`)
		}, `document.getElementById('edit')`},
		{"keywords", func() {
			p.Text(`[...document.querySelectorAll('.wall .tick')].slice(2, 30).forEach((e) => e.click())`)
			p.Press("e")
		}, `document.querySelector('.editing li')`},
		{"viewer", func() { p.Text(open) }, `document.querySelector('.lit img.whole')`},
		{"about", func() {
			p.Text(open)
			p.Await(`document.querySelector('.viewer')`)
			p.Text(`document.getElementById('about').getAttribute('aria-pressed') === 'true' || document.getElementById('about').click()`)
		}, `document.querySelector('.lit img.whole') && !document.querySelector('.about').hidden`},
		{"lost", func() { p.Text(`document.querySelector('.wall li[data-at="14"]').click()`) }, `document.querySelector('.lit .failed')`},
		{"facts", func() { p.Text(`location.hash = '#/album'`) }, `document.querySelector('#sees dd')`},
		{"help", func() { p.Press("?") }, `document.getElementById('help').open`},
	}
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 768, 375} {
			p.Window(theme, width, map[int64]int64{1280: 860, 768: 1024, 375: 800}[width])
			for _, v := range views {
				leave()
				v.do()
				p.Await(v.ready)
				name := fmt.Sprintf("album-%s-%s-%d", v.name, theme, width)
				pictured(t, p, name)
				for _, rule := range p.Broken() {
					t.Errorf("%s: %s", name, rule)
				}
				if wide := p.Text(`document.documentElement.scrollWidth - innerWidth`); wide != "0" {
					t.Errorf("%s: %s pixels stick out", name, wide)
				}
				p.Text(`document.getElementById('about')?.getAttribute('aria-pressed') === 'true' && document.getElementById('about').click()`)
			}
		}
	}
	quiet(t, p)
}

// quiet checks that the page logged no error and sent no request elsewhere. The
// photos of the archive have no originals, which the browser logs.
func quiet(t *testing.T, p *browser.Page) {
	t.Helper()
	for _, c := range p.Complaints() {
		if !strings.Contains(c, "size=original") || !strings.Contains(c, "502") {
			t.Errorf("complaint: %s", c)
		}
	}
	if got := p.Strangers(); len(got) > 0 {
		t.Errorf("requests to strangers: %q", got)
	}
}

// A user finds photos, opens one, edits the keywords of many, and undoes it, by the
// keyboard alone.
func TestAlbumByKeyboard(t *testing.T) {
	m := newAlbum(t, 500)
	_, live, address := startAlbum(t, m.synced(t, "two"))
	p := browser.New(t)
	p.Open(address)
	p.Await(shown)
	p.Press("/")
	p.Await(`document.activeElement.id === 'find'`)
	p.Press("s", "e", "a")
	p.Await(`document.getElementById('told').textContent.includes(' of 512')`)
	count := func(text string) int {
		t.Helper()
		q, err := query.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(live.View().Find(q))
	}
	if got, want := p.Text(`document.getElementById('told').textContent`), fmt.Sprintf("%d photos of 512", count("sea*")); got != want {
		t.Errorf("the page found %s, want %s", got, want)
	}
	if got := p.Text(`location.href + JSON.stringify(history.state)`); strings.Contains(got, "sea") == strings.Contains(got, "/sea") || !strings.HasSuffix(got, `{"query":"sea"}`) {
		t.Errorf("the address and the state of the tab are %s", got)
	}
	p.Text(`document.querySelector('.wall li[tabindex="0"]').focus()`)
	p.Press("ArrowRight", "Enter")
	p.Await(`document.querySelector('.viewer .soft')?.textContent.includes('2 of ') && document.querySelector('.lit img.there')`)
	p.Press("ArrowLeft")
	p.Await(`document.querySelector('.viewer .soft').textContent.includes('1 of ')`)
	p.Press("+")
	p.Await(`document.querySelector('.lit.larger')`)
	p.Press("n")
	p.Await(`document.activeElement.id === 'add-tag'`)
	p.Press("q", "u", "a", "y", "Enter")
	p.Await(`[...document.querySelectorAll('.about .chips li')].some((e) => e.textContent === 'quay')`)
	if count("quay") != 1 {
		t.Error("the keyword is not in the catalogue")
	}
	p.Press("Escape", "Escape")
	p.Await(`!document.querySelector('.viewer') && document.activeElement.dataset.at === '1'`)
	p.Press(" ", "ArrowRight", " ")
	p.Await(`document.getElementById('picked').textContent === '2 selected'`)
	p.Press("e")
	p.Await(`document.activeElement.id === 'tag'`)
	p.Press("b", "o", "a", "t", "s", "Enter", "Enter")
	p.Await(`!document.getElementById('help').open && document.getElementById('said').textContent === 'boats added: 2 photos'`)
	if count("boats") != 2 {
		t.Errorf("%d photos have the keyword", count("boats"))
	}
	p.Text(`document.activeElement.blur()`)
	p.Press("u")
	p.Await(`document.getElementById('said').textContent.startsWith('Undone: boats')`)
	if count("boats") != 0 || count("quay") != 1 {
		t.Errorf("after undoing, %d photos have the keyword", count("boats"))
	}
	quiet(t, p)
}

// The original is saved byte for byte.
func TestAlbumSavesOriginal(t *testing.T) {
	m := newAlbum(t, 10)
	_, _, address := startAlbum(t, m.synced(t, "two"))
	p := browser.New(t)
	p.Open(address)
	p.Await(shown)
	p.Text(`document.querySelector('.wall li[data-at="0"]').click()`)
	p.Await(`document.querySelector('.viewer')`)
	name := p.Text(`document.querySelector('.viewer h1').textContent`)
	p.Press("s")
	want, err := os.ReadFile(filepath.Join(m.root, "summer", name))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Downloaded(name); !bytes.Equal(got, want) {
		t.Errorf("%d bytes were saved, want %d", len(got), len(want))
	}
}

// An unsteady store answers no request while gone is set.
type unsteady struct {
	blobs.Store
	gone atomic.Bool
}

func (s *unsteady) List(ctx context.Context, prefix string, yield func(blobs.Blob) error) error {
	if s.gone.Load() {
		return cpar.ErrCloud
	}
	return s.Store.List(ctx, prefix, yield)
}

func (s *unsteady) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if s.gone.Load() {
		return nil, cpar.ErrCloud
	}
	return s.Store.Get(ctx, name, offset, length)
}

// Without the server, the page shows and searches this device's copy, and names
// photos whose thumbnails it has not fetched.
func TestAlbumWithoutServer(t *testing.T) {
	m := newAlbum(t, 100)
	m.synced(t, "two")
	server := &unsteady{Store: m.store}
	server.gone.Store(true)
	_, _, address := startAlbum(t, m.over(t, "two", server))
	p := browser.New(t)
	p.Open(address)
	p.Await(`document.getElementById('said').textContent.startsWith("This is this device's copy of the album")`)
	p.Await(`document.querySelectorAll('.wall .frame.broken').length > 10 && document.querySelector('.wall .frame.broken + .tick + .words').textContent.endsWith('.jpg')`)
	pictured(t, p, "album-away")
	for _, rule := range p.Broken() {
		t.Error(rule)
	}
	p.Press("/", "s", "e", "a")
	p.Await(`document.getElementById('told').textContent.includes(' of 112')`)
}

// No address in the history contains the query. The query survives a reload, and
// the link to the photos ends the search.
func TestAlbumKeepsQueryOutOfAddress(t *testing.T) {
	m := newAlbum(t, 100)
	_, _, address := startAlbum(t, m.synced(t, "two"))
	p := browser.New(t)
	p.Open(address)
	p.Await(shown)
	p.Press("/", "s", "e", "a")
	found := `document.getElementById('told')?.textContent.includes(' of 112')`
	p.Await(found)
	p.Text(`location.hash = '#/album'`)
	p.Await(`document.getElementById('sees')`)
	p.Text(`history.back()`)
	p.Await(found)
	p.Do(chromedp.Reload())
	p.Await(found)
	if got := p.Text(`document.getElementById('find').value + ' ' + location.href.replace(location.origin, '')`); got != "sea /#/" && got != "sea /" {
		t.Errorf("the query and the address are %s", got)
	}
	p.Text(`document.querySelector('.of-album a').click()`)
	p.Await(`document.getElementById('told').textContent === '112 photos' && document.getElementById('find').value === ''`)
	quiet(t, p)
}

// An undo that failed because the server was unreachable can be repeated.
func TestAlbumKeepsUndoThatFailed(t *testing.T) {
	m := newAlbum(t, 20)
	m.synced(t, "two")
	server := &unsteady{Store: m.store}
	_, live, address := startAlbum(t, m.over(t, "two", server))
	p := browser.New(t)
	p.Open(address)
	p.Await(shown)
	p.Text(`document.querySelector('.wall .tick').click()`)
	p.Press("e")
	p.Await(`document.activeElement.id === 'tag'`)
	p.Press("q", "u", "a", "y", "Enter", "Enter")
	p.Await(`document.getElementById('undo')`)
	said := `document.getElementById('said').textContent`
	server.gone.Store(true)
	p.Text(`document.activeElement.blur()`)
	p.Press("u")
	p.Await(`document.querySelector('.said.bad.shown') && document.getElementById('undo')`)
	server.gone.Store(false)
	p.Press("u")
	p.Await(said + `.startsWith('Undone: quay')`)
	if live.View().Photos[0].Has("quay") || p.Text(`String(document.getElementById('undo'))`) != "null" {
		t.Error("the edit is not undone, or can be undone twice")
	}
}
