package indexdir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/testing/crash"
	"cpar/internal/testing/indexsample"
)

func TestCutAtEveryStep(t *testing.T) {
	for _, had := range []bool{false, true} {
		t.Run(fmt.Sprintf("index before %v", had), func(t *testing.T) {
			crash.Each(t,
				func(root string) {
					if had {
						build(t, filepath.Join(root, "x"), 1)
					}
				},
				func(fsys durable.FS, root string) error {
					w, err := indexdir.Create(filepath.Join(root, "x"), indexdir.Options{FS: fsys})
					if err != nil {
						return err
					}
					defer w.Close()
					return indexsample.Write(w, indexsample.Manifest(2), 2)
				},
				func(t *testing.T, root string, done bool) {
					folder := filepath.Join(root, "x")
					got, err := which(folder, 1, 2)
					switch {
					case done && got != 2:
						t.Fatalf("activated, and the folder holds index %d: %v", got, err)
					case had && err != nil:
						t.Fatalf("the old index does not load: %v", err)
					case !had && err != nil && !errors.Is(err, indexdir.ErrNoIndex):
						t.Fatalf("neither an index nor none: %v", err)
					}
					w := create(t, folder)
					defer w.Close()
					m := new(cpar.Manifest)
					if got != 0 {
						if now, err := which(folder, got); err != nil {
							t.Fatalf("after cleaning: index %d: %v", now, err)
						}
						m, _ = indexdir.ReadManifest(folder)
					}
					onlyNamed(t, folder, m)
				})
		})
	}
}

func TestFullDiskAtEveryByte(t *testing.T) {
	folder := t.TempDir()
	build(t, folder, 1)
	total := 0
	m, _ := indexdir.ReadManifest(folder)
	b, _ := m.MarshalBinary()
	total = int(m.Bytes()) + len(b)
	for left := 0; left < total; left += 13 {
		w, err := indexdir.Create(folder, indexdir.Options{FS: &crash.Full{FS: durable.OS, Left: left}})
		if err != nil {
			t.Fatal(err)
		}
		err = indexsample.Write(w, indexsample.Manifest(2), 2)
		w.Close()
		if !errors.Is(err, cpar.ErrStorage) || !strings.Contains(hint.Of(err), "free in") {
			t.Fatalf("%d bytes left of %d: %v (hint %q)", left, total, err, hint.Of(err))
		}
		if got, err := which(folder, 1, 2); got != 1 {
			t.Fatalf("%d bytes left: index %d: %v", left, got, err)
		}
	}
	w, err := indexdir.Create(folder, indexdir.Options{FS: &crash.Full{FS: durable.OS, Left: total}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := indexsample.Write(w, indexsample.Manifest(2), 2); err != nil {
		t.Fatalf("just enough room: %v", err)
	}
}

// A segment whose folder was not synced must become durable before a manifest
// names it.
func TestActivateSyncsTheSegments(t *testing.T) {
	folder := t.TempDir()
	synced := syncs{durable.OS, map[string]bool{}}
	w, err := indexdir.Create(folder, indexdir.Options{FS: synced})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	m := indexsample.Manifest(1)
	if err := indexsample.Write(w, m, 1); err != nil {
		t.Fatal(err)
	}
	clear(synced.seen)
	if err := w.Activate(m); err != nil {
		t.Fatal(err)
	}
	if !synced.seen[filepath.Join(folder, "segments")] {
		t.Errorf("synced: %v", synced.seen)
	}
}

func TestAttachHoldsNothingAndRemovesNothing(t *testing.T) {
	folder := t.TempDir()
	m := build(t, folder, 1)
	var paths []string
	for i := range 2 { // both at a time
		w, err := indexdir.Attach(folder, durable.OS)
		if err != nil {
			t.Fatal(err)
		}
		s, err := w.AddSegment(cpar.SegmentVectors)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(s, "pending %d", i)
		seg, err := s.Close()
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, indexdir.SegmentPath(folder, seg.Digest))
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("what was uploaded is gone: %v", err)
		}
	}
	lock, err := indexdir.Lock(folder)
	if err != nil {
		t.Fatalf("it holds the lock: %v", err)
	}
	lock.Close()
	w, err := indexdir.Attach(folder, durable.OS)
	if err == nil {
		err = w.Activate(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	onlyNamed(t, folder, m)
}

func TestUploadMustFit(t *testing.T) {
	folder := t.TempDir()
	w, _ := indexdir.Create(folder, indexdir.Options{})
	defer w.Close()
	s, err := w.AddUpload(cpar.Digest{1}, -1)
	if err != nil {
		t.Fatal(err)
	}
	s.Write([]byte("x"))
	if _, err := s.Close(); !errors.Is(err, indexdir.ErrDigest) || !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("another digest: %v", err)
	}
	if got := segmentFiles(t, folder); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestActivateNeedsItsSegments(t *testing.T) {
	folder := t.TempDir()
	m := build(t, folder, 1)
	w := create(t, folder)
	defer w.Close()
	next := *m
	next.Segments = append([]cpar.Segment(nil), m.Segments...)
	next.Segments[2].Digest[0]++
	if err := w.Activate(&next); !errors.Is(err, indexdir.ErrMissing) {
		t.Errorf("a manifest without its keywords: %v", err)
	}
	next.Segments = nil
	if err := w.Activate(&next); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("a manifest without segments: %v", err)
	}
	if _, err := which(folder, 1); err != nil {
		t.Error(err)
	}
}

// A process killed before syncing the name of a new folder leaves a name that a
// power failure may lose. The next writer syncs it.
func TestFoldersThatExistAreSynced(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "x")
	if err := os.MkdirAll(filepath.Join(folder, "segments"), 0o700); err != nil {
		t.Fatal(err)
	}
	synced := syncs{durable.OS, map[string]bool{}}
	w, err := indexdir.Create(folder, indexdir.Options{FS: synced})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if !synced.seen[filepath.Dir(folder)] || !synced.seen[folder] {
		t.Errorf("synced: %v", synced.seen)
	}
}

type syncs struct {
	durable.FS
	seen map[string]bool
}

func (s syncs) SyncDir(path string) error { s.seen[path] = true; return s.FS.SyncDir(path) }
