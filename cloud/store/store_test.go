package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"cpar"
	"cpar/cloud/shard"
	"cpar/cloud/store"
	"cpar/internal/indexdir"
	"cpar/internal/testing/indexsample"
)

var errRefused = fmt.Errorf("%w: the loader refuses this forest", cpar.ErrCorrupt)

// loaded is the result of the tests' Loader, which refuses a ledger that starts
// with a zero byte.
type loaded struct{ first byte }

func loader(m *cpar.Manifest, _ shard.Range, segments [][]byte) (*loaded, error) {
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

type owner struct {
	m        *cpar.Manifest
	bytes    []byte
	segments [][]byte
}

func built(t testing.TB, id, seed uint64) owner {
	t.Helper()
	folder := t.TempDir()
	m, err := indexsample.Build(folder, id, seed)
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
		if err := s.PutSegment(context.Background(), store.IndexRef{Index: o.m.ID}, seg.Digest, int64(seg.Bytes), bytes.NewReader(o.segments[i])); err != nil {
			return err
		}
	}
	return s.PutManifest(context.Background(), store.IndexRef{Index: o.m.ID}, o.bytes)
}

func (o owner) has(t *testing.T, s *testStore) bool {
	t.Helper()
	h, err := s.Get(context.Background(), store.IndexRef{Index: o.m.ID})
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
	if _, err := s.Get(context.Background(), store.IndexRef{Index: a.m.ID}); !errors.Is(err, store.ErrNotFound) || !errors.Is(err, cpar.ErrInput) {
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
	if got, err := s.Manifest(context.Background(), store.IndexRef{Index: a.m.ID}); err != nil || !bytes.Equal(got, a2.bytes) {
		t.Errorf("manifest: %v", err)
	}
	if files, _ := os.ReadDir(filepath.Join(data, "indexes", a.m.ID.String(), "segments")); len(files) != len(a.segments) {
		t.Errorf("%d segments kept of an index of %d", len(files), len(a.segments))
	}
	r, err := s.OpenSegment(context.Background(), store.IndexRef{Index: b.m.ID}, b.m.Segments[2].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(r); !bytes.Equal(got, b.segments[2]) {
		t.Error("OpenSegment: wrong bytes")
	}
	r.Close()
	r.Close()
	if _, err := s.OpenSegment(context.Background(), store.IndexRef{Index: b.m.ID}, cpar.Digest{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a segment of no index: %v", err)
	}
	if err := s.Delete(context.Background(), store.IndexRef{Index: b.m.ID}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(context.Background(), store.IndexRef{Index: b.m.ID}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleting twice: %v", err)
	}
	if _, err := s.Get(context.Background(), store.IndexRef{Index: b.m.ID}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("getting a deleted index: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(data, "deleted")); len(left) != 0 {
		t.Errorf("left in deleted: %v", left)
	}
	s.Close()
	if _, err := s.Get(context.Background(), store.IndexRef{Index: a.m.ID}); !errors.Is(err, cpar.ErrStorage) {
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
	h1, err := s.Get(context.Background(), store.IndexRef{Index: a.m.ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := a2.push(s); err != nil {
		t.Fatal(err)
	}
	h2, err := s.Get(context.Background(), store.IndexRef{Index: a.m.ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(context.Background(), store.IndexRef{Index: a.m.ID}); err != nil {
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
	if err := s.PutManifest(context.Background(), store.IndexRef{Index: a.m.ID}, a.bytes); !errors.Is(err, store.ErrIncomplete) {
		t.Errorf("nothing uploaded: %v", err)
	}
	if err := a.push(s); err != nil {
		t.Fatal(err)
	}
	next := built(t, 1, 2)
	for i, seg := range next.m.Segments[1:] {
		if err := s.PutSegment(context.Background(), store.IndexRef{Index: a.m.ID}, seg.Digest, -1, bytes.NewReader(next.segments[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutManifest(context.Background(), store.IndexRef{Index: a.m.ID}, next.bytes); !errors.Is(err, store.ErrIncomplete) || errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("one missing: %v", err)
	}
	if got, err := s.Missing(context.Background(), store.IndexRef{Index: a.m.ID}, next.m); err != nil || len(got) != 1 || got[0] != next.m.Segments[0].Digest {
		t.Errorf("missing: %v, %v", got, err)
	}
	if err := s.PutManifest(context.Background(), store.IndexRef{Index: cpar.IndexID{1}}, next.bytes); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("under another id: %v", err)
	}
	if err := s.PutManifest(context.Background(), store.IndexRef{Index: a.m.ID}, next.bytes[:50]); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("half a manifest: %v", err)
	}
	if !a.has(t, s) {
		t.Error("the old index is not served")
	}
	for seed := uint64(3); ; seed++ {
		if _, segments := indexsample.Segments(indexsample.Manifest(1), seed); segments[len(segments)-1][0] != 0 {
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

func TestMissingListsSegmentOnce(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	a := built(t, 1, 1)
	twice := *a.m
	twice.Segments = append(append([]cpar.Segment(nil), a.m.Segments...), a.m.Segments...)
	if got, err := s.Missing(context.Background(), store.IndexRef{Index: a.m.ID}, &twice); err != nil || len(got) != len(a.segments) {
		t.Errorf("%d missing of %d, %v", len(got), len(a.segments), err)
	}
}

func TestConcurrentOperations(t *testing.T) {
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
				// A push may lose its segments to another activation or
				// deletion.
				if err := o.push(s); err != nil && !errors.Is(err, store.ErrIncomplete) && !errors.Is(err, cpar.ErrStorage) {
					t.Errorf("pushing: %v", err)
				}
				if i == 0 && round%3 == 2 {
					if err := s.Delete(context.Background(), store.IndexRef{Index: o.m.ID}); err != nil && !errors.Is(err, store.ErrNotFound) {
						t.Errorf("deleting: %v", err)
					}
				}
			}
		})
		wg.Go(func() {
			for range 200 {
				o := owners[i%len(owners)]
				h, err := s.Get(context.Background(), store.IndexRef{Index: o.m.ID})
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

func BenchmarkGet(b *testing.B) {
	s := open(b, b.TempDir(), store.Options{})
	a := built(b, 1, 1)
	if err := a.push(s); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		h, err := s.Get(context.Background(), store.IndexRef{Index: a.m.ID})
		if err != nil {
			b.Fatal(err)
		}
		h.Release()
	}
}
