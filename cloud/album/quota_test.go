package album_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cpar/cloud/album"
	"cpar/internal/testing/buckettest"
)

// Refused and cut uploads make the server list the stored indexes only if a
// removed index can make room. Listing then takes at most a fifth of the time.
func TestRefusedUploadsListIndexesRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, f := openData(t)
		const limit, stored, listing = 100_000, int64(50_000), time.Second
		listed := 0
		s := album.New(f.Albums(), album.Options{
			Quota: func(string) int64 { return limit },
			Indexes: func(context.Context, string) (int64, error) {
				listed++
				time.Sleep(listing)
				return stored, nil
			},
		})
		mustPut(t, s, "a")
		refused := func(name string, bytes int) {
			t.Helper()
			if _, err := put(t.Context(), s, ref(name), make([]byte, bytes), nil); !errors.Is(err, album.ErrQuota) {
				t.Errorf("%d bytes: %v", bytes, err)
			}
		}
		for i := range 10 {
			refused(fmt.Sprint("large-", i), limit)
			err := s.Charge(t.Context(), anna, 100, func() (int64, error) { return 0, io.ErrUnexpectedEOF })
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("a cut upload: %v", err)
			}
		}
		if listed != 1 {
			t.Fatalf("uploads that no removal makes room for, and cut uploads: %d listings", listed)
		}
		start := time.Now()
		for i := range 10 {
			refused(fmt.Sprint("fits-without-indexes-", i), limit-int(stored))
		}
		if took := time.Since(start); listed != 11 || took < 9*5*listing {
			t.Fatalf("%d listings in %v", listed, took)
		}
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() { refused(fmt.Sprint("at-once-", i), limit-int(stored)) })
		}
		group.Wait()
		if listed != 12 {
			t.Errorf("uploads at once: %d listings", listed-11)
		}
		// The bytes of a failed upload that the storage has kept count.
		err := s.Charge(t.Context(), anna, 30_000, func() (int64, error) { return 30_000, io.ErrUnexpectedEOF })
		if !errors.Is(err, io.ErrUnexpectedEOF) || listed != 12 {
			t.Errorf("a cut upload: %v, %d listings", err, listed)
		}
		mustPut(t, s, "b", "c")
		if _, err := put(t.Context(), s, ref("d"), make([]byte, 15_000), nil); err != nil || listed != 13 {
			t.Errorf("a blob in the room of the bytes that a recount misses: %v, %d listings", err, listed)
		}
	})
}

// A client that uploads and deletes small segments cannot make the log larger
// than the quota allows, until old entries are removed.
func TestLogCountsTowardsTheQuota(t *testing.T) {
	const limit, free = 1 << 20, 2048 * 4096
	bucket := &buckettest.Memory{}
	p := bucket.Serve(t)
	o := album.Options{
		Quota:   func(string) int64 { return limit },
		Indexes: func(context.Context, string) (int64, error) { return 0, nil }, // all are deleted
	}
	s, other := album.New(openBucket(t, p).Albums(), o), album.New(openBucket(t, p).Albums(), o)
	mustPut(t, s, "a", "b")
	upload := func() error {
		return s.Charge(t.Context(), anna, 4097, func() (int64, error) { return 4097, nil })
	}
	objects := openBucket(t, p).Albums()
	size := func() (n int64) {
		for o, err := range objects.List(t.Context(), anna, "log/") {
			if err != nil {
				t.Fatal(err)
			}
			n += o.Bytes + 4096
		}
		return n
	}
	uploads, err := 0, error(nil)
	for ; err == nil && uploads < 3000; uploads++ {
		err = upload()
	}
	if got := size(); !errors.Is(err, album.ErrQuota) || got < free || got > free+limit {
		t.Errorf("upload %d: %v, and the log takes %d bytes", uploads, err, got)
	}
	if err := s.Delete(t.Context(), ref("a")); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	bucket.Age(72 * time.Hour)
	if _, err := other.Collect(t.Context(), anna, time.Time{}, time.Time{}, false); err != nil {
		t.Fatal(err)
	}
	if err := upload(); err != nil {
		t.Errorf("after old entries are removed: %v", err)
	}
	for i, s := range []*album.Store{s, other, album.New(objects, album.Options{})} {
		if got, err := s.LogBytes(t.Context(), anna); err != nil || got != size() {
			t.Errorf("store %d counts %d bytes of %d, %v", i, got, size(), err)
		}
	}
}

// early calls write before an entry is written.
type early struct {
	album.Objects
	write func()
}

func (e *early) PutNew(ctx context.Context, tenant, name string, b []byte) error {
	if do := e.write; do != nil {
		e.write = nil
		do()
	}
	return e.Objects.PutNew(ctx, tenant, name, b)
}

// Two routers that add equally large segments at the same time, by their clocks,
// count both.
func TestEqualEntriesCountTwice(t *testing.T) {
	for name, open := range storages(t) {
		t.Run(name, func(t *testing.T) {
			stored := int64(0)
			o := album.Options{Quota: func(string) int64 { return 20_000 }, Indexes: func(context.Context, string) (int64, error) { return stored, nil }}
			first := &early{Objects: open()}
			var stores []*album.Store
			for _, x := range []album.Objects{first, open()} {
				s := album.New(x, o)
				s.SetNow(func() time.Time { return time.Unix(1e9, 0) })
				stores = append(stores, s)
				mustPut(t, s, fmt.Sprint("blob-", len(stores)))
			}
			add := func(s *album.Store) error {
				return s.Charge(t.Context(), anna, 5000, func() (int64, error) { stored += 5000; return 5000, nil })
			}
			first.write = func() {
				if err := add(stores[1]); err != nil {
					t.Error(err)
				}
			}
			if err := add(stores[0]); err != nil {
				t.Fatal(err)
			}
			// There are 8,200 bytes of blobs and 10,000 of segments.
			if _, err := put(t.Context(), stores[1], ref("last"), make([]byte, 1), nil); !errors.Is(err, album.ErrQuota) {
				t.Errorf("beyond both: %v", err)
			}
		})
	}
}

// A process does not rely on an entry that it wrote after its machine was
// suspended, because others may have removed the entries of that time.
func TestEntryAfterASuspension(t *testing.T) {
	_, f := openData(t)
	slow := &early{Objects: f.Albums()}
	s := album.New(slow, album.Options{})
	mustPut(t, s, "a")
	slow.write = func() { s.SetNow(func() time.Time { return time.Now().Add(72 * time.Hour) }) }
	if _, err := put(t.Context(), s, ref("b"), nil, nil); !errors.Is(err, album.ErrBusy) {
		t.Errorf("suspended: %v", err)
	}
	s.SetNow(time.Now)
	if _, err := put(t.Context(), s, ref("b"), nil, nil); err != nil {
		t.Errorf("repeated: %v", err)
	}
}
