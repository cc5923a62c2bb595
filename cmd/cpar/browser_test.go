package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar/internal/scene"
	"cpar/internal/testing/browser"
	"cpar/photo/dataset"
	"cpar/photo/metadata"
)

// This command makes the pictures of the page in docs/:
//
//	go test ./cmd/cpar -run TestPageInBrowser -pictures ../../docs
var pictures = flag.String("pictures", "", "write pictures of the page into this folder")

func collection(t *testing.T, dir string, tagged, fresh int) (names []string) {
	t.Helper()
	var items []dataset.Photo
	for i := range tagged + fresh {
		jpg, words, err := paintOnce(i)
		if err != nil {
			t.Fatal(err)
		}
		folder, name := "tagged", fmt.Sprintf("%03d.jpg", i)
		if i >= tagged {
			folder, name = "summer", fmt.Sprintf("P10%03d.jpg", 400+7*(i-tagged))
			names = append(names, name)
		} else {
			items = append(items, dataset.Photo{Name: name, Keywords: words})
		}
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, name), jpg, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := dataset.WriteManifestFile(filepath.Join(dir, "tagged"), items); err != nil {
		t.Fatal(err)
	}
	return names
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

func TestPageInBrowser(t *testing.T) {
	dir := t.TempDir()
	page := browser.New(t)
	sh := programs{t, dir}
	names := collection(t, dir, 132, 16)
	sh.run("cpar", "init", "--key", "k", "--no-passphrase")
	sh.run("cpar", "build", "tagged", "--key", "k", "--out", "index", "--ranker", "calibrated")
	cloud := sh.serve("listening on ", "cpard", "-data", "cloud")
	sh.run("cpar", "push", "index", "--cloud", cloud.address)
	photos := filepath.Join(dir, "summer")
	before := tree(t, photos)
	ui := sh.serve("open ", "cpar", "ui", "summer", "--key", "k", "--cloud", cloud.address, "--sidecar-style", "append")
	page.Open(ui.address)
	page.Await(`document.querySelectorAll('.wall img.there').length > 3`)

	// A copy under another name counts as the same photo.
	const at = 5
	copied := filepath.Join(dir, "from the camera.jpg")
	if err := os.WriteFile(copied, []byte(before[names[at]]), 0o600); err != nil {
		t.Fatal(err)
	}
	page.Drop(copied)
	page.Await(fmt.Sprintf(`document.getElementById('photo-name')?.textContent === %q`, names[at]))
	page.Await(`document.querySelectorAll('.row').length > 1 && document.querySelectorAll('.near li').length > 3`)
	page.Text(`document.querySelector('.cloud').open = true`)
	page.Await(`document.querySelector('.cloud canvas')`)
	if got := page.Text(`document.querySelector('.cloud').textContent`); !strings.Contains(got, "sealed") || !strings.Contains(got, "could read none") {
		t.Errorf("what the cloud saw: %s", got)
	}
	rejected := page.Text(`document.querySelector('.row.chosen').dataset.word`)
	sure := page.Text(`[...document.querySelectorAll('.group.sure .row')].map((r) => r.dataset.word)`)
	page.Press("r")
	page.Await(`document.querySelector('.row.reject')?.dataset.word === ` + fmt.Sprintf("%q", rejected))
	page.Press("n")
	page.Await(`document.activeElement.id === 'add'`)
	page.Press("p", "i", "c", "n", "i", "c", "Enter")
	page.Await(`[...document.querySelectorAll('.chips .new')].some((e) => e.textContent === 'picnic')`)
	page.Text(`document.activeElement.blur()`)
	page.Press("w")
	page.Await(`document.getElementById('said').textContent.startsWith('Written to ')`)
	page.Await(fmt.Sprintf(`document.getElementById('photo-name')?.textContent === %q`, names[at+1])) // it goes on
	page.Press("ArrowLeft")
	page.Await(`[...document.querySelectorAll('.chips li')].some((e) => e.textContent === 'picnic' && e.className === '')`)

	words, problems, err := metadata.ReadFile(filepath.Join(photos, names[at]))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	left := slices.DeleteFunc(strings.Split(sure, ","), func(w string) bool { return w == rejected })
	slices.Sort(left)
	slices.Sort(words.Machine)
	if !slices.Equal(words.Human, []string{"picnic"}) || !slices.Equal(words.Rejected, []string{rejected}) || !slices.Equal(words.Machine, left) {
		t.Errorf("written: %+v; sure was %s, rejected %s", words, sure, rejected)
	}
	if now := tree(t, photos); len(now) != len(before)+1 || now[names[at]] != before[names[at]] {
		t.Errorf("%d files, the photo untouched: %v", len(now), now[names[at]] == before[names[at]])
	}

	// The next cpar add learns a person's keywords but no generated ones.
	learnt, err := dataset.Open(t.Context(), photos, dataset.Options{})
	if err != nil || len(learnt.Photos) != 1 || !slices.Equal(learnt.Photos[0].Keywords, []string{"picnic"}) {
		t.Errorf("learnt from: %+v, %v", learnt, err)
	}

	page.Press("/")
	page.Await(`document.activeElement.id === 'word'`)
	page.Press("p", "i", "c", "n", "i", "c", "Enter")
	page.Await(`document.querySelectorAll('.results .wall a').length === 1`)
	page.Await(fmt.Sprintf(`document.querySelector('.results .wall a').getAttribute('aria-label')?.startsWith(%q)`, names[at]))
	pictured(t, page)
	page.Text(`location.hash = '#/runs'`)
	page.Await(`document.querySelectorAll('.runs button').length === 1 && document.querySelectorAll('.runs .undone').length === 0`)
	page.Text(`document.querySelector('.runs button').click()`)
	page.Await(`document.querySelector('.runs button.main')`)
	page.Text(`document.querySelector('.runs button.main').click()`)
	page.Await(`document.querySelectorAll('.runs .undone').length === 1`)
	page.Text(`location.hash = '#/'`)
	page.Await(`document.querySelector('.wall')`)
	for name, b := range tree(t, photos) {
		if before[name] != b {
			t.Errorf("%s is not as before", name)
		}
	}

	stranger, _, err := scene.RenderJPEG(7, 500)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "stranger.jpg"), stranger, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	page.Drop(filepath.Join(dir, "stranger.jpg"))
	page.Await(`document.getElementById('photo-name')?.textContent === 'stranger.jpg' && document.querySelectorAll('.row').length > 1`)
	page.Press("a", "w")
	page.Downloaded("stranger.jpg.xmp")
	if err := os.WriteFile(filepath.Join(dir, "stranger.jpg.xmp"), page.Downloaded("stranger.jpg.xmp"), 0o600); err != nil {
		t.Fatal(err)
	}
	if words, _, err := metadata.ReadFile(filepath.Join(dir, "stranger.jpg")); err != nil || len(words.Human) != 1 {
		t.Errorf("the sidecar that was downloaded: %+v, %v", words, err)
	}

	// A rule made on the page is in the folder of the index and at the cloud.
	page.Text(`location.hash = '#/vocabulary/sky'`)
	page.Await(`document.getElementById('rule-synonym')`)
	page.Text(`document.getElementById('rule-synonym').focus()`)
	page.Press("h", "e", "a", "v", "e", "n", "Enter")
	page.Await(`document.querySelector('.mapped td')?.textContent === 'heaven'`)
	if got := sh.run("cpar", "words", "show", "--index", "index", "--key", "k"); !strings.Contains(got, "sky = 'heaven'") {
		t.Errorf("the vocabulary of the index is %s", got)
	}
	if got := sh.run("cpar", "push", "index", "--cloud", cloud.address, "--dry-run"); !strings.Contains(got, ": 0 B of ") {
		t.Errorf("the cloud lacks the vocabulary: %s", got)
	}

	for _, rule := range page.Broken() {
		t.Errorf("not usable by everybody: %s", rule)
	}
	if got := page.Complaints(); len(got) > 0 {
		t.Errorf("complaints: %q", got)
	}
	if got := page.Strangers(); len(got) > 0 {
		t.Errorf("requests to strangers: %q", got)
	}
	if err := ui.interrupt(); err != nil {
		t.Errorf("after ^C: %v", err)
	}
}

func pictured(t *testing.T, page *browser.Page) {
	t.Helper()
	if *pictures == "" {
		return
	}
	page.Text(`location.hash = '#/'`)
	page.Await(`document.querySelector('.head .main')`)
	page.Text(`document.querySelector('.head .main').click()`)
	page.Await(`document.querySelectorAll('.wall .bar').length > 15 && document.getElementById('working').hidden && !document.querySelector('.said.shown')`)
	page.Window("light", 1280, 820)
	page.Await(`[...document.querySelectorAll('.wall img')].every((i) => i.getBoundingClientRect().top > innerHeight || i.matches('.there'))`)
	draw := func(name string) {
		if err := os.WriteFile(filepath.Join(*pictures, name), page.Drawing(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	draw("ui-light.jpg")
	page.Window("dark", 1280, 1100)
	page.Text(`document.querySelectorAll('.wall a')[9].click()`)
	page.Await(`document.querySelector('.stage img.there')`)
	page.Press("a")
	page.Await(`document.querySelector('.row.accept') && !document.querySelector('.said.shown')`)
	draw("ui-dark.jpg")
	page.Text(`document.querySelector('.row.accept .act.accept').click()`)
	page.Await(`!document.querySelector('.row.accept')`)
}

// The page of an album asks an index at a real cloud for photos that look like words
// and like a photo.
func TestAlbumPageFindsByLikeness(t *testing.T) {
	dir := t.TempDir()
	page := browser.New(t)
	sh := programs{t, dir}
	collection(t, dir, 132, 3)
	sh.run("cpar", "init", "--key", "k", "--no-passphrase")
	sh.run("cpar", "build", "tagged", "--key", "k", "--out", "index", "--name", "mine", "--profile", "learned")
	log := sh.serve("listening on ", "cpard", "-data", "cloud")
	sh.run("cpar", "push", "index", "--cloud", log.address)
	sh.run("cpar", "album", "add", "tagged", "summer", "--key", "k", "--cloud", log.address)
	ui := sh.serve("open ", "cpar", "ui", "--album", "--index", "mine", "--key", "k", "--cloud", log.address)
	page.Open(ui.address)
	thumbnail := `document.querySelector('.wall img.there')`
	page.Await(thumbnail)
	page.Press("/", "s", "e", "a")
	page.Await(`document.getElementById('ask-alike')`)
	page.Press("Enter")
	asked := `!document.getElementById('alike').matches('[aria-busy]') && document.getElementById('alike-told').textContent.includes('The index does not have 3 photos')`
	page.Await(asked)
	page.Text(`document.getElementById('more-alike').click()`)
	page.Await(`document.querySelector('#alike img.there')`)
	page.Text(`document.querySelector('#alike li').click()`)
	page.Await(`document.querySelector('.lit img.whole')`)
	page.Press("l")
	page.Await(asked + ` && document.getElementById('alike-title').textContent.endsWith('.jpg') && document.querySelector('#alike img.there')`)
	page.Press("/", "x", "y", "z", "z", "y", "Enter")
	page.Await(`document.querySelector('#alike .failed')?.textContent.includes('no photo of the index has the keyword')`)
	if got := append(page.Complaints(), page.Strangers()...); len(got) > 0 {
		t.Errorf("complaints: %q", got)
	}
}
