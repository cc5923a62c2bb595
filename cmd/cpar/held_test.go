package main

import (
	"os"
	"path/filepath"
	"testing"

	"cpar"
)

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
