package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar/internal/browser"
)

var pictures = flag.String("pictures", "", "write pictures of every view into this folder")

// TestEveryView: in both themes and at two widths, every view can be used without eyes and
// without a mouse (axe-core), nothing is complained of, and nothing is fetched from elsewhere.
func TestEveryView(t *testing.T) {
	f := newFake(t, 24)
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
	p.Text(`document.querySelector('.head .main').click()`)
	p.Await(`document.querySelectorAll('.wall .bar').length > 20 && document.getElementById('working').hidden`)
	views := []struct{ name, hash, ready string }{
		{"library", "#/", `document.querySelector('.wall .bar') && [...document.querySelectorAll('.wall img')].every((i) => i.getBoundingClientRect().top > innerHeight || i.matches('.there'))`},
		{"photo", "#/photo/" + id, `document.querySelector('.stage img.there') && document.querySelector('.cloud canvas') && document.querySelector('.near li')`},
		{"search", "#/search/" + fakeWord, `document.querySelector('.results h2')`},
		{"runs", "#/runs", `document.querySelector('.runs li')`},
		{"settings", "#/settings", `document.querySelector('.facts')`},
	}
	p.Text(fmt.Sprintf(`location.hash = '#/photo/%s'`, id))
	p.Await(views[1].ready)
	p.Press("a", "r", "w")
	p.Await(`document.querySelector('.row.written, .row small')`)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 375} {
			p.Window(theme, width, map[int64]int64{1280: 860, 375: 800}[width])
			for _, v := range views {
				p.Text(fmt.Sprintf(`location.hash = %q`, v.hash))
				p.Await(`!document.getElementById('main').hasAttribute('aria-busy') && ` + v.ready)
				name := fmt.Sprintf("%s-%s-%d", v.name, theme, width)
				if *pictures != "" {
					p.Await(`!document.querySelector('.said.shown')`)
					if err := os.WriteFile(filepath.Join(*pictures, name+".png"), p.Picture(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if *pictures != "" && v.name == "photo" {
					p.Window(theme, width, 2000)
					if err := os.WriteFile(filepath.Join(*pictures, name+"-tall.png"), p.Picture(), 0o644); err != nil {
						t.Fatal(err)
					}
					p.Window(theme, width, 860)
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
