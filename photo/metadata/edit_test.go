package metadata

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/internal/hint"
)

func TestApplyKeepsModeAndTime(t *testing.T) {
	old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, keep := range []bool{false, true} {
		for _, where := range []Where{Sidecar, Embedded} {
			photo := save(t, "a.jpg", plainJPEG(t))
			put(t, photo+".xmp", []byte(subjects("mine")))
			for _, name := range []string{photo, photo + ".xmp"} {
				if err := os.Chmod(name, 0o646); err != nil { // more than a umask would leave
					t.Fatal(err)
				}
				os.Chtimes(name, old, old)
			}
			e, err := Plan(photo, where, Append, skySea)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Apply(keep); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(e.Path)
			if err != nil || info.Mode().Perm() != 0o646 {
				t.Errorf("%s: permissions %v, %v", where, info.Mode(), err)
			}
			if info.ModTime().Equal(old) != keep {
				t.Errorf("%s: time %v, keep %v", where, info.ModTime(), keep)
			}
		}
	}
	photo := save(t, "a.jpg", plainJPEG(t))
	os.Chmod(photo, 0o440)
	e := do(t, photo, Sidecar, Append, skySea)
	if info, _ := os.Stat(e.Path); info.Mode().Perm()&0o600 != 0o600 {
		t.Errorf("a new sidecar has permissions %v", info.Mode())
	}
}

func TestApplyFollowsLinksAndLeavesThem(t *testing.T) {
	for _, where := range []Where{Sidecar, Embedded} {
		real := save(t, "real.jpg", plainJPEG(t))
		put(t, real+".xmp", []byte(subjects("mine")))
		folder := t.TempDir()
		photo := filepath.Join(folder, "a.jpg")
		for from, to := range map[string]string{photo: real, photo + ".xmp": real + ".xmp"} {
			if err := os.Symlink(to, from); err != nil {
				t.Skip("no symbolic links here: ", err)
			}
		}
		e := do(t, photo, where, Append, skySea)
		if filepath.Dir(e.Path) == folder {
			t.Errorf("%s: the edit names the link %s", where, e.Path)
		}
		for _, name := range []string{photo, photo + ".xmp"} {
			if info, err := os.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("%s: the link %s was replaced", where, filepath.Base(name))
			}
		}
		equal(t, "through the link", read(t, photo).Machine, skySea.Suggest)
	}
	photo := save(t, "a.jpg", plainJPEG(t))
	e, err := Plan(photo, Sidecar, Append, skySea)
	if err != nil {
		t.Fatal(err)
	}
	os.Symlink(photo+".nowhere", photo+".xmp")
	if err := e.Apply(false); !errors.Is(err, ErrChanged) {
		t.Errorf("a link where the sidecar was to be: %v", err)
	}
	if _, err := Plan(photo, Sidecar, Append, skySea); err == nil || !strings.Contains(err.Error(), "broken symbolic link") {
		t.Errorf("a broken link: %v", err)
	}
}

// The sidecar was created by another program after the plan.
func TestApplyNeverOverwritesANewSidecar(t *testing.T) {
	photo := save(t, "a.jpg", plainJPEG(t))
	e, err := Plan(photo, Sidecar, Append, skySea)
	if err != nil {
		t.Fatal(err)
	}
	put(t, e.Path, []byte("theirs"))
	if err := e.Apply(false); !errors.Is(err, ErrChanged) {
		t.Errorf("over theirs: %v", err)
	}
	if got := get(t, e.Path); string(got) != "theirs" {
		t.Errorf("it holds %q", got)
	}
	if all, err := os.ReadDir(filepath.Dir(photo)); err != nil || len(all) != 2 {
		t.Errorf("beside it: %v, %v", all, err)
	}
}

func TestApplyRefusesChangedFiles(t *testing.T) {
	for _, where := range []Where{Sidecar, Embedded} {
		for name, change := range map[string]func(path string){
			"beginning": func(p string) { put(t, p, append([]byte("x"), get(t, p)...)) },
			"end":       func(p string) { put(t, p, append(get(t, p), 0)) },
			"gone":      func(p string) { os.Remove(p) },
			"a folder":  func(p string) { os.Remove(p); os.Mkdir(p, 0o755) },
		} {
			photo := save(t, "a.jpg", plainJPEG(t))
			put(t, photo+".xmp", []byte(subjects("mine")))
			e, err := Plan(photo, where, Append, skySea)
			if err != nil {
				t.Fatal(err)
			}
			change(e.Path)
			before, _ := os.ReadFile(e.Path)
			err = e.Apply(false)
			if err == nil || name != "gone" && !errors.Is(err, ErrChanged) {
				t.Errorf("%s, %s: %v", where, name, err)
			}
			if after, _ := os.ReadFile(e.Path); !bytes.Equal(before, after) {
				t.Errorf("%s, %s: written all the same", where, name)
			}
			if entries, _ := os.ReadDir(filepath.Dir(photo)); len(entries) > 2 {
				t.Errorf("%s, %s: left behind %v", where, name, entries)
			}
		}
	}
	photo := save(t, "a.jpg", plainJPEG(t))
	first, _ := Plan(photo, Sidecar, Append, skySea)
	do(t, photo, Sidecar, Append, Change{Suggest: []string{"other"}})
	if err := first.Apply(false); !errors.Is(err, ErrChanged) {
		t.Errorf("a sidecar that appeared: %v", err)
	}
	if err := first.Undo().Apply(false); !errors.Is(err, ErrChanged) {
		t.Errorf("removing what another wrote: %v", err)
	}
}

func TestApplyRefusesReadOnly(t *testing.T) {
	for what, protect := range map[string]func(photo string) string{
		"file":   func(p string) string { return p },
		"folder": filepath.Dir,
	} {
		for _, where := range []Where{Sidecar, Embedded} {
			photo := save(t, "a.jpg", plainJPEG(t))
			if what == "file" && where == Sidecar {
				continue
			}
			path := protect(photo)
			os.Chmod(path, 0o555)
			t.Cleanup(func() { os.Chmod(path, 0o755) })
			e, err := Plan(photo, where, Append, skySea)
			if err != nil {
				t.Fatal(err)
			}
			err = e.Apply(false)
			if !errors.Is(err, cpar.ErrStorage) || !strings.Contains(err.Error(), "the "+what+" is read-only") || hint.Of(err) == "" {
				t.Errorf("%s in a read-only %s: %v", where, what, err)
			}
		}
	}
}

func TestUndoIsTheInverse(t *testing.T) {
	photo := save(t, "a.jpg", plainJPEG(t))
	for _, where := range []Where{Sidecar, Embedded} {
		e := do(t, photo, where, Append, skySea)
		u := e.Undo()
		if u.Before != e.After || u.After != e.Before || u.Created || u.Path != e.Path {
			t.Errorf("%s: %+v", where, u)
		}
		if err := u.Apply(false); err != nil {
			t.Fatal(err)
		}
		if err := u.Undo().Apply(false); err != nil {
			t.Fatal(err)
		}
		equal(t, "done again", read(t, photo).Machine, skySea.Suggest)
		if err := u.Apply(false); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSuggestAndUndo(t *testing.T) {
	for _, where := range []Where{Sidecar, Embedded} {
		photo := save(t, "a.jpg", plainJPEG(t))
		before := get(t, photo)
		e := do(t, photo, where, Append, Change{Suggest: []string{"sky", "Küste"}, Run: "r1"})
		equal(t, "added", e.Added, []string{"sky", "Küste"})
		w := read(t, photo)
		equal(t, "human", w.Human, nil)
		equal(t, "machine", w.Machine, []string{"sky", "Küste"})
		if w.Run != "r1" {
			t.Errorf("run %q", w.Run)
		}
		again, err := Plan(photo, where, Append, Change{Suggest: []string{"SKY"}, Run: "r2"})
		if again != nil || err != nil {
			t.Errorf("again: %v %v", again, err)
		}
		gone, err := Retract(e.Path, "r1", e.Added)
		if err != nil {
			t.Fatal(err)
		}
		if where == Sidecar && gone.New != nil || where == Embedded && !bytes.Equal(append(gone.New, before[len(before):]...), e.Old) {
			t.Errorf("%s: something is left: %q", where, gone.New)
		}
		if err := e.Undo().Apply(false); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(get(t, photo), before) {
			t.Errorf("%s: the photo is not what it was", where)
		}
		if _, err := os.Stat(photo + ".xmp"); err == nil {
			t.Error("the sidecar is left")
		}
	}
}
