package remote_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/shard"
	"cpar/cloud/store"
	"cpar/internal/testing/buckettest"
)

const (
	quotaTenant = "00000000000000aa"
	quotaItem   = 1000 + 4096 // bytes that the quota counts for a segment or blob
)

// twoRouters returns two stores over one bucket, with a quota for n items.
func twoRouters(t *testing.T, n int64) (routers []*store.Store[bool], b store.Backend) {
	load := func(*cpar.Manifest, shard.Range, [][]byte) (bool, error) { return true, nil }
	bucket := (&buckettest.Memory{Page: 7}).Serve(t)
	for range 2 {
		b = openRemote(t, bucket, t.TempDir(), 0)
		s := store.New(b, load, store.Options{Quota: func(string) int64 { return n * quotaItem }})
		t.Cleanup(func() { s.Close() })
		routers = append(routers, s)
	}
	return routers, b
}

func putSegment(ctx context.Context, s *store.Store[bool], i int) error {
	b := fmt.Appendf(nil, "%01000d", i)
	k := store.IndexRef{Tenant: quotaTenant, Index: cpar.IndexID{byte(i % 3)}}
	return s.PutSegment(ctx, k, sha256.Sum256(b), int64(len(b)), bytes.NewReader(b))
}

func putBlob(ctx context.Context, s *store.Store[bool], i int) error {
	b := fmt.Appendf(nil, "%01000d", i)
	r := album.Ref{Tenant: quotaTenant, Album: strings.Repeat("1", 32), Name: fmt.Sprint(i)}
	_, err := s.Albums().Put(ctx, r, int64(len(b)), sha256.Sum256(b), nil, bytes.NewReader(b))
	return err
}

// stored returns the numbers of segments and blobs in the storage.
func stored(t *testing.T, b store.Backend) (segments, blobs int64) {
	t.Helper()
	keys, err := b.Keys(t.Context(), quotaTenant)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		list, err := b.Segments(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		segments += int64(len(list))
	}
	u, err := album.New(b.Albums(), album.Options{}).Usage(t.Context(), quotaTenant)
	if err != nil {
		t.Fatal(err)
	}
	return segments, int64(u.Blobs)
}

// Two routers never exceed the quota together, whether clients upload segments of
// indexes or blobs, and items that fit are stored.
func TestQuotaIsExactWithTwoRouters(t *testing.T) {
	const limit = 20
	routers, b := twoRouters(t, limit)
	var group sync.WaitGroup
	var segments, blobs atomic.Int64
	for i := range 32 {
		group.Go(func() {
			put, acknowledged := putBlob, &blobs
			if i/2%2 == 0 {
				put, acknowledged = putSegment, &segments
			}
			for range 20 { // a running upload counts, too
				err := put(t.Context(), routers[i%2], i)
				if err == nil {
					acknowledged.Add(1)
					return
				}
				if !errors.Is(err, store.ErrQuota) {
					t.Errorf("item %d: %v", i, err)
				}
			}
		})
	}
	group.Wait()
	for i := 100; segments.Load()+blobs.Load() < limit && i < 100+limit; i++ {
		if err := putSegment(t.Context(), routers[i%2], i); err != nil {
			t.Fatalf("a segment that fits: %v", err)
		}
		segments.Add(1)
	}
	if s, n := stored(t, b); s != segments.Load() || n != blobs.Load() || s+n != limit {
		t.Errorf("%d segments and %d blobs are stored, %d and %d were acknowledged; want %d together", s, n, segments.Load(), blobs.Load(), limit)
	}
	for i, put := range []func(context.Context, *store.Store[bool], int) error{putSegment, putBlob} {
		if err := put(t.Context(), routers[i], 200+i); !errors.Is(err, store.ErrQuota) {
			t.Errorf("item %d beyond the quota: %v", i, err)
		}
	}
	// What one router removes makes room at the other.
	for i := range 3 {
		k := store.IndexRef{Tenant: quotaTenant, Index: cpar.IndexID{byte(i)}}
		list, err := b.Segments(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			if err := b.Remove(t.Context(), k, x.Digest); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range int(segments.Load()) {
		if err := putBlob(t.Context(), routers[i%2], 300+i); err != nil {
			t.Errorf("blob %d in the room of the segments: %v", i, err)
		}
	}
	if s, n := stored(t, b); s != 0 || n != limit {
		t.Errorf("%d segments and %d blobs are stored", s, n)
	}
}

// A client that disconnects after it has sent a segment cannot hide the segment
// from the quota of another router.
func TestCutUploadsCountForOtherRouters(t *testing.T) {
	const limit = 5
	routers, b := twoRouters(t, limit)
	if err := putBlob(t.Context(), routers[1], 0); err != nil {
		t.Fatal(err)
	}
	cut := errors.New("the client is gone")
	for i := range limit - 1 {
		body := fmt.Appendf(nil, "%01000d", i)
		k, d := store.IndexRef{Tenant: quotaTenant, Index: cpar.IndexID{1}}, cpar.Digest(sha256.Sum256(body))
		// The storage keeps the segment, but the upload fails.
		err := routers[0].PutSegment(t.Context(), k, d, int64(len(body)), readerFunc(func([]byte) (int, error) {
			if err := b.Put(t.Context(), k, d, int64(len(body)), bytes.NewReader(body)); err != nil {
				t.Error(err)
			}
			return 0, cut
		}))
		if !errors.Is(err, cut) {
			t.Errorf("a cut upload: %v", err)
		}
	}
	if err := putSegment(t.Context(), routers[1], 10); !errors.Is(err, store.ErrQuota) {
		t.Errorf("a segment beyond the quota: %v", err)
	}
	if s, n := stored(t, b); s+n != limit {
		t.Errorf("%d segments and %d blobs are stored", s, n)
	}
}

// A client that leaves after the last byte does not interrupt the upload, so that
// the bytes count.
func TestUploadsEndWithoutTheirClient(t *testing.T) {
	routers, b := twoRouters(t, 5)
	body := fmt.Appendf(nil, "%01000d", 1)
	left := func() (context.Context, io.Reader) {
		ctx, leave := context.WithCancel(t.Context())
		end := readerFunc(func([]byte) (int, error) { leave(); return 0, io.EOF })
		return ctx, io.MultiReader(bytes.NewReader(body), end)
	}
	ctx, r := left()
	k := store.IndexRef{Tenant: quotaTenant, Index: cpar.IndexID{1}}
	if err := routers[0].PutSegment(ctx, k, sha256.Sum256(body), int64(len(body)), r); err != nil {
		t.Errorf("a segment: %v", err)
	}
	ctx, r = left()
	x := album.Ref{Tenant: quotaTenant, Album: strings.Repeat("1", 32), Name: "a"}
	if _, err := routers[0].Albums().Put(ctx, x, int64(len(body)), sha256.Sum256(body), nil, r); err != nil {
		t.Errorf("a blob: %v", err)
	}
	if s, n := stored(t, b); s != 1 || n != 1 {
		t.Errorf("%d segments and %d blobs are stored", s, n)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
