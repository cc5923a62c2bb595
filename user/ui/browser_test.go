package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar/internal/testing/browser"
	"cpar/user/vocabulary"
)

var pictures = flag.String("pictures", "", "write pictures of every view into this folder")

// pictured saves a screenshot if requested.
func pictured(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	if *pictures == "" {
		return
	}
	p.Await(`!document.querySelector('.said.shown')`)
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), p.Picture(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// In both themes and at three widths, every view passes axe-core, logs no errors,
// and loads nothing from elsewhere.
func TestEveryViewIsAccessible(t *testing.T) {
	f := newFake(t, 24)
	f.rules, _ = vocabulary.Parse([]byte("language = 'de'\nnever = ['todo']\n[synonyms]\nhound = 'dog'\n[parents]\ndog = 'animal/pet'\n[translations.de]\ndog = 'Hund'\n"))
	s, address := start(t, f)
	all, _ := s.photos.list()
	id := all[4].id
	p := browser.New(t)
	p.Open(address)
	p.Await(`document.querySelectorAll('.wall img.there').length > 3`)
	if got := p.Text("location.href"); strings.Contains(got, s.token) {
		t.Errorf("the token stays in the address: %s", got)
	}
	if got := p.Text("history.length"); got != "2" && got != "1" {
		t.Errorf("the address before is in the history: %s entries", got)
	}
	pictured(t, p, "fresh")
	p.Text(`document.querySelector('.head .main').click()`)
	p.Await(`document.querySelectorAll('.wall .bar').length > 20 && document.getElementById('working').hidden`)
	word := f.truth[all[4].path][0]
	views := []struct{ name, hash, ready string }{
		{"library", "#/", `document.querySelector('.wall .bar') && [...document.querySelectorAll('.wall img')].every((i) => i.getBoundingClientRect().top > innerHeight || i.matches('.there'))`},
		{"photo", "#/photo/" + id, `document.querySelector('.stage img.there') && document.querySelector('.cloud canvas') && document.querySelector('.near li')`},
		{"words", "#/words", `document.querySelector('.groups b')`},
		{"review", "#/words/" + word, `document.querySelector('.wall .sure') && document.querySelector('.wall img.there')`},
		{"filtered", "#/?show=likely&word=" + word, `document.querySelector('.wall .bar')`},
		{"unreadable", "#/unreadable", `document.querySelector('.plain')`},
		{"search", "#/search/" + fakeWord, `document.querySelector('.results h2')`},
		{"runs", "#/runs", `document.querySelector('.runs li')`},
		{"vocabulary", "#/vocabulary/hound", `document.querySelector('.mapped td')`},
		{"settings", "#/settings", `document.querySelector('.facts')`},
	}
	p.Text(fmt.Sprintf(`location.hash = '#/photo/%s'`, id))
	p.Await(`document.querySelector('.stage img.there') && document.querySelector('.row')`)
	p.Press("a", "r", "w")
	p.Await(`document.getElementById('said').textContent.startsWith('Written to ') && document.getElementById('photo-name')?.textContent === '` + filepath.Base(all[5].name) + `'`)
	p.Press("a")
	p.Await(`document.querySelector('.row.accept')`)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 768, 375} {
			p.Window(theme, width, map[int64]int64{1280: 860, 768: 1024, 375: 800}[width])
			for _, v := range views {
				p.Text(fmt.Sprintf(`location.hash = %q`, v.hash))
				p.Await(`!document.getElementById('main').hasAttribute('aria-busy')`)
				p.Text(`document.querySelector('.cloud') && (document.querySelector('.cloud').open = true)`)
				p.Text(`document.querySelector('.filters') && (document.querySelector('.filters').open = true)`)
				p.Text(`document.getElementById('as-text') && (document.getElementById('as-text').open = true)`)
				p.Await(v.ready)
				if v.name == "review" {
					p.Text(`[...document.querySelectorAll('.wall li')].slice(1, 3).forEach((li) => li.click())`)
				}
				name := fmt.Sprintf("%s-%s-%d", v.name, theme, width)
				pictured(t, p, name)
				if got := p.Text(`new Set([...document.querySelectorAll('.wall .word:not(.unwritten)')].map((e) => e.offsetHeight).filter(Boolean)).size`); got != "0" && got != "1" {
					t.Errorf("%s: words have %s heights", name, got)
				}
				for _, rule := range p.Broken() {
					t.Errorf("%s: %s", name, rule)
				}
				if wide := p.Text(`document.documentElement.scrollWidth - innerWidth`); wide != "0" {
					t.Errorf("%s: %s pixels stick out", name, wide)
				}
			}
			p.Press("?")
			p.Await(`document.getElementById('help').open`)
			pictured(t, p, fmt.Sprintf("help-%s-%d", theme, width))
			for _, rule := range p.Broken() {
				t.Errorf("help-%s-%d: %s", theme, width, rule)
			}
			p.Text(`document.getElementById('help').close()`)
		}
	}
	if got := p.Complaints(); len(got) > 0 {
		t.Errorf("complaints: %q", got)
	}
	if got := p.Strangers(); len(got) > 0 {
		t.Errorf("requests to strangers: %q", got)
	}
}

// Keys do nothing while the user types or has switched them off.
func TestKeyboardShortcuts(t *testing.T) {
	f := newFake(t, 3)
	s, address := start(t, f)
	p := browser.New(t)
	p.Open(address)
	all, _ := s.photos.list()
	p.Await(`document.querySelectorAll('.wall a[href]').length === 3`)
	p.Text(`document.querySelector('.wall a').click()`)
	at := func(i int) {
		t.Helper()
		p.Await(fmt.Sprintf(`location.hash === '#/photo/%s' && document.getElementById('photo-name')?.textContent === %q`, all[i].id, filepath.Base(all[i].name)))
	}
	at(0)
	p.Press("ArrowRight")
	at(1)
	p.Press("ArrowRight")
	at(2)
	p.Press("ArrowRight") // last photo
	p.Press("ArrowLeft")
	at(1)
	p.Press("s")
	p.Await(`document.querySelectorAll('.row').length > 2`)
	first, second := p.Text(`document.querySelectorAll('.row')[0].dataset.word`), p.Text(`document.querySelectorAll('.row')[1].dataset.word`)
	chosen := func(word string) {
		t.Helper()
		p.Await(fmt.Sprintf(`document.querySelector('.row.chosen').dataset.word === %q`, word))
	}
	chosen(first)
	p.Press("ArrowDown")
	chosen(second)
	if got := p.Text(`document.activeElement.dataset.word`); got != second {
		t.Errorf("a screen reader reads %q, not %q", got, second)
	}
	p.Press("ArrowUp", "ArrowUp")
	chosen(first)
	p.Press("a")
	chosen(second)
	if got := p.Text(`document.activeElement.dataset.word`); got != second {
		t.Errorf("the focus is on %q, and %q is chosen", got, second)
	}
	p.Press("r", "n")
	p.Await(`document.activeElement.id === 'add'`)
	p.Press("a", "r", "w", "s", "?", "Enter") // typed into a word
	p.Await(`document.querySelector('.chips .new')?.textContent === 'arws?'`)
	p.Press("Escape")
	p.Await(`document.activeElement.id !== 'add'`)
	p.Press("w")
	p.Await(`document.getElementById('said').textContent.startsWith('Written to ')`)
	at(2) // writing goes on to the next photo
	k := f.known[all[1].path]
	if fmt.Sprint(k.Yours) != fmt.Sprintf("[%s arws?]", first) || fmt.Sprint(k.Rejected) != fmt.Sprintf("[%s]", second) {
		t.Errorf("written: %+v", k)
	}
	p.Press("Escape")
	p.Await(`document.querySelector('.wall')`)
	p.Press("/")
	p.Await(`document.activeElement.id === 'word'`)
	p.Text(`location.hash = '#/settings'`)
	p.Await(`document.getElementById('keys')`)
	p.Text(`document.getElementById('keys').click()`)
	p.Press("?")
	if got := p.Text(`document.getElementById('help').open`); got != "false" {
		t.Error("keys that are switched off act")
	}
	if got := p.Complaints(); len(got) > 0 {
		t.Errorf("complaints: %q", got)
	}
}

func TestMarkupIsShownAsText(t *testing.T) {
	f := newFake(t, 1)
	evil := `<img src=x onerror=alert(1)>`
	for path, words := range f.truth {
		other := filepath.Join(filepath.Dir(path), evil+".jpg")
		if err := os.Rename(path, other); err != nil {
			t.Skip(err) // some systems forbid such names
		}
		f.truth = map[string][]string{other: append(words, evil, "javascript:alert(1)")}
		f.known = map[string]*Known{other: {Yours: []string{evil + "yours"}}}
	}
	_, address := start(t, f)
	p := browser.New(t)
	p.Open(address)
	p.Await(`document.querySelector('.wall a[href][aria-label]')`)
	p.Text(`document.querySelector('.wall a').click()`)
	p.Await(`document.getElementById('photo-name')`)
	p.Press("s")
	p.Await(`document.querySelectorAll('.row').length > 2 && document.querySelector('.near li')`)
	p.Text(`location.hash = '#/search/' + encodeURIComponent(document.querySelector('.chips li').textContent)`)
	p.Await(`document.querySelector('.results h2')`)
	if got := p.Text(`document.querySelector('.results h2').textContent`); got != "1 photo with "+evil+"yours" {
		t.Errorf("%s", got)
	}
	if got := p.Text(`document.querySelectorAll('img[src=x]').length`); got != "0" {
		t.Error("markup was taken for markup")
	}
	if got := append(p.Complaints(), p.Strangers()...); len(got) > 0 {
		t.Errorf("complaints: %q", got)
	}
}
