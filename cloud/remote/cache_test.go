package remote_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud/remote"
	"cpar/cloud/store"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/testing/buckettest"
)

func onDisk(t *testing.T, data string) (files int, bytes int64) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(data, "cache"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		files++
		bytes += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, bytes
}

func cachePath(data string, x index, i int) string {
	return filepath.Join(data, "cache", "_", x.key.Index.String(), "segments", x.m.Segments[i].Digest.String())
}

func TestCacheIsBoundedAndEvictsLeastUsed(t *testing.T) {
	a, b, c := newIndex("", 1, 1), newIndex("", 2, 2), newIndex("", 3, 3)
	size := int64(a.m.Bytes())
	data, place := t.TempDir(), (&buckettest.Memory{}).Serve(t)
	s := openRemote(t, place, data, 2*size)
	defer s.Close()
	for _, x := range []index{a, b, c} {
		x.push(t, s)
		active(t, s, x.key, x)
		if _, bytes := onDisk(t, data); bytes > 2*size || bytes != s.Stats().CacheBytes {
			t.Errorf("%d bytes on the disk, it says %d, and may have %d", bytes, s.Stats().CacheBytes, 2*size)
		}
	}
	// Pushes fill the cache, so nothing was fetched. Index a was used least recently.
	if st := s.Stats(); st.Misses != 0 || st.Evictions != int64(len(a.m.Segments)) || st.BytesIn > 3*4096 {
		t.Errorf("%+v", st)
	}
	active(t, s, b.key, b)
	if s.Stats().Misses != 0 {
		t.Error("a recently used index was evicted")
	}
	active(t, s, a.key, a)
	if st := s.Stats(); st.Misses != int64(len(a.m.Segments)) || st.CacheBytes != 2*size {
		t.Errorf("%+v", st)
	}
	active(t, s, b.key, b)
	if s.Stats().Misses != int64(len(a.m.Segments)) {
		t.Error("c was used least recently, and b was evicted")
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(cachePath(data, c, 0)))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the evicted index: %v", err)
	}
}

func TestAnnouncedBytesReserveNoSpace(t *testing.T) {
	const limit = 4 << 20
	m := &buckettest.Memory{}
	s := openRemote(t, m.Serve(t), t.TempDir(), limit)
	defer s.Close()
	x := newIndex("", 1, 1)
	r, w := io.Pipe()
	defer w.Close()
	put := make(chan error, 1)
	go func() { put <- s.Put(t.Context(), store.IndexRef{}, cpar.Digest{}, limit, r) }()
	w.Write([]byte{1})
	x.push(t, s)
	if got := active(t, s, x.key, x); got != 0 {
		t.Errorf("%d is active", got)
	}
	w.Close()
	if err := <-put; !errors.Is(err, cpar.ErrCorrupt) {
		t.Error(err)
	}
}

func TestOpenIndexesAreNotEvicted(t *testing.T) {
	a, b := newIndex("", 1, 1), newIndex("", 2, 2)
	data, place := t.TempDir(), (&buckettest.Memory{}).Serve(t)
	s := openRemote(t, place, data, int64(a.m.Bytes())*3/2)
	defer s.Close()
	a.push(t, s)
	open, err := s.Open(t.Context(), a.key, a.m, indexdir.MemoryMap, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.put(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := s.Activate(t.Context(), b.key, b.m); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), b.key, b.m, indexdir.MemoryMap, nil); !errors.Is(err, store.ErrNoRoom) || !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("a second index where one fits: %v", err)
	}
	for i := range a.m.Segments {
		if _, err := os.Stat(cachePath(data, a, i)); err != nil {
			t.Errorf("an open index was evicted: %v", err)
		}
	}
	open.Release()
	if got := active(t, s, b.key, b); got != 0 {
		t.Errorf("after the release %d", got)
	}
	s.Close()
	s = openRemote(t, place, data, 100)
	defer s.Close()
	_, err = s.Open(t.Context(), b.key, b.m, indexdir.MemoryMap, nil)
	if !errors.Is(err, cpar.ErrStorage) || errors.Is(err, store.ErrNoRoom) || !strings.Contains(hint.Of(err), "cache-bytes") {
		t.Errorf("larger than the cache: %v", err)
	}
	if files, _ := onDisk(t, data); files > 1 {
		t.Errorf("%d files in a cache of 100 bytes", files)
	}
	if err := a.put(t.Context(), s); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("an upload larger than the cache: %v", err)
	}
}

func TestDamagedCacheIsFetchedAgain(t *testing.T) {
	x := newIndex("", 1, 1)
	data, place := t.TempDir(), (&buckettest.Memory{}).Serve(t)
	for what, spoil := range map[string]func(path string) error{
		"flipped": func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil {
				b[len(b)/2] ^= 1
				err = os.WriteFile(path, b, 0o600)
			}
			return err
		},
		"cut":        func(path string) error { return os.Truncate(path, 1) },
		"emptied":    func(path string) error { return os.Truncate(path, 0) },
		"removed":    os.Remove,
		"left apart": func(path string) error { return os.WriteFile(path+"-half.tmp", []byte("x"), 0o600) },
	} {
		for _, restart := range []bool{false, true} {
			s := openRemote(t, place, data, 0)
			x.push(t, s)
			if restart {
				s.Close()
			}
			if err := spoil(cachePath(data, x, 2)); err != nil {
				t.Fatal(err)
			}
			if restart {
				s = openRemote(t, place, data, 0)
			}
			if got := active(t, s, x.key, x); got != 0 {
				t.Errorf("%s: %d", what, got)
			}
			s.Close()
		}
	}
}

func TestPartialCacheFilesAreRemoved(t *testing.T) {
	x := newIndex("", 1, 1)
	data, place := t.TempDir(), (&buckettest.Memory{}).Serve(t)
	s := openRemote(t, place, data, 0)
	x.push(t, s)
	s.Close()
	half := filepath.Join(filepath.Dir(cachePath(data, x, 0)), "upload-ABCDEFGHIJKL.tmp")
	os.WriteFile(half, make([]byte, 1<<20), 0o600)
	s = openRemote(t, place, data, 0)
	defer s.Close()
	if _, err := os.Stat(half); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
	if got := active(t, s, x.key, x); got != 0 || s.Stats().Misses != 0 || s.Stats().CacheBytes != int64(x.m.Bytes()) {
		t.Errorf("%d, %+v", got, s.Stats())
	}
}

func TestDamagedStorageIsDistinguished(t *testing.T) {
	x := newIndex("", 1, 1)
	m := &buckettest.Memory{}
	place := m.Serve(t)
	s := openRemote(t, place, t.TempDir(), 0)
	x.push(t, s)
	s.Close()
	name := "some/where/_/" + x.key.Index.String() + "/seg/" + x.m.Segments[1].Digest.String()
	good := m.Bytes(name)
	if good == nil {
		t.Fatalf("%s is not among %q", name, m.Names())
	}
	flipped := append([]byte{good[0] ^ 1}, good[1:]...)
	for what, c := range map[string]struct {
		bytes []byte
		fault error
	}{"flipped": {flipped, indexdir.ErrDigest}, "cut": {good[1:], indexdir.ErrSize}, "removed": {nil, indexdir.ErrMissing}} {
		m.Change(name, c.bytes)
		data := t.TempDir()
		s := openRemote(t, place, data, 0)
		_, err := s.Open(t.Context(), x.key, x.m, indexdir.MemoryMap, nil)
		if !errors.Is(err, cpar.ErrCorrupt) || !errors.Is(err, c.fault) || errors.Is(err, store.ErrAway) {
			t.Errorf("%s: %v", what, err)
		}
		if files, bytes := onDisk(t, data); files >= len(x.m.Segments) || s.Stats().CacheBytes != bytes {
			t.Errorf("%s: %d files of %d bytes, %+v", what, files, bytes, s.Stats())
		}
		s.Close()
	}
	m.Change(name, good)
}

func TestOneProcessPerCache(t *testing.T) {
	place, data := (&buckettest.Memory{}).Serve(t), t.TempDir()
	s := openRemote(t, place, data, 0)
	defer s.Close()
	other := openRemote(t, place, "", 0)
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if _, err := remote.Open(nil, remote.Options{Data: data}); !errors.Is(err, indexdir.ErrLocked) {
		t.Error(err)
	}
	if runtime.GOOS != "windows" {
		if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "cpard-*", "cache")); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

func TestUnreachableStorageKeepsOpenIndexes(t *testing.T) {
	x := newIndex("", 1, 1)
	m := &buckettest.Memory{}
	place := m.Serve(t)
	s := openRemote(t, place, t.TempDir(), 0)
	defer s.Close()
	x.push(t, s)
	open, err := s.Open(t.Context(), x.key, x.m, indexdir.MemoryMap, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "", http.StatusServiceUnavailable)
		return true
	}
	next := newIndex("", 1, 2)
	for doing, err := range map[string]error{
		"tenants":  func() error { _, err := s.Tenants(t.Context()); return err }(),
		"keys":     func() error { _, err := s.Keys(t.Context(), ""); return err }(),
		"manifest": func() error { _, err := s.Manifest(t.Context(), x.key); return err }(),
		"segments": func() error { _, err := s.Segments(t.Context(), x.key); return err }(),
		"read":     func() error { _, _, err := s.Read(t.Context(), x.key, x.m.Segments[0].Digest); return err }(),
		"put":      next.put(t.Context(), s),
		"activate": s.Activate(t.Context(), x.key, next.m),
		"remove":   s.Remove(t.Context(), x.key, x.m.Segments[0].Digest),
		"delete":   s.Delete(t.Context(), x.key),
		"open":     func() error { _, err := s.Open(t.Context(), next.key, next.m, indexdir.MemoryMap, nil); return err }(),
	} {
		if !errors.Is(err, store.ErrAway) || !errors.Is(err, cpar.ErrStorage) || errors.Is(err, cpar.ErrCorrupt) || errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", doing, err)
		}
	}
	if string(open.Segments()[0]) != string(x.bytes[0]) {
		t.Error("an open index has changed")
	}
	again, err := s.Open(t.Context(), x.key, x.m, indexdir.MemoryMap, nil)
	if err != nil {
		t.Error(err)
	} else {
		again.Release()
	}
	open.Release()
	if st := s.Stats(); !st.Away || st.Errors == 0 {
		t.Errorf("%+v", st)
	}
	m.Before = nil
	next.push(t, s)
	if got := active(t, s, x.key, x, next); got != 1 || s.Stats().Away {
		t.Errorf("back again: %d, %+v", got, s.Stats())
	}
}
