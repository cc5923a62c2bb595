package library

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/photo/metadata"
)

// decide writes one decision. A failure of its photo is returned, too.
func decide(t *testing.T, l *Library, d Decision, o Options) (r Result, err error) {
	t.Helper()
	err = l.Decide(t.Context(), []Decision{d}, o, func(of Result) { r = of })
	return r, cmp.Or(err, r.Err)
}

func into(where metadata.Where, style metadata.Style, keep bool) Options {
	return Options{Where: where, Style: style, KeepMtime: keep}
}

// Decisions are written, found, respected by later runs, and undone.
func TestDecideWritesAndUndoes(t *testing.T) {
	w := newWorld(t, 2)
	all, _ := w.annotate(sidecars())
	before := w.tree()
	path, words := w.list[0].Path, all[0].Added
	if len(words) < 2 {
		t.Fatalf("too few words: %q", words)
	}
	r, err := decide(t, w.open(), Decision{Path: path, Accept: words[:1], Reject: words[1:2], Add: []string{"Aunt Ada"}}, into(metadata.Sidecar, metadata.Follow, false))
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
	o.MaxKeywords = 12
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
	if _, err := decide(t, l, Decision{Path: filepath.Join(w.dir, "none.jpg"), Add: []string{"word"}}, into(metadata.Sidecar, metadata.Follow, false)); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a photo that is not there: %v", err)
	}
}

func TestMachineFindsMovedPhoto(t *testing.T) {
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

func TestUndoOfOlderDecisionWaits(t *testing.T) {
	w := newWorld(t, 1)
	all, _ := w.annotate(sidecars())
	path, words, before := w.list[0].Path, all[0].Added, w.tree()
	if len(words) < 2 {
		t.Fatalf("too few words: %q", words)
	}
	put := func(accept, reject, add []string) string {
		r, err := decide(t, w.open(), Decision{Path: path, Accept: accept, Reject: reject, Add: add}, into(metadata.Sidecar, metadata.Append, false))
		if err != nil {
			t.Fatal(err)
		}
		return r.Run
	}
	accepted := put(words[:1], nil, nil)
	rejected := put(nil, words[1:2], nil)
	after := w.tree()
	u := w.undo(accepted)
	if len(u.Left) != 1 || !strings.Contains(u.Left[0].Reason, rejected) || !maps.Equal(after, w.tree()) {
		t.Fatalf("%+v, want %s first", u, rejected)
	}
	if got := w.open().Machine(path); slices.Contains(got, words[0]) {
		t.Errorf("still accepted in the file, and the machine's: %q", got)
	}
	for _, run := range []string{rejected, accepted} {
		if u := w.undo(run); len(u.Restored) != 1 || len(u.Left) > 0 {
			t.Fatalf("in order: %+v", u)
		}
	}
	if !maps.Equal(before, w.tree()) {
		t.Error("not as before")
	}
	// Added words alone can be removed in any order.
	added := put(nil, nil, []string{"mine"})
	put(nil, words[1:2], nil)
	if u := w.undo(added); len(u.Retracted) != 1 || len(u.Left) > 0 {
		t.Errorf("added: %+v", u)
	}
}

// If another program has changed the file, the decision stays. A repeated undo
// continues.
func TestUndoOfDecisionAfterExternalChange(t *testing.T) {
	w := newWorld(t, 1)
	also := w.paint("also.jpg", 41)
	w.list = w.list[:1]
	w.list[0].Also = []string{also}
	all, _ := w.annotate(sidecars())
	path, words := w.list[0].Path, all[0].Added
	before := w.tree()
	r, err := decide(t, w.open(), Decision{Path: path, Reject: words[:1]}, into(metadata.Sidecar, metadata.Append, false))
	if err != nil || len(r.Files) != 2 {
		t.Fatal(r, err)
	}
	b, err := os.ReadFile(path + ".xmp")
	if err != nil {
		t.Fatal(err)
	}
	w.write(path+".xmp", append(b, '\n'))
	for i, restored := range []int{1, 0, 1} {
		if i == 2 {
			w.write(path+".xmp", b)
		}
		u := w.undo(r.Run)
		if left := i < 2; len(u.Restored) != restored || (len(u.Left) == 1) != left || left && !strings.Contains(u.Left[0].Reason, "changed since") {
			t.Fatalf("%d: %+v", i, u)
		}
	}
	if !maps.Equal(before, w.tree()) {
		t.Error("not as before")
	}
}

func TestDecideKeepsModificationTime(t *testing.T) {
	for _, keep := range []bool{true, false} {
		w := newWorld(t, 1)
		path, old := w.list[0].Path, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		kept := func() bool {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			return info.ModTime().Equal(old)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		if _, err := decide(t, w.open(), Decision{Path: path, Add: []string{"mine"}}, into(metadata.Embedded, metadata.Append, keep)); err != nil {
			t.Fatal(err)
		}
		if kept() != keep {
			t.Errorf("keep %v: decided", keep)
		}
		if w.undo(""); kept() != keep {
			t.Errorf("keep %v: undone", keep)
		}
	}
}

// Decisions on many photos, together with machine keywords, are one run and one
// undo.
func TestDecisionsOnManyPhotosAreOneRun(t *testing.T) {
	w := newWorld(t, 3)
	before := w.tree()
	l := w.open()
	var list []Decision
	for i, p := range w.list {
		d := Decision{Path: p.Path, Accept: []string{"boat"}, Suggest: []string{"sky", "boat"}}
		if i == 2 {
			d = Decision{Path: p.Path, Suggest: []string{"sky"}} // a machine's alone
		}
		list = append(list, d)
	}
	list = append(list, Decision{Path: filepath.Join(w.dir, "gone.jpg"), Add: []string{"boat"}})
	var results []Result
	if err := l.Decide(t.Context(), list, sidecars(), func(r Result) { results = append(results, r) }); err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if i == 3 {
			if !errors.Is(r.Err, cpar.ErrInput) || r.Run != "" {
				t.Errorf("a missing photo: %+v", r)
			}
			continue
		}
		now, _, err := metadata.ReadFile(r.Path)
		yours, machine := []string{"boat"}, []string{"sky"}
		if i == 2 {
			yours = nil
		}
		if err != nil || r.Err != nil || r.Run != results[0].Run || len(r.Files) != 1 || !slices.Equal(now.Human, yours) || !slices.Equal(now.Machine, machine) {
			t.Errorf("%d: %+v, %+v, %v", i, r, now, err)
		}
		if got := w.open().Machine(r.Path); !slices.Equal(got, machine) {
			t.Errorf("%d: machine %q", i, got)
		}
	}
	runs, err := w.open().Runs()
	if err != nil || len(runs) != 1 || runs[0].Files != 3 || runs[0].Keywords != 5 || runs[0].Command != "decide 4 photos" {
		t.Fatalf("%+v, %v", runs, err)
	}
	if u := w.undo(""); len(u.Restored) != 3 || len(u.Photos) != 3 || !maps.Equal(before, w.tree()) {
		t.Errorf("not as before: %+v", u)
	}
	if got := w.open().Machine(w.list[0].Path); len(got) > 0 {
		t.Errorf("undone, and still the machine's: %q", got)
	}
}
