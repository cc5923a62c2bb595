package ui

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/model/rank"
)

func TestLinkedSidecarsOutsideFoldersAreRefused(t *testing.T) {
	h := newHouse(t, rank.KindPaper)
	const empty = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""/></rdf:RDF></x:xmpmeta>`
	write := func(path string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(empty), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	outside, within := write(filepath.Join(t.TempDir(), "other.xmp")), write(filepath.Join(h.dir, "kept.xmp"))
	photo := filepath.Join(h.dir, "new0.jpg")
	for _, c := range []struct {
		link, to string
		refused  bool
	}{
		{photo + ".xmp", outside, true},
		{filepath.Join(h.dir, "new0.xmp"), outside, true},
		{filepath.Join(h.dir, "new0.cr2"), outside, true},
		{photo + ".xmp", within, false},
	} {
		if err := os.Symlink(c.to, c.link); err != nil {
			t.Skip(err)
		}
		if _, _, err := h.Photos(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, looked := h.Look(photo)
		_, wrote := writeOne(t, h, photo, Decision{Add: []string{"boat"}})
		if errors.Is(looked, cpar.ErrInput) != c.refused || errors.Is(wrote, cpar.ErrInput) != c.refused {
			t.Errorf("%s: %v, %v", filepath.Base(c.link), looked, wrote)
		}
		if err := os.Remove(c.link); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != empty {
		t.Errorf("written outside: %s, %v", b, err)
	}
	if b, err := os.ReadFile(within); err != nil || !strings.Contains(string(b), "boat") {
		t.Errorf("not written inside: %s, %v", b, err)
	}
}
