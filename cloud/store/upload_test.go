package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/indexdir"
)

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
		if err := s.PutSegment(context.Background(), store.IndexRef{Index: id}, d, c.size, c.body); !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", what, err, c.want)
		}
		if _, ok, err := s.HasSegment(context.Background(), store.IndexRef{Index: id}, d); ok || err != nil {
			t.Errorf("%s: accepted, %v", what, err)
		}
	}
	if err := s.PutSegment(context.Background(), store.IndexRef{Index: id}, d, -1, bytes.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	if err := s.PutSegment(context.Background(), store.IndexRef{Index: id}, d, -1, broken{}); err != nil {
		t.Errorf("already stored, and read again: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Any client can invent ids.
func TestFailedUploadsLeaveNothing(t *testing.T) {
	data := t.TempDir()
	s := open(t, data, store.Options{})
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0
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
		if err := s.PutSegment(context.Background(), store.IndexRef{Index: cpar.IndexID{byte(i), 9}}, cpar.Digest{1}, -1, strings.NewReader("x")); !errors.Is(err, cpar.ErrCorrupt) {
			t.Fatal(err)
		}
	}
	if n := files(); n > before+5 {
		t.Errorf("%d open files; there were %d", n, before)
	}
	if n := folders("indexes") + folders("deleted"); n != 0 {
		t.Errorf("%d folders are left", n)
	}
	a := built(t, 1, 1)
	spoil := func() {
		t.Helper()
		if err := s.PutSegment(context.Background(), store.IndexRef{Index: a.m.ID}, cpar.Digest{1}, -1, strings.NewReader("x")); !errors.Is(err, cpar.ErrCorrupt) {
			t.Fatal(err)
		}
	}
	reader, writer := io.Pipe()
	uploaded := make(chan error)
	go func() {
		uploaded <- s.PutSegment(context.Background(), store.IndexRef{Index: a.m.ID}, a.m.Segments[0].Digest, -1, reader)
	}()
	writer.Write(a.segments[0][:5])
	spoil()
	writer.Write(a.segments[0][5:])
	writer.Close()
	if err := <-uploaded; err != nil {
		t.Fatalf("an upload beside one that failed: %v", err)
	}
	spoil()
	if got, err := s.Missing(context.Background(), store.IndexRef{Index: a.m.ID}, a.m); err != nil || len(got) != len(a.segments)-1 {
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

func TestFailedUploadKeepsConcurrentOne(t *testing.T) {
	a := built(t, 1, 1)
	fsys := &meanwhile{FS: durable.OS}
	s := open(t, t.TempDir(), store.Options{FS: fsys})
	fsys.do = func() {
		if err := s.PutSegment(context.Background(), store.IndexRef{Index: a.m.ID}, cpar.Digest{1}, -1, strings.NewReader("x")); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("wrong bytes: %v", err)
		}
	}
	if err := s.PutSegment(context.Background(), store.IndexRef{Index: a.m.ID}, a.m.Segments[0].Digest, -1, bytes.NewReader(a.segments[0])); err != nil {
		t.Errorf("the earlier upload: %v", err)
	}
}

func TestFailedUploadsBesideAPush(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	a := built(t, 1, 1)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 10 {
				if err := s.PutSegment(context.Background(), store.IndexRef{Index: a.m.ID}, cpar.Digest{1}, -1, strings.NewReader("x")); !errors.Is(err, cpar.ErrCorrupt) {
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

func TestPendingUploads(t *testing.T) {
	data := t.TempDir()
	s := open(t, data, store.Options{})
	a, b := built(t, 1, 1), built(t, 2, 2)
	path := func(i int) string {
		return indexdir.SegmentPath(filepath.Join(data, "indexes", a.m.ID.String()), a.m.Segments[i].Digest)
	}
	for i := range 2 {
		if err := s.PutSegment(context.Background(), store.IndexRef{Index: a.m.ID}, a.m.Segments[i].Digest, -1, bytes.NewReader(a.segments[i])); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.push(s); err != nil {
		t.Fatal(err)
	}
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
	beside, err := store.OpenBeside(data)
	if err != nil {
		t.Fatal(err)
	}
	want := store.Collection{Segments: 2, Indexes: 2, Bytes: int64(len(a.segments[0])) + 9, Remains: store.Swept{Files: 2, Bytes: 3}}
	for _, dry := range []bool{true, false} {
		if got, err := store.Collect(t.Context(), beside, store.Before{Unnamed: before, Broken: before}, dry, nil); err != nil || got != want {
			t.Errorf("dry %v: %+v, %v; want %+v", dry, got, err, want)
		}
	}
	if got, err := store.Collect(t.Context(), beside, store.Before{Unnamed: before, Broken: before}, false, nil); err != nil || got != (store.Collection{}) {
		t.Errorf("again: %+v, %v", got, err)
	}
	if got, _ := s.Missing(context.Background(), store.IndexRef{Index: a.m.ID}, a.m); len(got) != len(a.segments)-1 {
		t.Errorf("%d missing; the recent one should count", len(got))
	}
	if list, _ := s.List(context.Background(), ""); len(list) != 1 {
		t.Errorf("an index that was never activated is listed: %v", list)
	}
	os.Chtimes(path(1), long, long)
	if got, err := store.Collect(t.Context(), beside, store.Before{Unnamed: before, Broken: before}, false, nil); err != nil || got.Abandoned != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(data, "indexes", a.m.ID.String())); err == nil {
		t.Error("an empty index is left")
	}
	if !b.has(t, s) {
		t.Error("the active index is gone")
	}
}

func collect(t *testing.T, data string, before time.Time) {
	t.Helper()
	f, err := store.OpenBeside(data)
	if err == nil {
		_, err = store.Collect(t.Context(), f, store.Before{Unnamed: before, Broken: before}, false, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Requests are not delayed.
func TestMaintain(t *testing.T) {
	data := t.TempDir()
	s := open(t, data, store.Options{KeepPending: time.Hour})
	a, b := built(t, 1, 1), built(t, 2, 2)
	for _, o := range []owner{a, b} {
		if err := s.PutSegment(context.Background(), store.IndexRef{Index: o.m.ID}, o.m.Segments[0].Digest, -1, bytes.NewReader(o.segments[0])); err != nil {
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
	if got, err := s.Missing(context.Background(), store.IndexRef{Index: b.m.ID}, b.m); err != nil || len(got) != len(b.segments)-1 {
		t.Errorf("%d missing, %v; a recent upload should stay", len(got), err)
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
		if err := s.PutManifest(context.Background(), store.IndexRef{Index: a.m.ID}, b); err == nil && !bytes.Equal(b, a.bytes) {
			t.Error("another manifest was activated")
		}
		if got, err := s.Manifest(context.Background(), store.IndexRef{Index: a.m.ID}); err != nil || !bytes.Equal(got, a.bytes) {
			t.Errorf("the index changed: %v", err)
		}
	})
}

// A refusing backend calls stored after it has stored a segment, and removed
// after it has removed one.
type refusing struct {
	store.Backend
	stored, removed func()
}

func (r *refusing) Put(ctx context.Context, k store.IndexRef, d cpar.Digest, size int64, body io.Reader) error {
	err := r.Backend.Put(ctx, k, d, size, body)
	if do := r.stored; do != nil && err == nil {
		r.stored = nil
		do()
	}
	return err
}

func (r *refusing) Remove(ctx context.Context, k store.IndexRef, digests ...cpar.Digest) error {
	defer r.removed()
	return r.Backend.Remove(ctx, k, digests...)
}

// An upload that the quota refuses at its end removes no segment that a second
// upload has stored or found.
func TestRefusedUploadSparesSecondOne(t *testing.T) {
	f, err := store.OpenFolder(filepath.Join(t.TempDir(), "data"), durable.OS)
	if err != nil {
		t.Fatal(err)
	}
	var limit atomic.Int64
	limit.Store(1 << 20)
	b := &refusing{Backend: f, removed: func() { limit.Store(1 << 20) }}
	s := store.New(b, loader, store.Options{Quota: func(string) int64 { return limit.Load() }})
	t.Cleanup(func() { s.Close() })
	k := store.IndexRef{Tenant: "00000000000000aa", Index: cpar.IndexID{1}}
	check := func(body []byte, first, second error) {
		t.Helper()
		limit.Store(1 << 20)
		_, there, err := s.HasSegment(t.Context(), k, sha256.Sum256(body))
		if err != nil || !errors.Is(first, store.ErrQuota) || second != nil || !there {
			t.Errorf("%s: the first upload: %v; the second: %v; it is there: %v, %v", body, first, second, there, err)
		}
	}
	for _, early := range []bool{true, false} {
		body := fmt.Appendf(nil, "a second upload that began before the first stored the segment: %v", early)
		put := func(r io.Reader) error {
			return s.PutSegment(t.Context(), k, sha256.Sum256(body), int64(len(body)), r)
		}
		begun, more, second := make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
		attempt := func() { second <- put(&gated{Reader: bytes.NewReader(body), begun: begun, more: more}) }
		if early {
			go attempt()
			<-begun
		}
		b.stored = func() {
			close(more)
			if !early {
				go attempt()
			}
			select { // the second upload ends, or waits for the first
			case err := <-second:
				second <- err
			case <-time.After(100 * time.Millisecond):
			}
			limit.Store(1)
		}
		first := put(bytes.NewReader(body))
		check(body, first, <-second)
	}
	body := []byte("a second upload that ended before the first stored the segment")
	put := func(r io.Reader) error {
		return s.PutSegment(t.Context(), k, sha256.Sum256(body), int64(len(body)), r)
	}
	begun, more, first := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() { first <- put(&gated{Reader: bytes.NewReader(body), begun: begun, more: more}) }()
	<-begun
	second := put(bytes.NewReader(body))
	limit.Store(1)
	close(more)
	check(body, <-first, second)
}
