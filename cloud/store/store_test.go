package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/durable/crash"
	"cpar/internal/indexdir"
	"cpar/internal/indexdir/sample"
)

var errRefused = fmt.Errorf("%w: the loader refuses this forest", cpar.ErrCorrupt)

// loaded is what the tests' Loader makes; it refuses a ledger that starts with a zero byte.
type loaded struct{ first byte }

func loader(m *cpar.Manifest, segments [][]byte) (*loaded, error) {
	if len(segments) != len(m.Segments) {
		panic("a segment is missing")
	}
	if b := segments[len(segments)-1]; b[0] == 0 {
		return nil, errRefused
	}
	return &loaded{segments[0][0]}, nil
}

type testStore = store.Store[*loaded]

func open(t testing.TB, data string, o store.Options) *testStore {
	t.Helper()
	s, err := store.Open(data, loader, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// An owner is an owner's index, ready to push.
type owner struct {
	m        *cpar.Manifest
	bytes    []byte
	segments [][]byte
}

func built(t testing.TB, id, seed uint64) owner {
	t.Helper()
	folder := t.TempDir()
	m, err := sample.Build(folder, id, seed)
	if err != nil {
		t.Fatal(err)
	}
	o := owner{m: m}
	o.bytes, _ = m.MarshalBinary()
	for _, s := range m.Segments {
		b, err := os.ReadFile(indexdir.SegmentPath(folder, s.Digest))
		if err != nil {
			t.Fatal(err)
		}
		o.segments = append(o.segments, b)
	}
	return o
}

func (o owner) push(s *testStore) error {
	for i, seg := range o.m.Segments {
		if err := s.PutSegment(context.Background(), store.Key{Index: o.m.ID}, seg.Digest, int64(seg.Bytes), bytes.NewReader(o.segments[i])); err != nil {
			return err
		}
	}
	return s.PutManifest(context.Background(), store.Key{Index: o.m.ID}, o.bytes)
}

// has reports whether s serves exactly o.
func (o owner) has(t *testing.T, s *testStore) bool {
	t.Helper()
	h, err := s.Get(context.Background(), store.Key{Index: o.m.ID})
	if err != nil {
		t.Logf("getting: %v", err)
		return false
	}
	defer h.Release()
	if len(h.Segments()) != len(o.segments) || h.Value().first != h.Segments()[0][0] {
		return false
	}
	for i := range o.segments {
		if !bytes.Equal(h.Segments()[i], o.segments[i]) {
			return false
		}
	}
	return true
}

func TestPushGetListDelete(t *testing.T) {
	data := filepath.Join(t.TempDir(), "d")
	s := open(t, data, store.Options{})
	a, a2, b := built(t, 1, 1), built(t, 1, 2), built(t, 2, 3)
	if _, err := s.Get(context.Background(), store.Key{Index: a.m.ID}); !errors.Is(err, store.ErrNotFound) || !errors.Is(err, cpar.ErrInput) {
		t.Errorf("getting a missing index: %v", err)
	}
	for _, o := range []owner{a, b, a2, a2} {
		if err := o.push(s); err != nil {
			t.Fatal(err)
		}
		if !o.has(t, s) {
			t.Fatal("the served index is not the pushed one")
		}
	}
	list, err := s.List(context.Background(), "")
	if err != nil || len(list) != 2 {
		t.Fatalf("listed %v, %v", list, err)
	}
	for _, info := range list {
		if info.Err != nil || info.Scheme != cpar.SchemeCPAR || info.Records != 5 || info.Bytes != a.m.Bytes() {
			t.Errorf("%+v", info)
		}
	}
	if got, err := s.Manifest(context.Background(), store.Key{Index: a.m.ID}); err != nil || !bytes.Equal(got, a2.bytes) {
		t.Errorf("manifest: %v", err)
	}
	if files, _ := os.ReadDir(filepath.Join(data, "indexes", a.m.ID.String(), "segments")); len(files) != len(a.segments) {
		t.Errorf("%d segments kept of an index of %d", len(files), len(a.segments))
	}
	r, err := s.OpenSegment(context.Background(), store.Key{Index: b.m.ID}, b.m.Segments[2].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(r); !bytes.Equal(got, b.segments[2]) {
		t.Error("OpenSegment: wrong bytes")
	}
	r.Close()
	r.Close()
	if _, err := s.OpenSegment(context.Background(), store.Key{Index: b.m.ID}, cpar.Digest{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a segment of no index: %v", err)
	}
	if err := s.Delete(context.Background(), store.Key{Index: b.m.ID}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(context.Background(), store.Key{Index: b.m.ID}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleting twice: %v", err)
	}
	if _, err := s.Get(context.Background(), store.Key{Index: b.m.ID}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("getting a deleted index: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(data, "deleted")); len(left) != 0 {
		t.Errorf("left in deleted: %v", left)
	}
	s.Close()
	if _, err := s.Get(context.Background(), store.Key{Index: a.m.ID}); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("getting from a closed store: %v", err)
	}
	s = open(t, data, store.Options{})
	if !a2.has(t, s) {
		t.Error("missing after a restart")
	}
}

func TestHandlesOutliveReplacementAndDeletion(t *testing.T) {
	for _, memory := range []indexdir.Memory{indexdir.MemoryMap, indexdir.MemoryHuge} {
		t.Run(memory.String(), func(t *testing.T) { handlesOutlive(t, memory) })
	}
}

func handlesOutlive(t *testing.T, memory indexdir.Memory) {
	s := open(t, t.TempDir(), store.Options{Memory: memory})
	a, a2 := built(t, 1, 1), built(t, 1, 2)
	if err := a.push(s); err != nil {
		t.Fatal(err)
	}
	h1, err := s.Get(context.Background(), store.Key{Index: a.m.ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := a2.push(s); err != nil {
		t.Fatal(err)
	}
	h2, err := s.Get(context.Background(), store.Key{Index: a.m.ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(context.Background(), store.Key{Index: a.m.ID}); err != nil {
		t.Fatal(err)
	}
	for i := range a.segments {
		if !bytes.Equal(h1.Segments()[i], a.segments[i]) || !bytes.Equal(h2.Segments()[i], a2.segments[i]) {
			t.Fatal("bytes changed under a handle")
		}
	}
	segments := h1.Segments()
	h1.Release()
	h2.Release()
	if segments[0] != nil {
		t.Error("still mapped after the last release")
	}
}

func TestActivationIsRefused(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	a := built(t, 1, 1)
	if err := s.PutManifest(context.Background(), store.Key{Index: a.m.ID}, a.bytes); !errors.Is(err, store.ErrIncomplete) {
		t.Errorf("nothing uploaded: %v", err)
	}
	if err := a.push(s); err != nil {
		t.Fatal(err)
	}
	next := built(t, 1, 2)
	for i, seg := range next.m.Segments[1:] {
		if err := s.PutSegment(context.Background(), store.Key{Index: a.m.ID}, seg.Digest, -1, bytes.NewReader(next.segments[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutManifest(context.Background(), store.Key{Index: a.m.ID}, next.bytes); !errors.Is(err, store.ErrIncomplete) || errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("one missing: %v", err)
	}
	if got, err := s.Missing(context.Background(), store.Key{Index: a.m.ID}, next.m); err != nil || len(got) != 1 || got[0] != next.m.Segments[0].Digest {
		t.Errorf("missing: %v, %v", got, err)
	}
	if err := s.PutManifest(context.Background(), store.Key{Index: cpar.IndexID{1}}, next.bytes); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("under another id: %v", err)
	}
	if err := s.PutManifest(context.Background(), store.Key{Index: a.m.ID}, next.bytes[:50]); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("half a manifest: %v", err)
	}
	if !a.has(t, s) {
		t.Error("the old index is not served")
	}
	for seed := uint64(3); ; seed++ { // an index that the loader refuses
		if _, segments := sample.Segments(sample.Manifest(1), seed); segments[len(segments)-1][0] != 0 {
			continue
		}
		bad := built(t, 1, seed)
		if err := bad.push(s); !errors.Is(err, errRefused) {
			t.Errorf("refused by the loader: %v", err)
		}
		break
	}
	if !a.has(t, s) {
		t.Error("the old index is not served")
	}
}

func TestUploadsAreChecked(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{MaxSegmentBytes: 1000})
	id := cpar.IndexID{1}
	a := built(t, 1, 1)
	d, good := a.m.Segments[0].Digest, a.segments[0]
	if len(good) > 1000 {
		t.Fatal("the sample grew")
	}
	for what, c := range map[string]struct {
		size int64
		body io.Reader
		want error
	}{
		"other bytes":    {-1, strings.NewReader("x"), cpar.ErrCorrupt},
		"cut":            {int64(len(good)), bytes.NewReader(good[:10]), cpar.ErrCorrupt},
		"too long, told": {1001, bytes.NewReader(make([]byte, 1001)), store.ErrTooLarge},
		"endless":        {-1, zeros{}, store.ErrTooLarge},
		"broken off":     {-1, io.MultiReader(bytes.NewReader(good[:10]), broken{}), io.ErrUnexpectedEOF},
	} {
		if err := s.PutSegment(context.Background(), store.Key{Index: id}, d, c.size, c.body); !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", what, err, c.want)
		}
		if _, ok, err := s.HasSegment(context.Background(), store.Key{Index: id}, d); ok || err != nil {
			t.Errorf("%s: accepted, %v", what, err)
		}
	}
	if err := s.PutSegment(context.Background(), store.Key{Index: id}, d, -1, bytes.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	if err := s.PutSegment(context.Background(), store.Key{Index: id}, d, -1, broken{}); err != nil {
		t.Errorf("already stored, and read again: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Anyone can invent ids, so a failed upload leaves nothing new behind: no folder, no open file.
func TestFailedUploadsLeaveNothing(t *testing.T) {
	data := t.TempDir()
	s := open(t, data, store.Options{})
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0 // not on this system; the folders show it too
		}
		return len(entries)
	}
	folders := func(of string) int {
		entries, err := os.ReadDir(filepath.Join(data, of))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := files()
	for i := range 20 {
		if err := s.PutSegment(context.Background(), store.Key{Index: cpar.IndexID{byte(i), 9}}, cpar.Digest{1}, -1, strings.NewReader("x")); !errors.Is(err, cpar.ErrCorrupt) {
			t.Fatal(err)
		}
	}
	if n := files(); n > before+5 {
		t.Errorf("%d open files; there were %d", n, before)
	}
	if n := folders("indexes") + folders("deleted"); n != 0 {
		t.Errorf("%d folders are left", n)
	}
	// Existing things stay: a segment, an index, an upload in progress.
	a := built(t, 1, 1)
	spoil := func() {
		t.Helper()
		if err := s.PutSegment(context.Background(), store.Key{Index: a.m.ID}, cpar.Digest{1}, -1, strings.NewReader("x")); !errors.Is(err, cpar.ErrCorrupt) {
			t.Fatal(err)
		}
	}
	reader, writer := io.Pipe()
	uploaded := make(chan error)
	go func() {
		uploaded <- s.PutSegment(context.Background(), store.Key{Index: a.m.ID}, a.m.Segments[0].Digest, -1, reader)
	}()
	writer.Write(a.segments[0][:5]) // returns once the upload has begun
	spoil()
	writer.Write(a.segments[0][5:])
	writer.Close()
	if err := <-uploaded; err != nil {
		t.Fatalf("an upload beside one that failed: %v", err)
	}
	spoil()
	if got, err := s.Missing(context.Background(), store.Key{Index: a.m.ID}, a.m); err != nil || len(got) != len(a.segments)-1 {
		t.Errorf("%d missing, %v; one is uploaded", len(got), err)
	}
	if err := a.push(s); err != nil {
		t.Fatal(err)
	}
	spoil()
	if !a.has(t, s) {
		t.Error("the index is gone")
	}
}

// meanwhile calls do once, just before the first file is created.
type meanwhile struct {
	durable.FS
	do func()
}

func (m *meanwhile) Create(path string, perm fs.FileMode) (durable.File, error) {
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
	return m.FS.Create(path, perm)
}

// An upload that has the index's writer but no file yet keeps the index from being taken for empty.
func TestAnUploadFailsWhileAnotherBegins(t *testing.T) {
	a := built(t, 1, 1)
	fsys := &meanwhile{FS: durable.OS}
	s := open(t, t.TempDir(), store.Options{FS: fsys})
	fsys.do = func() {
		if err := s.PutSegment(context.Background(), store.Key{Index: a.m.ID}, cpar.Digest{1}, -1, strings.NewReader("x")); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("wrong bytes: %v", err)
		}
	}
	if err := s.PutSegment(context.Background(), store.Key{Index: a.m.ID}, a.m.Segments[0].Digest, -1, bytes.NewReader(a.segments[0])); err != nil {
		t.Errorf("the earlier upload: %v", err)
	}
}

// Many failing uploads and one successful push under the same id, for the race detector.
func TestFailedUploadsBesideAPush(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	a := built(t, 1, 1)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 10 {
				if err := s.PutSegment(context.Background(), store.Key{Index: a.m.ID}, cpar.Digest{1}, -1, strings.NewReader("x")); !errors.Is(err, cpar.ErrCorrupt) {
					t.Errorf("wrong bytes: %v", err)
				}
			}
		})
	}
	wg.Go(func() {
		if err := a.push(s); err != nil {
			t.Errorf("pushing: %v", err)
		}
	})
	wg.Wait()
	if !a.has(t, s) {
		t.Error("not there")
	}
}

// unsynced fails to sync the folder named by fail.
type unsynced struct {
	durable.FS
	fail string // the folder's last name
}

func (u *unsynced) SyncDir(path string) error {
	if u.fail != "" && filepath.Base(path) == u.fail {
		return errors.New("the disk does not answer")
	}
	return u.FS.SyncDir(path)
}

// The manifest may be in place when its activation fails at the last step. The next
// activation must not assume it is served, or durable.
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
			if err := s.PutSegment(context.Background(), store.Key{Index: a.m.ID}, seg.Digest, -1, bytes.NewReader(a2.segments[i])); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // the disk fails twice
			fsys.fail = a.m.ID.String()
			if err := s.PutManifest(context.Background(), store.Key{Index: a.m.ID}, a2.bytes); !errors.Is(err, cpar.ErrStorage) {
				t.Errorf("not synced: %v", err)
			}
			if b, _ := s.Manifest(context.Background(), store.Key{Index: a.m.ID}); !bytes.Equal(b, a2.bytes) {
				t.Fatal("the manifest is not in place: the test tests nothing")
			}
			if had && !a.has(t, s) {
				t.Error("the old index is not served")
			}
		}
		fsys.fail = ""
		if err := s.PutManifest(context.Background(), store.Key{Index: a.m.ID}, a2.bytes); err != nil {
			t.Fatal(err)
		}
		if !a2.has(t, s) {
			t.Error("activated, and the old index is served")
		}
	}
}

// A segment that is named twice is looked up once.
func TestMissingOnce(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	a := built(t, 1, 1)
	twice := *a.m
	twice.Segments = append(append([]cpar.Segment(nil), a.m.Segments...), a.m.Segments...)
	if got, err := s.Missing(context.Background(), store.Key{Index: a.m.ID}, &twice); err != nil || len(got) != len(a.segments) {
		t.Errorf("%d missing of %d, %v", len(got), len(a.segments), err)
	}
}

// The folders below indexes belong to the store: whatever happened to the manifest there,
// pushing again repairs it.
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
		if _, err := s.Get(context.Background(), store.Key{Index: a.m.ID}); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if err := a.push(s); err != nil || !a.has(t, s) {
			t.Errorf("%s: not repaired: %v", name, err)
		}
	}
}

// A damaged segment counts as missing, so that pushing again repairs it.
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
		os.Remove(path) // a running daemon has the old file mapped
		os.WriteFile(path, make([]byte, len(a.segments[1])), 0o600)
		if restart {
			s = open(t, data, store.Options{})
			if _, err := s.Get(context.Background(), store.Key{Index: a.m.ID}); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("damaged: %v", err)
			}
			if got, _ := s.Missing(context.Background(), store.Key{Index: a.m.ID}, a.m); len(got) != 1 {
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

// TestFolderOfSomethingElse is not taken for a data folder, nor written into.
func TestFolderOfSomethingElse(t *testing.T) {
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

// What was uploaded and never activated stays for a time, also while serving; then it goes.
func TestPendingUploads(t *testing.T) {
	data := t.TempDir()
	s := open(t, data, store.Options{})
	a, b := built(t, 1, 1), built(t, 2, 2)
	path := func(i int) string {
		return indexdir.SegmentPath(filepath.Join(data, "indexes", a.m.ID.String()), a.m.Segments[i].Digest)
	}
	for i := range 2 {
		if err := s.PutSegment(context.Background(), store.Key{Index: a.m.ID}, a.m.Segments[i].Digest, -1, bytes.NewReader(a.segments[i])); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.push(s); err != nil {
		t.Fatal(err)
	}
	// Segments that an activation could not remove.
	stray := indexdir.SegmentPath(filepath.Join(data, "indexes", b.m.ID.String()), a.m.Segments[0].Digest)
	temp := filepath.Join(filepath.Dir(path(0)), "upload-ABCDEFGHIJKL.tmp")
	gone := filepath.Join(data, "deleted", "x", "y")
	if err := errors.Join(os.WriteFile(stray, make([]byte, 9), 0o600), os.WriteFile(temp, nil, 0o600), os.MkdirAll(filepath.Dir(gone), 0o700), os.WriteFile(gone, []byte("123"), 0o600)); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * time.Hour)
	for _, old := range []string{path(0), temp, stray} {
		os.Chtimes(old, long, long)
	}
	before := time.Now().Add(-time.Hour)
	beside, err := store.OpenBeside(data) // while s serves
	if err != nil {
		t.Fatal(err)
	}
	want := store.Collection{Segments: 2, Indexes: 2, Bytes: int64(len(a.segments[0])) + 9, Remains: store.Swept{Files: 2, Bytes: 3}}
	for _, dry := range []bool{true, false} {
		if got, err := store.Collect(t.Context(), beside, before, before, dry, nil); err != nil || got != want {
			t.Errorf("dry %v: %+v, %v; want %+v", dry, got, err, want)
		}
	}
	if got, err := store.Collect(t.Context(), beside, before, before, false, nil); err != nil || got != (store.Collection{}) {
		t.Errorf("again: %+v, %v", got, err)
	}
	if got, _ := s.Missing(context.Background(), store.Key{Index: a.m.ID}, a.m); len(got) != len(a.segments)-1 {
		t.Errorf("%d missing; the recent one should count", len(got))
	}
	if list, _ := s.List(context.Background(), ""); len(list) != 1 {
		t.Errorf("an index that was never activated is listed: %v", list)
	}
	os.Chtimes(path(1), long, long)
	if got, err := store.Collect(t.Context(), beside, before, before, false, nil); err != nil || got.Abandoned != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(data, "indexes", a.m.ID.String())); err == nil {
		t.Error("an empty index is left")
	}
	if !b.has(t, s) {
		t.Error("the active index is gone")
	}
}

// collect removes what is older than before, as cpard gc does.
func collect(t *testing.T, data string, before time.Time) {
	t.Helper()
	f, err := store.OpenBeside(data)
	if err == nil {
		_, err = store.Collect(t.Context(), f, before, before, false, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A daemon collects at its start, without making anybody wait: of what a killed one was
// writing everything, of what was uploaded only what is old.
func TestMaintain(t *testing.T) {
	data := t.TempDir()
	s := open(t, data, store.Options{KeepPending: time.Hour})
	a, b := built(t, 1, 1), built(t, 2, 2)
	for _, o := range []owner{a, b} {
		if err := s.PutSegment(context.Background(), store.Key{Index: o.m.ID}, o.m.Segments[0].Digest, -1, bytes.NewReader(o.segments[0])); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	folder := filepath.Join(data, "indexes", a.m.ID.String())
	long := time.Now().Add(-2 * time.Hour)
	os.Chtimes(indexdir.SegmentPath(folder, a.m.Segments[0].Digest), long, long)
	temp := filepath.Join(data, "indexes", b.m.ID.String(), "segments", "upload-ABCDEFGHIJKL.tmp")
	os.WriteFile(temp, nil, 0o600)
	lately := time.Now().Add(-2 * time.Second)
	os.Chtimes(temp, lately, lately)
	s = open(t, data, store.Options{KeepPending: time.Hour})
	stop := s.Maintain(t.Context())
	defer stop()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		_, err := os.Stat(folder)
		_, err2 := os.Stat(temp)
		if errors.Is(err, fs.ErrNotExist) && errors.Is(err2, fs.ErrNotExist) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a while: %v, %v", err, err2)
		}
	}
	if got, err := s.Missing(context.Background(), store.Key{Index: b.m.ID}, b.m); err != nil || len(got) != len(b.segments)-1 {
		t.Errorf("%d missing, %v; a recent upload should stay", len(got), err)
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
	if _, err := s.Manifest(context.Background(), store.Key{Index: a.m.ID}); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("another index's manifest: %v", err)
	}
}

func TestCutAtEveryStep(t *testing.T) {
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

func TestDeleteCutAtEveryStep(t *testing.T) {
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
			return s.Delete(context.Background(), store.Key{Index: a.m.ID})
		},
		func(t *testing.T, root string, done bool) {
			s := open(t, root, store.Options{})
			defer s.Close()
			_, err := s.Get(context.Background(), store.Key{Index: a.m.ID})
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
		// Every round starts without the uploads of the previous one.
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
	// Memory mapped for a failed activation must be unmapped.
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil && bytes.Contains(maps, []byte(data)) {
		t.Error("segments are still mapped")
	}
}

// Everything at once, for the race detector.
func TestAtTheSameTime(t *testing.T) {
	for _, memory := range []indexdir.Memory{indexdir.MemoryMap, indexdir.MemoryHuge} {
		t.Run(memory.String(), func(t *testing.T) { atTheSameTime(t, memory) })
	}
}

func atTheSameTime(t *testing.T, memory indexdir.Memory) {
	s := open(t, t.TempDir(), store.Options{Memory: memory})
	owners := []owner{built(t, 1, 1), built(t, 1, 2), built(t, 2, 3)}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for round := range 10 {
				o := owners[(i+round)%len(owners)]
				// A push may lose its segments to another activation or deletion.
				if err := o.push(s); err != nil && !errors.Is(err, store.ErrIncomplete) && !errors.Is(err, cpar.ErrStorage) {
					t.Errorf("pushing: %v", err)
				}
				if i == 0 && round%3 == 2 {
					if err := s.Delete(context.Background(), store.Key{Index: o.m.ID}); err != nil && !errors.Is(err, store.ErrNotFound) {
						t.Errorf("deleting: %v", err)
					}
				}
			}
		})
		wg.Go(func() {
			for range 200 {
				o := owners[i%len(owners)]
				h, err := s.Get(context.Background(), store.Key{Index: o.m.ID})
				if err != nil {
					if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, indexdir.ErrMissing) {
						t.Errorf("getting: %v", err)
					}
					continue
				}
				if h.Value().first != h.Segments()[0][0] {
					t.Error("the value belongs to another index")
				}
				h.Release()
				if _, err := s.List(context.Background(), ""); err != nil {
					t.Errorf("listing: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if err := owners[0].push(s); err != nil || !owners[0].has(t, s) {
		t.Errorf("at the end: %v", err)
	}
}

func FuzzPutManifest(f *testing.F) {
	s := open(f, f.TempDir(), store.Options{})
	a := built(f, 1, 1)
	if err := a.push(s); err != nil {
		f.Fatal(err)
	}
	f.Add(a.bytes)
	f.Add(a.bytes[:30])
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := s.PutManifest(context.Background(), store.Key{Index: a.m.ID}, b); err == nil && !bytes.Equal(b, a.bytes) {
			t.Error("another manifest was activated")
		}
		if got, err := s.Manifest(context.Background(), store.Key{Index: a.m.ID}); err != nil || !bytes.Equal(got, a.bytes) {
			t.Errorf("the index changed: %v", err)
		}
	})
}

func BenchmarkGet(b *testing.B) {
	s := open(b, b.TempDir(), store.Options{})
	a := built(b, 1, 1)
	if err := a.push(s); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		h, err := s.Get(context.Background(), store.Key{Index: a.m.ID})
		if err != nil {
			b.Fatal(err)
		}
		h.Release()
	}
}
