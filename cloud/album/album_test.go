package album_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/blob"
	"cpar/cloud/remote"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/testing/buckettest"
)

const (
	anna  = "00000000000000aa"
	berta = "00000000000000bb"
	one   = "11111111111111111111111111111111"
	two   = "22222222222222222222222222222222"
)

// storages returns constructors of storages. Each call of the returned function
// opens the same storage for another process.
func storages(t *testing.T) map[string]func() album.Objects {
	data := filepath.Join(t.TempDir(), "data")
	f, err := store.OpenFolder(data, durable.OS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	bucket := (&buckettest.Memory{Page: 7}).Serve(t)
	return map[string]func() album.Objects{
		"a folder": func() album.Objects {
			beside, err := store.OpenBeside(data)
			if err != nil {
				t.Fatal(err)
			}
			return beside.Albums()
		},
		"a bucket": func() album.Objects { return openBucket(t, bucket).Albums() },
	}
}

func openBucket(t *testing.T, p buckettest.Endpoint) *remote.Store {
	b, err := blob.Open(p.Address, blob.Options{Credential: p.Credential, Attempts: 3})
	if err != nil {
		t.Fatal(err)
	}
	s, err := remote.Open(b, remote.Options{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func put(ctx context.Context, s *album.Store, r album.Ref, b []byte, old *cpar.Digest) (bool, error) {
	return s.Put(ctx, r, int64(len(b)), sha256.Sum256(b), old, bytes.NewReader(b))
}

func get(ctx context.Context, s *album.Store, r album.Ref, offset, length int64) ([]byte, error) {
	_, body, err := s.Get(ctx, r, func(album.Blob) (int64, int64, error) { return offset, length, nil })
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

func all(t *testing.T, s *album.Store, tenant, name string) map[string]string {
	t.Helper()
	found, after := map[string]string{}, ""
	for {
		list, more, err := s.List(t.Context(), tenant, name, "", after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range list {
			if b.Name <= after {
				t.Errorf("%s is listed after %s", b.Name, after)
			}
			after = b.Name
			got, err := get(t.Context(), s, album.Ref{Tenant: tenant, Album: name, Name: b.Name}, 0, -1)
			if err != nil || int64(len(got)) != b.Bytes || sha256.Sum256(got) != b.SHA256 {
				t.Errorf("%s: %d of %d bytes, %v", b.Name, len(got), b.Bytes, err)
			}
			found[b.Name] = string(got)
		}
		if !more {
			return found
		}
	}
}

// Two stores over one storage behave like a map, and Undelete like an earlier
// copy of it.
func TestStoresBehaveLikeAMap(t *testing.T) {
	for name, open := range storages(t) {
		t.Run(name, func(t *testing.T) {
			stores := []*album.Store{album.New(open(), album.Options{}), album.New(open(), album.Options{})}
			model := map[string]map[string]string{one: {}, two: {}}
			type copied struct {
				at    time.Time
				album string
				blobs map[string]string
			}
			var copies []copied
			random := rand.New(rand.NewPCG(1, 2))
			names := append([]string{"a", "b-1", "b.2", "c_", "p0123"}, album.Replaceable...)
			for i := range 600 {
				s, id := stores[random.IntN(2)], []string{one, two}[random.IntN(2)]
				r := album.Ref{Tenant: anna, Album: id, Name: names[random.IntN(len(names))]}
				bytes := []byte(strings.Repeat(fmt.Sprint(random.IntN(6)), random.IntN(3)))
				now, there := model[id][r.Name]
				switch op := random.IntN(12); {
				case op < 4:
					created, err := put(t.Context(), s, r, bytes, nil)
					switch {
					case there && now != string(bytes):
						if !errors.Is(err, album.ErrExists) || !errors.Is(err, cpar.ErrInput) {
							t.Fatalf("%d: over %q: %v", i, now, err)
						}
					case err != nil || created == there:
						t.Fatalf("%d: put: %v, %v", i, created, err)
					default:
						model[id][r.Name] = string(bytes)
					}
				case op < 6:
					old := cpar.Digest(sha256.Sum256([]byte(now)))
					if random.IntN(3) == 0 {
						old[0]++
					}
					_, err := put(t.Context(), s, r, bytes, &old)
					switch {
					case !slices.Contains(album.Replaceable, r.Name):
						if !errors.Is(err, cpar.ErrInput) {
							t.Fatalf("%d: %s was replaced: %v", i, r.Name, err)
						}
					case there && now == string(bytes):
						if err != nil {
							t.Fatalf("%d: replaced by itself: %v", i, err)
						}
					case !there || old != sha256.Sum256([]byte(now)):
						if !errors.Is(err, album.ErrChanged) {
							t.Fatalf("%d: %v", i, err)
						}
					case err != nil:
						t.Fatalf("%d: %v", i, err)
					default:
						model[id][r.Name] = string(bytes)
					}
				case op < 8:
					if err := s.Delete(t.Context(), r); err != nil {
						t.Fatal(err)
					}
					delete(model[id], r.Name)
				case op < 9:
					time.Sleep(10 * time.Microsecond)
					copies = append(copies, copied{time.Now(), id, maps.Clone(model[id])})
					time.Sleep(10 * time.Microsecond)
				case op < 10 && len(copies) > 0:
					c := copies[random.IntN(len(copies))]
					if _, err := s.Undelete(t.Context(), anna, c.album, c.at, false); err != nil {
						t.Fatal(err)
					}
					model[c.album] = maps.Clone(c.blobs)
				default:
					b, err := s.Stat(t.Context(), r)
					if there != (err == nil) || there && b.SHA256 != sha256.Sum256([]byte(now)) || !there && !errors.Is(err, album.ErrNotFound) {
						t.Fatalf("%d: %v, %v; want %v", i, b, err, there)
					}
				}
				if i%50 == 0 {
					for id, want := range model {
						for j, s := range append(stores, album.New(open(), album.Options{})) {
							if got := all(t, s, anna, id); !maps.Equal(got, want) {
								t.Fatalf("%d: store %d has %v, want %v", i, j, got, want)
							}
						}
					}
				}
			}
			if list, err := stores[0].Albums(t.Context(), berta); err != nil || len(list) > 0 {
				t.Errorf("another tenant has %v, %v", list, err)
			}
		})
	}
}

// If several puts store different bytes under one name, exactly one succeeds, even
// with a delete between them.
func TestOneOfConcurrentPutsWins(t *testing.T) {
	for name, open := range storages(t) {
		t.Run(name, func(t *testing.T) {
			stores := []*album.Store{album.New(open(), album.Options{}), album.New(open(), album.Options{})}
			for round := range 6 {
				r := album.Ref{Tenant: anna, Album: one, Name: fmt.Sprint("race-", round)}
				var mu sync.Mutex
				var winners []string
				var group sync.WaitGroup
				for i := range 6 {
					group.Go(func() {
						b := []byte(fmt.Sprint("bytes ", i))
						created, err := put(t.Context(), stores[i%2], r, b, nil)
						if err != nil && !errors.Is(err, album.ErrExists) {
							t.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						if created {
							winners = append(winners, string(b))
						}
					})
				}
				if round%2 == 1 {
					group.Go(func() {
						if err := stores[0].Delete(t.Context(), r); err != nil {
							t.Error(err)
						}
					})
				}
				group.Wait()
				got, err := get(t.Context(), stores[1], r, 0, -1)
				switch {
				case round%2 == 0 && (err != nil || len(winners) != 1 || string(got) != winners[0]):
					t.Errorf("it holds %q, %v; winners %q", got, err, winners)
				case round%2 == 1 && err == nil && !slices.Contains(winners, string(got)):
					t.Errorf("it holds %q, which no winner wrote: %q", got, winners)
				case err != nil && !errors.Is(err, album.ErrNotFound):
					t.Error(err)
				}
			}
			// Objects that lost are gone.
			usage, err := stores[0].Usage(t.Context(), anna)
			objects := 0
			for o, err := range open().List(t.Context(), anna, one+"/") {
				if err != nil {
					t.Fatal(err)
				}
				_ = o
				objects++
			}
			if err != nil || objects != usage.Blobs+usage.Deleted {
				t.Errorf("%d objects, %+v, %v", objects, usage, err)
			}
		})
	}
}

// Consecutive uploads that fit are not refused because of reservations that have
// ended.
func TestReservationsEndWithTheCommit(t *testing.T) {
	_, f := openData(t)
	slow := &between{Objects: f.Albums(), after: func() {}}
	s := album.New(slow, album.Options{Quota: func(string) int64 { return 2 * (1000 + 4096) }})
	var group sync.WaitGroup
	first := make(chan struct{})
	slow.entry = func() { // the first upload is committed, and has not returned
		close(first)
		slow.entry = nil
		time.Sleep(10 * time.Millisecond)
	}
	group.Go(func() {
		if _, err := put(t.Context(), s, ref("a"), make([]byte, 1000), nil); err != nil {
			t.Error(err)
		}
	})
	<-first
	if _, err := put(t.Context(), s, ref("b"), make([]byte, 1000), nil); err != nil {
		t.Errorf("the second of two that fit: %v", err)
	}
	group.Wait()
}

// Two routers never exceed the quota together, and a blob that fits beside all
// others is stored.
func TestQuotaIsExact(t *testing.T) {
	const limit = 20 * (1000 + 4096)
	for name, open := range storages(t) {
		t.Run(name, func(t *testing.T) {
			o := album.Options{Quota: func(string) int64 { return limit }, Indexes: func(context.Context, string) (int64, error) { return 0, nil }}
			stores := []*album.Store{album.New(open(), o), album.New(open(), o)}
			var group sync.WaitGroup
			for i := range 32 {
				group.Go(func() {
					r := album.Ref{Tenant: anna, Album: one, Name: fmt.Sprint("blob-", i)}
					for range 20 { // a running upload of the same router counts, too
						_, err := put(t.Context(), stores[i%2], r, make([]byte, 1000), nil)
						if err == nil {
							return
						}
						if !errors.Is(err, album.ErrQuota) {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			u, err := stores[0].Usage(t.Context(), anna)
			if err != nil || u.Blobs != 20 || u.Bytes+4096*int64(u.Blobs) != limit {
				t.Errorf("%+v, %v", u, err)
			}
			// Deleted blobs count.
			r := album.Ref{Tenant: anna, Album: one, Name: "last"}
			list, _, err := stores[0].List(t.Context(), anna, one, "", "", 1)
			if err != nil || len(list) == 0 {
				t.Fatal(err)
			}
			if err := stores[0].Delete(t.Context(), album.Ref{Tenant: anna, Album: one, Name: list[0].Name}); err != nil {
				t.Fatal(err)
			}
			if _, err := put(t.Context(), stores[1], r, make([]byte, 1000), nil); !errors.Is(err, album.ErrQuota) {
				t.Errorf("after a deletion: %v", err)
			}
			// Once it is purged, there is room.
			if _, err := stores[1].Collect(t.Context(), anna, time.Now().Add(time.Hour), time.Now(), false); err != nil {
				t.Fatal(err)
			}
			if _, err := put(t.Context(), stores[0], r, make([]byte, 1000), nil); err != nil {
				t.Errorf("after a purge: %v", err)
			}
		})
	}
}
