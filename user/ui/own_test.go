package ui

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/scene"
	"cpar/internal/testing/browser"
	"cpar/model/rank"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/library"
)

func newOwn(t *testing.T, withKey bool) (w *OwnBackend, path string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "a.jpg")
	jpg, _, err := scene.RenderJPEG(5, 40)
	if err == nil {
		err = os.WriteFile(path, jpg, 0o600)
	}
	var l *library.Library
	if err == nil && withKey {
		l, err = library.Open(user.NewKey(), &device.Device{State: t.TempDir(), Cache: t.TempDir()})
	}
	if err != nil {
		t.Fatal(err)
	}
	words := func(photo []byte) ([]rank.Keyword, error) {
		if len(photo) != len(jpg) {
			return nil, cpar.ErrInput
		}
		return []rank.Keyword{{Word: "boat", Weight: 0.8}, {Word: "shark", Weight: 0.3}}, nil
	}
	return NewOwnBackend(l, words, LibraryOptions{Folders: []string{dir}, Where: metadata.Sidecar, Style: metadata.Append}), path
}

func TestOwnWordsAreWrittenOnlyIfAccepted(t *testing.T) {
	w, path := newOwn(t, true)
	if k, err := w.Look(path); err != nil || k.Asked || len(k.Keywords) > 0 {
		t.Fatalf("%+v, %v", k, err)
	}
	broken := filepath.Join(filepath.Dir(path), "b.jpg")
	if err := os.WriteFile(broken, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	answers, err := w.Annotate(t.Context(), []string{path, broken})
	if err != nil || len(answers) != 2 || answers[0].Err != nil || answers[1].Err == nil {
		t.Fatalf("%+v, %v", answers, err)
	}
	if k, err := w.Look(path); err != nil || !k.Asked || len(k.Keywords) != 2 {
		t.Fatalf("%+v, %v", k, err)
	}
	if out, err := writeOne(t, w, path, Decision{}); err != nil || out.Run != "" {
		t.Errorf("%+v, %v", out, err)
	}
	out, err := writeOne(t, w, path, Decision{Accept: []string{"boat"}})
	k, _ := w.Look(path)
	if err != nil || out.Run == "" || !slices.Equal(k.Yours, []string{"boat"}) {
		t.Errorf("%+v, %v, %+v", out, err, k)
	}
	if found, err := w.Find(t.Context(), "boat"); err != nil || !slices.Equal(found, []string{path}) {
		t.Errorf("%q, %v", found, err)
	}
	if runs, err := w.Runs(); err != nil || len(runs) != 1 {
		t.Errorf("%+v, %v", runs, err)
	}
	if _, err := w.Undo(t.Context(), out.Run); err != nil {
		t.Error(err)
	}
	if k, _ := w.Look(path); len(k.Yours) > 0 {
		t.Errorf("%+v", k)
	}
}

func TestOwnWordsAreWrittenWithAKeyOnly(t *testing.T) {
	w, path := newOwn(t, false)
	if _, err := writeOne(t, w, path, Decision{Accept: []string{"boat"}}); !errors.Is(err, cpar.ErrKey) || hint.Of(err) == "" {
		t.Error(err)
	}
	runs, err1 := w.Runs()
	found, err2 := w.Find(t.Context(), "boat")
	if _, err := w.Look(path); errors.Join(err, err1, err2) != nil || len(runs)+len(found) > 0 {
		t.Errorf("%v, %v, %v", err, runs, found)
	}
}

// The page marks the words, and writes those that are accepted.
func TestOwnWordsOnThePage(t *testing.T) {
	w, path := newOwn(t, true)
	_, address := startBackend(t, w, filepath.Dir(path))
	p := browser.New(t)
	p.Open(address)
	p.Await(`document.querySelector('.wall a[aria-label]')`)
	p.Text(`document.querySelector('.wall a').click()`)
	p.Await(`document.getElementById('photo-name')`)
	p.Press("s")
	p.Await(`document.querySelectorAll('.maybe .row').length === 2 && document.querySelector('.near').textContent.includes('not learnt from your photos')`)
	if got := p.Text(`document.querySelector('.maybe h2').textContent`); got != "Maybe from the network's own vocabulary, not from your photos; written only if you accept it" {
		t.Errorf("%q", got)
	}
	p.Press("a", "w")
	p.Await(`document.querySelector('.yours')?.textContent.includes('boat')`)
	if k, err := w.Look(path); err != nil || !slices.Equal(k.Yours, []string{"boat"}) {
		t.Errorf("%+v, %v", k, err)
	}
	p.Text(`location.hash = '#/settings'`)
	p.Await(`document.getElementById('main').textContent.includes('accept a suggestion')`)
	if got := append(p.Complaints(), p.Strangers()...); len(got) > 0 {
		t.Errorf("complaints: %q", got)
	}
}
