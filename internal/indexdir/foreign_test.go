package indexdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

func TestForeignFolderIsRefused(t *testing.T) {
	folder := t.TempDir()
	photo := filepath.Join(folder, "photo.jpg")
	os.WriteFile(photo, []byte("x"), 0o600)
	if _, err := indexdir.Create(folder, indexdir.Options{}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a folder of photos: %v", err)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("something was written: %v", entries)
	}
	os.Remove(photo)
	build(t, folder, 1)
	os.WriteFile(photo, []byte("x"), 0o600)
	os.WriteFile(filepath.Join(folder, "segments", "notes.txt"), []byte("x"), 0o600)
	build(t, folder, 2)
	if _, err := os.Stat(photo); err != nil {
		t.Errorf("a file beside the index: %v", err)
	}
	if !segmentFiles(t, folder)["notes.txt"] {
		t.Error("a file that is not a segment was removed")
	}
}

func TestOwnersFilesAreKept(t *testing.T) {
	digest, temp := strings.Repeat("ab", 32), "vectors-ABCDEFGHIJKL.tmp"
	for what, files := range map[string][]string{
		"a thesis":                          {"thesis.tmp"},
		"a similar name":                    {"manifest-draft.tmp"},
		"a similar name, one letter longer": {"manifest-ABCDEFGHIJKLM.tmp"},
		"a manifest of another program":     {"manifest"},
		"the same with a photo and draft":   {"manifest", "photo.jpg", "draft.tmp"},
		"the same with segments":            {"manifest", "segments/" + digest},
		"files that are not segments":       {"segments/film.mp4"},
		"segments and another file":         {"segments/" + digest, "segments/film.mp4"},
		"a thesis among segments":           {"segments/" + digest, "segments/thesis.tmp"},
		"segments that are a file":          {"segments"},
		"a photo beside segments":           {"segments/" + digest, "photo.jpg"},
		"a thesis beside segments":          {"segments/" + digest, "thesis.tmp"},
	} {
		folder := t.TempDir()
		write(t, folder, files...)
		w, err := indexdir.Create(folder, indexdir.Options{})
		if err == nil {
			w.Close()
		}
		if !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
		for _, name := range files {
			if b, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(b) != "mine" {
				t.Errorf("%s: %s: %q, %v", what, name, b, err)
			}
		}
	}
	// A build killed before it writes a manifest leaves such files.
	for _, files := range [][]string{
		{"lock"}, {"manifest-ABCDEFGHIJKL.tmp", "lock"}, {"segments/" + digest, "segments/" + temp}, {"segments/" + temp, "lock"},
	} {
		folder := t.TempDir()
		write(t, folder, files...)
		build(t, folder, 1)
		for _, name := range files[:len(files)-1] {
			if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
				t.Errorf("%v: %s is left", files, name)
			}
		}
	}
	folder := t.TempDir()
	build(t, folder, 1)
	mine := []string{"thesis.tmp", "photo.jpg", "segments/draft.tmp", "segments/manifest.tmp"}
	write(t, folder, append(mine, "manifest-ABCDEFGHIJKL.tmp", "segments/"+temp, "segments/upload-234567ABCDEF.tmp")...)
	build(t, folder, 2)
	for _, name := range mine {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"manifest-ABCDEFGHIJKL.tmp", "segments/" + temp, "segments/upload-234567ABCDEF.tmp"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

func write(t *testing.T, folder string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A first write killed at any segment leaves a folder that the next Writer
// accepts and cleans.
func TestEveryTempIsKnown(t *testing.T) {
	writes := map[string]func(*indexdir.Writer) error{
		"upload": func(w *indexdir.Writer) error { _, err := w.AddUpload(cpar.Digest{}, -1); return err },
	}
	for kind := cpar.SegmentVectors; kind <= indexdir.LastKind; kind++ {
		writes[kind.String()] = func(w *indexdir.Writer) error { _, err := w.AddSegment(kind); return err }
	}
	for name, write := range writes {
		folder := t.TempDir()
		w := create(t, folder)
		if err := write(w); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if got := segmentFiles(t, folder); len(got) != 1 {
			t.Fatalf("%s: temporary files %v", name, got)
		}
		w, err := indexdir.Create(folder, indexdir.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		w.Close()
		if got := segmentFiles(t, folder); len(got) != 0 {
			t.Errorf("%s: left: %v", name, got)
		}
	}
	// A new kind without a name prints as a number and fails here.
	for kind := 1; kind <= 255; kind++ {
		named := !strings.HasPrefix(cpar.SegmentKind(kind).String(), "segment kind")
		if named != (cpar.SegmentKind(kind) <= indexdir.LastKind) {
			t.Errorf("segment kind %d (%v) is not among the kinds that are cleaned up", kind, cpar.SegmentKind(kind))
		}
	}
}

// Errors for owners name the folder. Errors that the cloud may pass on do not.
func TestOnlyOwnersErrorsNameTheFolder(t *testing.T) {
	folder := t.TempDir()
	bytesOf := func() error { _, err := indexdir.ReadManifestBytes(folder); return err }
	read := func() error { _, err := indexdir.ReadManifest(folder); return err }
	open := func() error { _, err := indexdir.Open(folder); return err }
	check := func(when string, err error, want bool) {
		t.Helper()
		if err == nil || strings.Count(err.Error(), folder) != map[bool]int{true: 1}[want] {
			t.Errorf("%s: %v", when, err)
		}
	}
	check("nothing, bytes", bytesOf(), false)
	check("nothing, read", read(), true)
	check("nothing, open", open(), true)
	m := build(t, folder, 1)
	for _, s := range m.Segments {
		os.Remove(indexdir.SegmentPath(folder, s.Digest))
	}
	check("no segment, open", open(), true)
	load := func() error { _, err := indexdir.MemoryMap.Load(folder, m, nil); return err }
	check("no segment, load", load(), false)
	manifest := filepath.Join(folder, "manifest")
	os.WriteFile(manifest, []byte("x"), 0o600)
	check("damaged, read", read(), true)
	check("damaged, open", open(), true)
	os.WriteFile(manifest, make([]byte, 5<<20), 0o600)
	check("large, bytes", bytesOf(), false)
	check("large, read", read(), true)
	os.Remove(manifest)
	os.Mkdir(manifest, 0o700)
	check("a folder, bytes", bytesOf(), false)
	check("a folder, open", open(), true)
}
