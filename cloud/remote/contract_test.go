package remote_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"cpar"
	"cpar/cloud/blob"
	"cpar/cloud/remote"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/indexdir"
	"cpar/internal/testing/buckettest"
	"cpar/internal/testing/indexsample"
)

func TestBackends(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) store.Backend{
		"a folder": func(t *testing.T) store.Backend {
			f, err := store.OpenFolder(filepath.Join(t.TempDir(), "data"), durable.OS)
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		"s3 in memory": func(t *testing.T) store.Backend {
			return openRemote(t, (&buckettest.Memory{Page: 7}).Serve(t), t.TempDir(), 0)
		},
		"google in memory": func(t *testing.T) store.Backend {
			return openRemote(t, (&buckettest.Memory{Page: 7, Google: true}).Serve(t), t.TempDir(), 0)
		},
		"versitygw": func(t *testing.T) store.Backend {
			return openRemote(t, buckettest.Versity(t).Endpoint, t.TempDir(), 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			defer b.Close()
			for _, tenant := range []string{"", "0123456789abcdef"} {
				t.Run(fmt.Sprintf("tenant %q", tenant), func(t *testing.T) {
					t.Run("life", func(t *testing.T) { life(t, b, tenant) })
					t.Run("refusals", func(t *testing.T) { refusals(t, b, tenant) })
					t.Run("pending", func(t *testing.T) { pending(t, b, tenant) })
					t.Run("together", func(t *testing.T) { together(t, b, tenant) })
				})
			}
			tenantsApart(t, b)
		})
	}
}

func openRemote(t *testing.T, p buckettest.Endpoint, data string, cacheBytes int64) *remote.Store {
	t.Helper()
	b, err := blob.Open(p.Address, blob.Options{Credential: p.Credential, Attempts: 3})
	if err != nil {
		t.Fatal(err)
	}
	s, err := remote.Open(b, remote.Options{Data: data, CacheBytes: cacheBytes})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type index struct {
	key   store.IndexRef
	m     *cpar.Manifest
	bytes [][]byte
}

func newIndex(tenant string, id, seed uint64) index {
	m := indexsample.Manifest(id)
	kinds, segments := indexsample.Segments(m, seed)
	for i, b := range segments {
		m.Segments = append(m.Segments, cpar.Segment{Kind: kinds[i], Bytes: uint64(len(b)), Digest: sha256.Sum256(b)})
	}
	return index{store.IndexRef{Tenant: tenant, Index: m.ID}, m, segments}
}

func (x index) put(ctx context.Context, b store.Backend) error {
	for i, seg := range x.m.Segments {
		if err := b.Put(ctx, x.key, seg.Digest, int64(seg.Bytes), bytes.NewReader(x.bytes[i])); err != nil {
			return err
		}
	}
	return nil
}

func (x index) push(t *testing.T, b store.Backend) {
	t.Helper()
	err := x.put(t.Context(), b)
	if err == nil {
		err = b.Activate(t.Context(), x.key, x.m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// active returns which of some indexes is active and intact, or -1.
func active(t *testing.T, b store.Backend, k store.IndexRef, of ...index) int {
	t.Helper()
	raw, err := b.Manifest(t.Context(), k)
	if errors.Is(err, store.ErrNotFound) && errors.Is(err, cpar.ErrInput) {
		return -1
	}
	m, e := cpar.DecodeManifest(raw)
	if err != nil || e != nil {
		t.Fatalf("the manifest: %v, %v", err, e)
	}
	opened, err := b.Open(t.Context(), k, m, indexdir.MemoryMap, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Release()
	for i, x := range of {
		want, _ := x.m.MarshalBinary()
		if !bytes.Equal(raw, want) {
			continue
		}
		for j := range x.bytes {
			if !bytes.Equal(opened.Segments()[j], x.bytes[j]) {
				t.Fatalf("segment %d has other bytes", j)
			}
		}
		return i
	}
	t.Fatal("another index is active")
	return -1
}

func life(t *testing.T, b store.Backend, tenant string) {
	first, second := newIndex(tenant, 1, 1), newIndex(tenant, 1, 2)
	k := first.key
	if keys, err := b.Keys(t.Context(), tenant); err != nil || len(keys) > 0 {
		t.Errorf("at first: %v, %v", keys, err)
	}
	if got := active(t, b, k, first); got != -1 {
		t.Errorf("at first %d", got)
	}
	if err := b.Delete(t.Context(), k); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleting nothing: %v", err)
	}
	for i, x := range []index{first, second} {
		x.push(t, b)
		if err := b.Activate(t.Context(), k, x.m); err != nil {
			t.Errorf("activating again: %v", err)
		}
		if got := active(t, b, k, first, second); got != i {
			t.Errorf("after push %d: %d", i, got)
		}
		for j, seg := range x.m.Segments {
			r, size, err := b.Read(t.Context(), k, seg.Digest)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			r.Close()
			if err != nil || size != int64(seg.Bytes) || !bytes.Equal(got, x.bytes[j]) {
				t.Errorf("segment %d: %d bytes, %v", j, len(got), err)
			}
		}
	}
	var all []cpar.Digest
	for _, x := range []index{first, second} {
		for _, seg := range x.m.Segments {
			all = append(all, seg.Digest)
		}
	}
	if err := b.Remove(t.Context(), k, all...); err != nil {
		t.Error(err)
	}
	list, err := b.Segments(t.Context(), k)
	if err != nil || len(list) != len(second.m.Segments) {
		t.Errorf("%d segments are left, %v", len(list), err)
	}
	for _, s := range list {
		if !slices.ContainsFunc(second.m.Segments, func(seg cpar.Segment) bool {
			return seg.Digest == s.Digest && int64(seg.Bytes) == s.Bytes
		}) || time.Since(s.Modified).Abs() > time.Hour {
			t.Errorf("%+v", s)
		}
	}
	if _, _, err := b.Read(t.Context(), k, first.m.Segments[0].Digest); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a segment that was removed: %v", err)
	}
	m, _ := cpar.DecodeManifest(must(second.m.MarshalBinary()))
	open, err := b.Open(t.Context(), k, m, indexdir.MemoryMap, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), k); err != nil {
		t.Error(err)
	}
	if got := active(t, b, k); got != -1 {
		t.Errorf("deleted, and %d is active", got)
	}
	if !bytes.Equal(open.Segments()[0], second.bytes[0]) {
		t.Error("an open index has changed")
	}
	open.Release()
	if err := b.Delete(t.Context(), k); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if keys, err := b.Keys(t.Context(), tenant); err != nil || len(keys) > 0 {
		t.Errorf("at last: %v, %v", keys, err)
	}
	first.push(t, b)
	if got := active(t, b, k, first); got != 0 {
		t.Errorf("pushed after its deletion: %d", got)
	}
	if keys, err := b.Keys(t.Context(), tenant); err != nil || len(keys) != 1 || keys[0] != k {
		t.Errorf("%v, %v", keys, err)
	}
	if _, err := b.Sweep(t.Context(), time.Now().Add(time.Hour), false); err != nil {
		t.Error(err)
	}
	if got := active(t, b, k, first); got != 0 {
		t.Errorf("swept: %d", got)
	}
	if err := b.Delete(t.Context(), k); err != nil {
		t.Error(err)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func refusals(t *testing.T, b store.Backend, tenant string) {
	good, next := newIndex(tenant, 2, 1), newIndex(tenant, 2, 2)
	good.push(t, b)
	k, seg, data := good.key, next.m.Segments[0], next.bytes[0]
	broken := errors.New("broken off")
	for what, put := range map[string]func() error{
		"other bytes": func() error {
			return b.Put(t.Context(), k, seg.Digest, int64(len(data)), bytes.NewReader(append([]byte{data[0] + 1}, data[1:]...)))
		},
		"too few":  func() error { return b.Put(t.Context(), k, seg.Digest, int64(len(data)), bytes.NewReader(data[1:])) },
		"too many": func() error { return b.Put(t.Context(), k, seg.Digest, int64(len(data)-1), bytes.NewReader(data)) },
		"other bytes of unknown length": func() error {
			return b.Put(t.Context(), k, seg.Digest, -1, bytes.NewReader(data[1:]))
		},
		"broken off": func() error {
			return b.Put(t.Context(), k, seg.Digest, int64(len(data)), io.MultiReader(bytes.NewReader(data[:9]), iotest.ErrReader(broken)))
		},
	} {
		if err := put(); !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, broken) {
			t.Errorf("%s: %v", what, err)
		}
		if list, err := b.Segments(t.Context(), k); err != nil || len(list) != len(good.m.Segments) {
			t.Errorf("%s left something: %d segments, %v", what, len(list), err)
		}
	}
	if err := b.Activate(t.Context(), k, next.m); !errors.Is(err, indexdir.ErrMissing) || !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("activated without segments: %v", err)
	}
	if _, err := b.Open(t.Context(), k, next.m, indexdir.MemoryMap, nil); !errors.Is(err, indexdir.ErrMissing) {
		t.Errorf("opened without segments: %v", err)
	}
	if got := active(t, b, k, good, next); got != 0 {
		t.Errorf("%d is active", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := b.(*store.Folder); !ok {
		if err := next.put(ctx, b); !errors.Is(err, context.Canceled) {
			t.Errorf("broken off: %v", err)
		}
	}
	if err := b.Put(t.Context(), k, seg.Digest, -1, iotest.OneByteReader(bytes.NewReader(data))); err != nil {
		t.Errorf("byte by byte, of unknown length: %v", err)
	}
	if err := b.Delete(t.Context(), k); err != nil {
		t.Error(err)
	}
}

func pending(t *testing.T, b store.Backend, tenant string) {
	x := newIndex(tenant, 3, 1)
	if err := x.put(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if keys, err := b.Keys(t.Context(), tenant); err != nil || len(keys) != 1 || keys[0] != x.key {
		t.Errorf("%v, %v", keys, err)
	}
	if got := active(t, b, x.key, x); got != -1 {
		t.Errorf("%d is active", got)
	}
	now := time.Now()
	for _, dry := range []bool{true, false} {
		c, err := store.Collect(t.Context(), b, store.Before{Unnamed: now.Add(time.Hour), Broken: now}, dry, nil)
		if err != nil || c.Segments != len(x.m.Segments) || c.Abandoned != 1 || c.Bytes != int64(x.m.Bytes()) {
			t.Errorf("dry %v: %+v, %v", dry, c, err)
		}
	}
	if keys, err := b.Keys(t.Context(), tenant); err != nil || len(keys) != 0 {
		t.Errorf("after the collection: %v, %v", keys, err)
	}
	if err := b.Remove(t.Context(), x.key); err != nil {
		t.Errorf("removing nothing: %v", err)
	}
}

func together(t *testing.T, b store.Backend, tenant string) {
	var of []index
	for seed := range uint64(4) {
		of = append(of, newIndex(tenant, 4, seed))
	}
	k := of[0].key
	var group sync.WaitGroup
	var stop, seen atomic.Int64
	for w := range 2 {
		group.Go(func() {
			defer stop.Add(1)
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range 6 {
				x := of[rng.IntN(len(of))]
				err := x.put(t.Context(), b)
				if err == nil {
					err = b.Activate(t.Context(), k, x.m)
				}
				// A concurrent deletion may remove uploads and their folder.
				if err != nil && !errors.Is(err, indexdir.ErrMissing) && !errors.Is(err, store.ErrIncomplete) && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("push: %v", err)
				}
				if rng.IntN(4) == 0 {
					if err := b.Delete(t.Context(), k); err != nil && !errors.Is(err, store.ErrNotFound) {
						t.Errorf("delete: %v", err)
					}
				}
			}
		})
	}
	for range 2 {
		group.Go(func() {
			for stop.Load() < 2 {
				raw, err := b.Manifest(t.Context(), k)
				if errors.Is(err, store.ErrNotFound) {
					continue
				}
				m, e := cpar.DecodeManifest(raw)
				if err != nil || e != nil {
					t.Errorf("manifest: %v, %v", err, e)
					return
				}
				x, err := b.Open(t.Context(), k, m, indexdir.MemoryMap, nil)
				if errors.Is(err, indexdir.ErrMissing) {
					continue
				}
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				seen.Add(1)
				x.Release()
			}
		})
	}
	group.Wait()
	if seen.Load() == 0 {
		t.Error("no reader saw anything")
	}
	of[0].push(t, b)
	if got := active(t, b, k, of...); got != 0 {
		t.Errorf("at last %d", got)
	}
	if err := b.Delete(t.Context(), k); err != nil {
		t.Error(err)
	}
}

func tenantsApart(t *testing.T, b store.Backend) {
	mine, theirs := newIndex("0123456789abcdef", 5, 1), newIndex("fedcba9876543210", 5, 1)
	mine.push(t, b)
	if err := theirs.put(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := b.Remove(t.Context(), theirs.key, theirs.m.Segments[0].Digest); err != nil {
		t.Error(err)
	}
	if err := b.Activate(t.Context(), theirs.key, theirs.m); !errors.Is(err, indexdir.ErrMissing) {
		t.Errorf("activated with another tenant's segment: %v", err)
	}
	if _, err := b.Open(t.Context(), theirs.key, theirs.m, indexdir.MemoryMap, nil); !errors.Is(err, indexdir.ErrMissing) {
		t.Errorf("opened with another tenant's segment: %v", err)
	}
	if got := active(t, b, mine.key, mine); got != 0 {
		t.Errorf("%d is active", got)
	}
	tenants, err := b.Tenants(t.Context())
	if err != nil || !slices.Equal(tenants, []string{"", "0123456789abcdef", "fedcba9876543210"}) {
		t.Errorf("%q, %v", tenants, err)
	}
}
