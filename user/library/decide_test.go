package library

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cpar"
	"cpar/user/metadata"
)

// What a person accepts is theirs, what they reject is not written again, and all of it is
// found, learnt from, and taken back.
func TestDecide(t *testing.T) {
	w := newWorld(t, 2)
	all, _ := w.annotate(sidecars())
	before := w.tree()
	path, words := w.list[0].Path, all[0].Added
	if len(words) < 2 {
		t.Fatalf("too few words: %q", words)
	}
	r, err := w.open().Decide(t.Context(), path, metadata.Sidecar, metadata.Follow, words[:1], words[1:2], []string{"Aunt Ada"})
	if err != nil || r.Run == "" || !slices.Equal(r.Files, []string{path + ".xmp"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	now, _, err := metadata.ReadFile(path)
	if err != nil || !slices.Contains(now.Human, words[0]) || !slices.Contains(now.Human, "Aunt Ada") || slices.Contains(now.Machine, words[1]) {
		t.Fatalf("%+v, %v", now, err)
	}
	l := w.open()
	if got := l.Machine(path); slices.Contains(got, words[0]) || slices.Contains(got, "Aunt Ada") {
		t.Errorf("machine: %q", got)
	}
	for word, want := range map[string]int{"aunt": 1, "AUNT ADA": 1, words[0]: 1, "nothing": 0, "": 0} {
		found := l.Find(word)
		hit := slices.ContainsFunc(found, func(r Result) bool { return r.Path == path })
		if hit != (want == 1) {
			t.Errorf("%q is found in %+v", word, found)
		}
	}
	if slices.ContainsFunc(l.Find(words[1]), func(r Result) bool { return r.Path == path }) {
		t.Errorf("%q was rejected, and is found", words[1])
	}
	o := sidecars()
	o.Most = 12
	w.annotate(o)
	if got := w.words(path); slices.Contains(got, words[1]) {
		t.Errorf("%q was rejected, and is written again", words[1])
	}
	w.undo("")
	w.undo(r.Run)
	if !maps.Equal(before, w.tree()) {
		t.Error("not as before")
	}
	if got := w.open().Machine(path); !slices.Contains(got, words[0]) {
		t.Errorf("undone, and still accepted: %q", got)
	}
	if _, err := l.Decide(t.Context(), filepath.Join(w.dir, "none.jpg"), metadata.Sidecar, metadata.Follow, nil, nil, []string{"word"}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a photo that is not there: %v", err)
	}
}

// A photo that another program has moved, and taken our marks from, is known by its name
// and what it shows.
func TestMachineWhereItWasMoved(t *testing.T) {
	w := newWorld(t, 2)
	all, _ := w.annotate(sidecars())
	b, err := os.ReadFile(w.list[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	moved, other := filepath.Join(w.dir, "sub", "p00.jpg"), filepath.Join(w.dir, "other", "p00.jpg")
	w.write(moved, b)
	if b, err = os.ReadFile(w.list[1].Path); err != nil {
		t.Fatal(err)
	}
	w.write(other, b)
	l := w.open()
	if got := l.Machine(moved); !slices.Equal(got, sorted(all[0].Added)) {
		t.Errorf("moved: %q, want %q", got, all[0].Added)
	}
	if got := l.Machine(other); len(got) > 0 {
		t.Errorf("another photo of that name: %q", got)
	}
}
