package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cpar"
)

func TestPhotos(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.jpg", "b.PNG", "notes.txt", "._a.jpg", ".thumbs/a.jpg", "below/c.webp", "closed/d.jpg", "odd"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
		return paths
	}
	photos, warnings, err := Photos(in("", "odd"))
	if want := in("a.jpg", "b.PNG", "below/c.webp", "closed/d.jpg", "odd"); err != nil || !slices.Equal(photos, want) || len(warnings) > 0 {
		t.Errorf("%q, %v, %v", photos, warnings, err)
	}
	if err := os.Chmod(in("closed")[0], 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(in("closed")[0], 0o700)
	if _, err := os.ReadDir(in("closed")[0]); err != nil { // not for who may read everything
		photos, warnings, err = Photos(in(""))
		if want := in("a.jpg", "b.PNG", "below/c.webp"); err != nil || !slices.Equal(photos, want) || len(warnings) != 1 || warnings[0].Kind != Unreadable {
			t.Errorf("with a closed folder: %q, %v, %v", photos, warnings, err)
		}
	}
	for _, bad := range []string{"absent", ".thumbs/.."} {
		paths := in(bad)
		if bad != "absent" {
			paths = []string{t.TempDir()}
		}
		if _, _, err := Photos(paths); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
