package localstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpar"
)

func open(t *testing.T, dir string, key byte, limit int64) *Store {
	t.Helper()
	v, err := Open(dir, [32]byte{key}, limit)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func put(t *testing.T, v *Store, kind, name, value string) {
	t.Helper()
	if err := v.Put(kind, []byte(name), []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func get(v *Store, kind, name string) string {
	b, ok := v.Get(kind, []byte(name))
	if !ok {
		return "(none)"
	}
	return string(b)
}

func TestEntriesAreBoundToKeyAndName(t *testing.T) {
	dir := t.TempDir()
	v := open(t, dir, 1, 0)
	put(t, v, "feature", "beach.jpg", "sand")
	put(t, v, "answer", "beach.jpg", "sea")
	put(t, v, "feature", "beach.jpg", "more sand")
	for _, c := range []struct {
		in               *Store
		kind, name, want string
	}{
		{v, "feature", "beach.jpg", "more sand"},
		{v, "answer", "beach.jpg", "sea"},
		{v, "answer", "hill.jpg", "(none)"},
		{open(t, dir, 1, 0), "answer", "beach.jpg", "sea"},
		{open(t, dir, 2, 0), "answer", "beach.jpg", "(none)"},
	} {
		if got := get(c.in, c.kind, c.name); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.kind, c.name, got, c.want)
		}
	}
	// An entry moved to another name is not a value of that name.
	if err := os.Rename(v.path("answer", []byte("beach.jpg")), v.path("feature", []byte("beach.jpg"))); err != nil {
		t.Fatal(err)
	}
	if got := get(v, "feature", "beach.jpg"); got != "(none)" {
		t.Errorf("an exchanged entry: %q", got)
	}
}

func TestFilesRevealNoNamesOrValues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	v := open(t, dir, 1, 0)
	put(t, v, "keywords", "private-beach.jpg", "secret words")
	l, err := v.Log("private-log")
	if err == nil {
		err = l.Append([]byte("secret words"))
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if d.IsDir() {
			return nil
		}
		seen++
		b, err := os.ReadFile(path)
		for _, word := range []string{"private", "secret", "words", "keywords"} {
			if strings.Contains(path[len(dir):], word) || bytes.Contains(b, []byte(word)) {
				t.Errorf("%s shows %q", path, word)
			}
		}
		return err
	})
	if err != nil || seen < 2 {
		t.Error(seen, err)
	}
	if got := fmt.Sprintf("%v %+v %#v", v, v, v); strings.Contains(got, "names") {
		t.Errorf("a store prints as %s", got)
	}
}

func TestLimitRemovesOldestEntries(t *testing.T) {
	dir := t.TempDir()
	v := open(t, dir, 1, 10_000)
	long := strings.Repeat("x", 970) // 998 bytes sealed
	for i := range 10 {
		name := fmt.Sprint(i)
		put(t, v, "k", name, long)
		old := time.Now().Add(time.Duration(i-100) * time.Minute)
		if err := os.Chtimes(v.path("k", []byte(name)), old, old); err != nil {
			t.Fatal(err)
		}
	}
	held := func() (n int, bytes int64) {
		all, _, err := v.entries()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			bytes += f.size
		}
		return len(all), bytes
	}
	if n, size := held(); n != 10 || size != 9980 {
		t.Fatal(n, size)
	}
	put(t, v, "k", "new", long)
	if n, size := held(); size > 9000 || n != 9 {
		t.Errorf("%d entries of %d bytes", n, size)
	}
	if get(v, "k", "0") != "(none)" || get(v, "k", "1") != "(none)" || get(v, "k", "2") != long || get(v, "k", "new") != long {
		t.Error("not the oldest went")
	}
}

func TestStaleTemporariesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "ab")
	stale, fresh := filepath.Join(folder, temporary+"1"), filepath.Join(folder, temporary+"2")
	foreign := filepath.Join(dir, "notes.txt")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{stale, fresh, foreign} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(stale, old, old); err != nil {
		t.Fatal(err)
	}
	v := open(t, dir, 1, 1000)
	put(t, v, "k", "n", "value")
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	if exists(stale) || !exists(fresh) || !exists(foreign) {
		t.Error(exists(stale), exists(fresh), exists(foreign))
	}
}

func TestOpenRejectsBadFolder(t *testing.T) {
	if _, err := Open("", [32]byte{}, 0); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, [32]byte{}, 0); !errors.Is(err, cpar.ErrStorage) {
		t.Error(err)
	}
}
