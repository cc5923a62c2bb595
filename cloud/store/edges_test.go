package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/indexdir"
)

// gated announces its first read and then waits.
type gated struct {
	io.Reader
	begun, more chan struct{}
	once        sync.Once
}

func (g *gated) Read(p []byte) (int, error) {
	g.once.Do(func() { g.begun <- struct{}{}; <-g.more })
	return g.Reader.Read(p)
}

func TestConcurrentUploadsCountOnce(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	b, k := []byte("one segment"), store.IndexRef{Index: cpar.IndexID{1}}
	begun, more := make(chan struct{}), make(chan struct{})
	var uploads sync.WaitGroup
	for range 5 {
		uploads.Go(func() {
			r := &gated{Reader: bytes.NewReader(b), begun: begun, more: more}
			if err := s.PutSegment(t.Context(), k, sha256.Sum256(b), int64(len(b)), r); err != nil {
				t.Error(err)
			}
		})
	}
	for range 5 {
		<-begun
	}
	close(more)
	uploads.Wait()
	if u, err := s.Usage(t.Context(), ""); err != nil || u.Pending != int64(len(b)) || u.Reserved != 0 {
		t.Errorf("%+v, %v", u, err)
	}
}

// A segment counts again after a deletion, even while another upload of it goes on.
func TestUploadAfterADeletionCounts(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	b, k := []byte("one segment"), store.IndexRef{Index: cpar.IndexID{1}}
	put := func(r io.Reader) error { return s.PutSegment(t.Context(), k, sha256.Sum256(b), int64(len(b)), r) }
	r := &gated{Reader: bytes.NewReader(b), begun: make(chan struct{}), more: make(chan struct{})}
	done := make(chan error)
	go func() { done <- put(r) }()
	<-r.begun
	for range 2 {
		if err := put(bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
		if u, err := s.Usage(t.Context(), ""); err != nil || u.Pending != int64(len(b)) {
			t.Errorf("%+v, %v", u, err)
		}
		if err := s.Delete(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	close(r.more)
	if err := <-done; err != nil && !errors.Is(err, store.ErrIncomplete) {
		t.Error(err)
	}
}

func TestUploadRacingDeletionIsNoDiskError(t *testing.T) {
	s, o := open(t, t.TempDir(), store.Options{}), built(t, 1, 1)
	k := store.IndexRef{Index: o.m.ID}
	for i, seg := range o.m.Segments {
		if err := s.PutSegment(t.Context(), k, seg.Digest, int64(seg.Bytes), bytes.NewReader(o.segments[i])); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutManifest(t.Context(), k, o.bytes); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1<<20)
	r := &gated{Reader: bytes.NewReader(b), begun: make(chan struct{}), more: make(chan struct{})}
	done := make(chan error)
	go func() { done <- s.PutSegment(context.Background(), k, sha256.Sum256(b), int64(len(b)), r) }()
	<-r.begun
	if err := s.Delete(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	close(r.more)
	if err := <-done; err != nil && (errors.Is(err, cpar.ErrStorage) || !errors.Is(err, store.ErrIncomplete)) {
		t.Error(err)
	}
}

func TestPushReplacesFolderInPlaceOfSegment(t *testing.T) {
	data, o := t.TempDir(), built(t, 1, 1)
	s := open(t, data, store.Options{})
	k := store.IndexRef{Index: o.m.ID}
	path := indexdir.SegmentPath(filepath.Join(data, "indexes", k.Index.String()), o.m.Segments[0].Digest)
	if err := os.MkdirAll(filepath.Join(path, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	if missing, err := s.Missing(t.Context(), k, o.m); err != nil || len(missing) != len(o.m.Segments) {
		t.Errorf("%d are missing, %v", len(missing), err)
	}
	for i, seg := range o.m.Segments {
		if err := s.PutSegment(t.Context(), k, seg.Digest, int64(seg.Bytes), bytes.NewReader(o.segments[i])); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutManifest(t.Context(), k, o.bytes); err != nil {
		t.Error(err)
	}
}

// If any byte of a stored index changes, a request that loads the index reports
// damage to the index, not a faulty request.
func TestCorruptedIndexIsNoFaultOfTheRequest(t *testing.T) {
	o := built(t, 1, 1)
	k := store.IndexRef{Index: o.m.ID}
	r := rand.New(rand.NewPCG(1, 2))
	data := t.TempDir()
	s := open(t, data, store.Options{})
	for i, seg := range o.m.Segments {
		if err := s.PutSegment(t.Context(), k, seg.Digest, int64(seg.Bytes), bytes.NewReader(o.segments[i])); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutManifest(t.Context(), k, o.bytes); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(data, "indexes", k.Index.String())
	paths := []string{filepath.Join(folder, "manifest")}
	for _, seg := range o.m.Segments {
		paths = append(paths, indexdir.SegmentPath(folder, seg.Digest))
	}
	for try := range 500 {
		path, at := paths[0], try
		if try >= len(o.bytes) {
			path, at = paths[r.IntN(len(paths))], r.IntN(1<<30)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(whole) == 0 {
			continue
		}
		broken := bytes.Clone(whole)
		broken[at%len(broken)] ^= 1 << r.IntN(8)
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		cold, err := store.Open(data, loader, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h, err := cold.Get(t.Context(), k)
		if err == nil {
			h.Release()
		} else if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("byte %d of %s: %v", at%len(broken), filepath.Base(path), err)
		}
		cold.Close()
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
