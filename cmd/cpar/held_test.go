package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

// TestGenerations: what is remembered only grows, and a file that cannot be read
// is not taken for none.
func TestGenerations(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(v, dir)
	}
	id := cpar.IndexID{1}
	for _, c := range []struct{ remember, want uint64 }{{0, 0}, {3, 3}, {2, 3}, {4, 4}, {0, 4}, {retired, retired}, {5, retired}} {
		if err := rememberGeneration(id, c.remember); err != nil {
			t.Fatal(err)
		}
		if got, err := seenGeneration(id); err != nil || got != c.want {
			t.Errorf("after %d: %d, want %d; %v", c.remember, got, c.want, err)
		}
	}
	if got, err := seenGeneration(cpar.IndexID{2}); err != nil || got != 0 {
		t.Errorf("another index: %d, %v", got, err)
	}
	path := cacheFile("generations", id)
	for _, bad := range []string{"", "-1", "4 4", "18446744073709551616"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := seenGeneration(id); !errors.Is(err, cpar.ErrCorrupt) || hint.Of(err) == "" {
			t.Errorf("%q: %v", bad, err)
		}
		if err := rememberGeneration(id, 7); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%q: remembered over it: %v", bad, err)
		}
	}
}

// TestDropOthers: what an update has made useless goes, and what is not ours stays.
func TestDropOthers(t *testing.T) {
	dir := t.TempDir()
	keep, old := cpar.Digest{1}, cpar.Digest{2}
	for _, name := range []string{keep.String(), old.String(), "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dropOthers(dir, map[cpar.Digest][]byte{keep: {}})
	for name, want := range map[string]bool{keep.String(): true, old.String(): false, "notes.txt": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
