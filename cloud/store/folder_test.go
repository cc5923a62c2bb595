package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/indexdir"
	"cpar/internal/testing/crash"
)

type unsynced struct {
	durable.FS
	fail string
}

func (u *unsynced) SyncDir(path string) error {
	if u.fail != "" && filepath.Base(path) == u.fail {
		return errors.New("the disk does not answer")
	}
	return u.FS.SyncDir(path)
}

// After a failed last step the manifest may be in place. The next activation
// must not assume that it is served or durable.
func TestActivationAfterAFailedSync(t *testing.T) {
	for _, had := range []bool{true, false} {
		data := t.TempDir()
		fsys := &unsynced{FS: durable.OS}
		s := open(t, data, store.Options{FS: fsys})
		a, a2 := built(t, 1, 1), built(t, 1, 2)
		if had {
			if err := a.push(s); err != nil {
				t.Fatal(err)
			}
		}
		for i, seg := range a2.m.Segments {
			if err := s.PutSegment(context.Background(), store.IndexRef{Index: a.m.ID}, seg.Digest, -1, bytes.NewReader(a2.segments[i])); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			fsys.fail = a.m.ID.String()
			if err := s.PutManifest(context.Background(), store.IndexRef{Index: a.m.ID}, a2.bytes); !errors.Is(err, cpar.ErrStorage) {
				t.Errorf("not synced: %v", err)
			}
			if b, _ := s.Manifest(context.Background(), store.IndexRef{Index: a.m.ID}); !bytes.Equal(b, a2.bytes) {
				t.Fatal("the manifest is not in place: the test tests nothing")
			}
			if had && !a.has(t, s) {
				t.Error("the old index is not served")
			}
		}
		fsys.fail = ""
		if err := s.PutManifest(context.Background(), store.IndexRef{Index: a.m.ID}, a2.bytes); err != nil {
			t.Fatal(err)
		}
		if !a2.has(t, s) {
			t.Error("activated, and the old index is served")
		}
	}
}

func TestPushingAgainRepairsTheManifest(t *testing.T) {
	for name, damage := range map[string][]byte{"emptied": nil, "zeroed": make([]byte, 300)} {
		data := t.TempDir()
		s := open(t, data, store.Options{})
		a := built(t, 1, 1)
		if err := a.push(s); err != nil {
			t.Fatal(err)
		}
		s.Close()
		os.WriteFile(filepath.Join(data, "indexes", a.m.ID.String(), "manifest"), damage, 0o600)
		s = open(t, data, store.Options{})
		if _, err := s.Get(context.Background(), store.IndexRef{Index: a.m.ID}); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if err := a.push(s); err != nil || !a.has(t, s) {
			t.Errorf("%s: not repaired: %v", name, err)
		}
	}
}

func TestPushingAgainRepairs(t *testing.T) {
	for _, restart := range []bool{false, true} {
		data := t.TempDir()
		s := open(t, data, store.Options{})
		a := built(t, 1, 1)
		if err := a.push(s); err != nil {
			t.Fatal(err)
		}
		if restart {
			s.Close()
		}
		path := indexdir.SegmentPath(filepath.Join(data, "indexes", a.m.ID.String()), a.m.Segments[1].Digest)
		os.Remove(path)
		os.WriteFile(path, make([]byte, len(a.segments[1])), 0o600)
		if restart {
			s = open(t, data, store.Options{})
			if _, err := s.Get(context.Background(), store.IndexRef{Index: a.m.ID}); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("damaged: %v", err)
			}
			if got, _ := s.Missing(context.Background(), store.IndexRef{Index: a.m.ID}, a.m); len(got) != 1 {
				t.Errorf("missing: %v", got)
			}
		}
		if err := a.push(s); err != nil {
			t.Fatal(err)
		}
		if !a.has(t, s) {
			t.Error("not repaired")
		}
	}
}

func TestOneDaemonAtATime(t *testing.T) {
	data := t.TempDir()
	open(t, data, store.Options{})
	if _, err := store.Open(data, loader, store.Options{}); !errors.Is(err, indexdir.ErrLocked) || !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("a second daemon: %v", err)
	}
	beside, err := store.OpenBeside(data)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := store.List(context.Background(), beside); err != nil || len(list) != 0 {
		t.Errorf("listing a served folder: %v, %v", list, err)
	}
	if _, err := store.OpenBeside(t.TempDir()); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("listing no data folder: %v", err)
	}
}

func TestForeignFolderIsRefused(t *testing.T) {
	for name, want := range map[string]error{"photo.jpg": cpar.ErrInput, "src/main.go": cpar.ErrInput, "lost+found/x": nil, ".hidden": nil, "tenants.json": nil, "indexes/x": nil} {
		data := t.TempDir()
		path := filepath.Join(data, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(data, loader, store.Options{})
		if !errors.Is(err, want) {
			t.Errorf("a folder with %s: %v", name, err)
		}
		if err == nil {
			s.Close()
		} else if entries, e := os.ReadDir(data); e != nil || len(entries) != 1 {
			t.Errorf("a folder with %s: now %v, %v", name, entries, e)
		}
	}
}

func TestDamageIsListed(t *testing.T) {
	data := t.TempDir()
	s := open(t, data, store.Options{})
	a, b := built(t, 1, 1), built(t, 2, 2)
	for _, o := range []owner{a, b} {
		if err := o.push(s); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(data, "indexes", a.m.ID.String())
	os.WriteFile(filepath.Join(folder, "manifest"), b.bytes, 0o600)
	os.Mkdir(filepath.Join(data, "indexes", "no index"), 0o700)
	list, err := s.List(context.Background(), "")
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, info := range list {
		if bad := info.ID == a.m.ID; bad != errors.Is(info.Err, cpar.ErrCorrupt) {
			t.Errorf("%v: %v", info.ID, info.Err)
		}
	}
	if _, err := s.Manifest(context.Background(), store.IndexRef{Index: a.m.ID}); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("another index's manifest: %v", err)
	}
}

func TestActivationIsAtomicAtEveryStep(t *testing.T) {
	a, a2 := built(t, 1, 1), built(t, 1, 2)
	crash.Each(t,
		func(root string) {
			s := open(t, root, store.Options{})
			if err := a.push(s); err != nil {
				t.Fatal(err)
			}
			s.Close()
		},
		func(fsys durable.FS, root string) error {
			s, err := store.Open(root, loader, store.Options{FS: fsys})
			if err != nil {
				return err
			}
			defer s.Close()
			return a2.push(s)
		},
		func(t *testing.T, root string, done bool) {
			s := open(t, root, store.Options{})
			old := a.has(t, s)
			if !old && !a2.has(t, s) || done && old {
				t.Fatalf("done %v; the old index is served: %v", done, old)
			}
			if err := a2.push(s); err != nil || !a2.has(t, s) {
				t.Errorf("pushing again: %v", err)
			}
			s.Close()
		})
}

func TestDeletionIsAtomicAtEveryStep(t *testing.T) {
	a, b := built(t, 1, 1), built(t, 2, 2)
	crash.Each(t,
		func(root string) {
			s := open(t, root, store.Options{})
			for _, o := range []owner{a, b} {
				if err := o.push(s); err != nil {
					t.Fatal(err)
				}
			}
			s.Close()
		},
		func(fsys durable.FS, root string) error {
			s, err := store.Open(root, loader, store.Options{FS: fsys})
			if err != nil {
				return err
			}
			defer s.Close()
			return s.Delete(context.Background(), store.IndexRef{Index: a.m.ID})
		},
		func(t *testing.T, root string, done bool) {
			s := open(t, root, store.Options{})
			defer s.Close()
			_, err := s.Get(context.Background(), store.IndexRef{Index: a.m.ID})
			if gone := errors.Is(err, store.ErrNotFound); done && !gone || !gone && !a.has(t, s) {
				t.Errorf("done %v, and getting says %v", done, err)
			}
			if !b.has(t, s) {
				t.Error("the other index is gone")
			}
			collect(t, root, time.Now())
			if left, _ := os.ReadDir(filepath.Join(root, "deleted")); len(left) != 0 {
				t.Errorf("left in deleted: %v", left)
			}
		})
}

func TestFullDisk(t *testing.T) {
	a, a2 := built(t, 1, 1), built(t, 1, 2)
	data := t.TempDir()
	s := open(t, data, store.Options{})
	if err := a.push(s); err != nil {
		t.Fatal(err)
	}
	s.Close()
	total := int(a2.m.Bytes()) + len(a2.bytes)
	for left := 0; left <= total; left += 67 {
		collect(t, data, time.Now().Add(time.Hour))
		s := open(t, data, store.Options{FS: &crash.Full{FS: durable.OS, Left: left}})
		if err := a2.push(s); !errors.Is(err, cpar.ErrStorage) {
			t.Fatalf("%d bytes left of %d: %v", left, total, err)
		}
		if !a.has(t, s) {
			t.Fatalf("%d bytes left: the old index is not served", left)
		}
		s.Close()
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil && bytes.Contains(maps, []byte(data)) {
		t.Error("segments are still mapped")
	}
}
