package album_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/testing/buckettest"
	"cpar/internal/testing/crash"
)

func ref(name string) album.Ref { return album.Ref{Tenant: anna, Album: one, Name: name} }

func mustPut(t *testing.T, s *album.Store, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := put(t.Context(), s, ref(name), []byte("bytes of "+name), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A client with a token deletes and overwrites everything. Undelete restores
// every byte, and can itself be reverted.
func TestUndeleteRestoresEverything(t *testing.T) {
	for name, open := range storages(t) {
		t.Run(name, func(t *testing.T) {
			s := album.New(open(), album.Options{})
			mustPut(t, s, "a", "b", "c", "kopia.repository", "kopia.maintenance")
			before := all(t, s, anna, one)
			moment := time.Now()
			time.Sleep(time.Millisecond)
			for name, b := range before {
				if strings.HasPrefix(name, "kopia.") {
					old := cpar.Digest(sha256.Sum256([]byte(b)))
					if _, err := put(t.Context(), s, ref(name), []byte("ransom"), &old); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Delete(t.Context(), ref(name)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := put(t.Context(), s, ref("a"), []byte("rubbish"), nil); err != nil {
				t.Fatal(err)
			}
			mustPut(t, s, "d")
			after := all(t, s, anna, one)
			// Collections within the keeping time purge nothing.
			c, err := s.Collect(t.Context(), anna, time.Now().Add(-time.Hour), time.Now(), false)
			if err != nil || c != (album.Collection{}) {
				t.Errorf("a collection: %+v, %v", c, err)
			}
			operator := album.New(open(), album.Options{})
			u, err := operator.Undelete(t.Context(), anna, one, moment, true)
			if err != nil || u.Restored != 5 || u.Aside != 2 || !maps.Equal(all(t, s, anna, one), after) {
				t.Errorf("a dry run: %+v, %v", u, err)
			}
			u, err = operator.Undelete(t.Context(), anna, one, moment, false)
			if err != nil || u.Restored != 5 || u.Aside != 2 {
				t.Errorf("%+v, %v", u, err)
			}
			if got := all(t, s, anna, one); !maps.Equal(got, before) {
				t.Errorf("it has %v, want %v", got, before)
			}
			if _, err := operator.Undelete(t.Context(), anna, one, u.Back, false); err != nil {
				t.Fatal(err)
			}
			if got := all(t, s, anna, one); !maps.Equal(got, after) {
				t.Errorf("reverted, it has %v, want %v", got, after)
			}
			// After a purge the earlier state is refused, not restored in part.
			c, err = s.Collect(t.Context(), anna, time.Now().Add(time.Hour), time.Now(), false)
			if err != nil || c.Blobs != 7 {
				t.Errorf("a purge: %+v, %v", c, err)
			}
			if _, err := operator.Undelete(t.Context(), anna, one, moment, false); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
				t.Errorf("after the purge: %v", err)
			}
			if got := all(t, s, anna, one); !maps.Equal(got, after) {
				t.Errorf("after the purge it has %v, want %v", got, after)
			}
			if n := objects(t, open(), one); n != len(after) {
				t.Errorf("%d objects are left, want %d", n, len(after))
			}
		})
	}
}

func objects(t *testing.T, o album.Objects, folder string) (n int) {
	t.Helper()
	for _, err := range o.List(t.Context(), anna, folder+"/") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// An interruption at any operation loses no acknowledged blob, and a collection
// removes the remains.
func TestInterruptionAtEveryStepLosesNothing(t *testing.T) {
	const was = "the old maintenance"
	old := cpar.Digest(sha256.Sum256([]byte(was)))
	open := func(t *testing.T, root string, fsys durable.FS) *store.Folder {
		f, err := store.OpenFolder(filepath.Join(root, "data"), fsys)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var acknowledged atomic.Int64
	crash.Each(t,
		func(root string) {
			f := open(t, root, durable.OS)
			defer f.Close()
			s := album.New(f.Albums(), album.Options{})
			mustPut(t, s, "kept", "deleted")
			if _, err := put(t.Context(), s, ref("kopia.maintenance"), []byte(was), nil); err != nil {
				t.Fatal(err)
			}
		},
		func(fsys durable.FS, root string) error {
			f, err := store.OpenFolder(filepath.Join(root, "data"), fsys)
			if err != nil {
				return err
			}
			defer f.Close()
			s := album.New(f.Albums(), album.Options{})
			acknowledged.Store(0)
			for _, step := range []func() error{
				func() error {
					_, err := put(context.Background(), s, ref("new"), []byte("bytes of new"), nil)
					return err
				},
				func() error {
					_, err := put(context.Background(), s, ref("kopia.maintenance"), []byte("newer"), &old)
					return err
				},
				func() error { return s.Delete(context.Background(), ref("deleted")) },
				func() error {
					_, err := s.Collect(context.Background(), anna, time.Now().Add(time.Hour), time.Now().Add(time.Hour), false)
					return err
				},
			} {
				if err := step(); err != nil {
					return err
				}
				acknowledged.Add(1)
			}
			return nil
		},
		func(t *testing.T, root string, _ bool) {
			f := open(t, root, durable.OS)
			defer f.Close()
			s := album.New(f.Albums(), album.Options{})
			got, n := all(t, s, anna, one), acknowledged.Load()
			if got["kept"] == "" || n >= 1 && got["new"] == "" || n >= 3 && got["deleted"] != "" || n < 2 && got["deleted"] == "" {
				t.Errorf("after %d steps: %v", n, got)
			}
			if m := got["kopia.maintenance"]; m != "newer" && (n >= 2 || m != was) {
				t.Errorf("after %d steps: maintenance is %q", n, m)
			}
			if err := s.Check(t.Context(), anna, false, nil, func(f album.Fault) { t.Errorf("%v", f) }); err != nil {
				t.Error(err)
			}
			if _, err := f.Sweep(t.Context(), time.Now().Add(time.Hour), false); err != nil {
				t.Error(err)
			}
			if _, err := s.Collect(t.Context(), anna, time.Time{}, time.Now().Add(time.Hour), false); err != nil {
				t.Error(err)
			}
			u, err := s.Usage(t.Context(), anna)
			if n := objects(t, f.Albums(), one); err != nil || n != u.Blobs+u.Deleted {
				t.Errorf("%d objects for %+v, %v", n, u, err)
			}
			filepath.WalkDir(root, func(path string, _ fs.DirEntry, _ error) error {
				if strings.HasSuffix(path, ".tmp") {
					t.Errorf("left behind: %s", path)
				}
				return nil
			})
			mustPut(t, s, "later")
		})
}

// flip damages the object of a blob in a folder.
func flip(t *testing.T, data, pattern string, at int) (repair func()) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(data, "tenants", anna, "albums", pattern))
	if len(found) != 1 {
		t.Fatalf("%s matches %v", pattern, found)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	was := bytes.Clone(b)
	b[at] ^= 4
	if err := os.WriteFile(found[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() { os.WriteFile(found[0], was, 0o600) }
}

func openData(t *testing.T) (data string, f *store.Folder) {
	data = filepath.Join(t.TempDir(), "data")
	f, err := store.OpenFolder(data, durable.OS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return data, f
}

func TestScrubFindsAFlippedByte(t *testing.T) {
	data, f := openData(t)
	s := album.New(f.Albums(), album.Options{Quota: func(string) int64 { return 3 * 5000 }})
	mustPut(t, s, "a", "b", "c")
	repair := flip(t, data, one+"/b.*", 3)
	scrub := func() (faults []album.Fault) {
		t.Helper()
		fresh := album.New(f.Albums(), album.Options{})
		if err := fresh.Check(t.Context(), anna, true, nil, func(f album.Fault) { faults = append(faults, f) }); err != nil {
			t.Fatal(err)
		}
		return faults
	}
	if found := scrub(); len(found) != 1 || found[0].Name != "b" || !errors.Is(found[0].Err, cpar.ErrCorrupt) {
		t.Errorf("found %v", found)
	}
	if _, err := get(t.Context(), s, ref("b"), 0, -1); !errors.Is(err, album.ErrDamaged) {
		t.Errorf("a damaged blob: %v", err)
	}
	repair()
	if found := scrub(); len(found) != 0 {
		t.Errorf("repaired, found %v", found)
	}
	if b, err := get(t.Context(), s, ref("b"), 0, -1); err != nil || string(b) != "bytes of b" {
		t.Errorf("repaired: %q, %v", b, err)
	}
	flip(t, data, one+"/b.*", 3)
	scrub()
	// Even at the quota, putting the blob again repairs it, also in earlier states.
	intact := time.Now()
	time.Sleep(time.Millisecond)
	mustPut(t, s, "b")
	if u, err := s.Undelete(t.Context(), anna, one, intact, false); err != nil || u.Restored+u.Aside != 0 {
		t.Errorf("the blob was put before: %+v, %v", u, err)
	}
	if got := all(t, s, anna, one); len(got) != 3 {
		t.Errorf("it has %v", got)
	}
	if err := os.Remove(glob(t, data, one+"/c.*")); err != nil {
		t.Fatal(err)
	}
	if found := scrub(); len(found) != 1 || found[0].Name != "c" {
		t.Errorf("a missing object: %v", found)
	}
	// Damage of the log is noticed, and the album is not taken for empty.
	flip(t, data, "log/*1", 30)
	if _, _, err := album.New(f.Albums(), album.Options{}).List(t.Context(), anna, one, "", "", 10); !errors.Is(err, album.ErrDamaged) {
		t.Errorf("a damaged log: %v", err)
	}
	if err := os.Remove(glob(t, data, "log/*2")); err != nil {
		t.Fatal(err)
	}
	fresh := album.New(f.Albums(), album.Options{})
	if _, _, err := fresh.List(t.Context(), anna, one, "", "", 10); !errors.Is(err, album.ErrDamaged) {
		t.Errorf("a log with a gap: %v", err)
	}
	// Rebuilt, the album has all blobs that are left, for every process.
	if u, err := fresh.Rebuild(t.Context(), anna); err != nil || u.Blobs != 2 {
		t.Errorf("rebuilt: %+v, %v", u, err)
	}
	mustPut(t, fresh, "d")
	if got := all(t, s, anna, one); len(got) != 3 {
		t.Errorf("rebuilt, a process that knew the log has %v", got)
	}
	for _, x := range []*album.Store{s, fresh, album.New(f.Albums(), album.Options{})} {
		if got := all(t, x, anna, one); len(got) != 3 || got["a"] != "bytes of a" || got["b"] != "bytes of b" {
			t.Errorf("rebuilt, it has %v", got)
		}
	}
}

func glob(t *testing.T, data, pattern string) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(data, "tenants", anna, "albums", pattern))
	if len(found) == 0 {
		t.Fatalf("%s matches nothing", pattern)
	}
	return found[0]
}

// Timestamps of the storage that are wrong by ten years lose no blob, whether it
// is live, deleted or being uploaded.
func TestWrongClocksLoseNothing(t *testing.T) {
	for _, years := range []int{-10, 10} {
		t.Run(fmt.Sprint(years), func(t *testing.T) {
			bucket := &buckettest.Memory{Page: 7}
			p := bucket.Serve(t)
			s := album.New(openBucket(t, p).Albums(), album.Options{})
			mustPut(t, s, "a", "b")
			if err := s.Delete(t.Context(), ref("b")); err != nil {
				t.Fatal(err)
			}
			bucket.Age(time.Duration(-years) * 365 * 24 * time.Hour)
			// The upload begins, and the collection runs between its object and its
			// commit.
			slow := &between{Objects: openBucket(t, p).Albums()}
			slow.after = func() {
				bucket.Age(time.Duration(-years) * 365 * 24 * time.Hour)
				if _, err := s.Collect(t.Context(), anna, time.Now().Add(-time.Hour), time.Now().Add(-time.Hour), false); err != nil {
					t.Error(err)
				}
			}
			_, err := put(t.Context(), album.New(slow, album.Options{}), ref("c"), []byte("bytes of c"), nil)
			got := all(t, s, anna, one)
			if err == nil && got["c"] == "" || err != nil && !errors.Is(err, album.ErrBusy) || got["a"] == "" {
				t.Errorf("%v, and it has %v", err, got)
			}
			slow.after = func() {}
			mustPut(t, album.New(slow, album.Options{}), "c")
			if err := s.Check(t.Context(), anna, false, nil, func(f album.Fault) { t.Error(f) }); err != nil {
				t.Error(err)
			}
			// A clock behind the earlier events purges nothing early.
			s.SetNow(func() time.Time { return time.Now().AddDate(-10, 0, 0) })
			if err := s.Delete(t.Context(), ref("a")); err != nil {
				t.Fatal(err)
			}
			if c, err := s.Collect(t.Context(), anna, time.Now().Add(-time.Hour), time.Now(), false); err != nil || c.Blobs > 0 {
				t.Errorf("purged early: %+v, %v", c, err)
			}
		})
	}
}

// between calls function after when an object is stored, and entry when an entry is.
type between struct {
	album.Objects
	after, entry func()
}

func (b *between) PutNew(ctx context.Context, tenant, name string, text []byte) error {
	err := b.Objects.PutNew(ctx, tenant, name, text)
	if b.entry != nil {
		b.entry()
	}
	return err
}

func (b *between) Put(ctx context.Context, tenant, name string, size int64, sum cpar.Digest, r io.Reader) error {
	err := b.Objects.Put(ctx, tenant, name, size, sum, r)
	b.after()
	return err
}

// counted counts reads of objects and entries, and listings.
type counted struct {
	album.Objects
	objects, entries, lists atomic.Int64
}

func (c *counted) Get(ctx context.Context, tenant, name string, offset, length int64) (io.ReadCloser, error) {
	if strings.HasPrefix(name, "log/") {
		c.entries.Add(1)
	} else {
		c.objects.Add(1)
	}
	return c.Objects.Get(ctx, tenant, name, offset, length)
}

func (c *counted) reset() { c.objects.Store(0); c.entries.Store(0); c.lists.Store(0) }

func (c *counted) List(ctx context.Context, tenant, folder string) iter.Seq2[album.Object, error] {
	c.lists.Add(1)
	return c.Objects.List(ctx, tenant, folder)
}

// Pushing a new blob to a large album and listing the album read no stored
// object.
func TestPushReadsNothingStored(t *testing.T) {
	_, f := openData(t)
	c := &counted{Objects: f.Albums()}
	s := album.New(c, album.Options{Quota: func(string) int64 { return 1 << 40 }})
	for i := range 300 {
		mustPut(t, s, fmt.Sprintf("blob-%04d", i))
	}
	c.reset()
	mustPut(t, s, "new", "blob-0000") // the second is there
	if _, _, err := s.List(t.Context(), anna, one, "", "", 1000); err != nil {
		t.Fatal(err)
	}
	if o, l, e := c.objects.Load(), c.lists.Load(), c.entries.Load(); o != 0 || l != 0 || e > 5 {
		t.Errorf("a warm server read %d objects and %d entries, and listed %d times", o, e, l)
	}
	c.reset()
	mustPut(t, album.New(c, album.Options{}), "newer")
	if o, l, e := c.objects.Load(), c.lists.Load(), c.entries.Load(); o != 0 || l != 1 || e > album.SnapshotEvery {
		t.Errorf("a restarted server read %d objects and %d entries, and listed %d times", o, e, l)
	}
}

// Old entries are removed, and processes that know an older state continue.
func TestOldEntriesAreRemoved(t *testing.T) {
	bucket := &buckettest.Memory{}
	p := bucket.Serve(t)
	s, asleep := album.New(openBucket(t, p).Albums(), album.Options{}), album.New(openBucket(t, p).Albums(), album.Options{})
	mustPut(t, s, "a", "b")
	want := all(t, asleep, anna, one)
	objects := openBucket(t, p).Albums()
	for range 6*album.SnapshotEvery/2 + 10 {
		mustPut(t, s, "c")
		if err := s.Delete(t.Context(), ref("c")); err != nil {
			t.Fatal(err)
		}
	}
	count := func() (n int) {
		for _, err := range objects.List(t.Context(), anna, "log/") {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	old := time.Now().Add(time.Hour)
	if _, err := s.Collect(t.Context(), anna, old, old, false); err != nil {
		t.Fatal(err)
	}
	before := count()
	bucket.Age(72 * time.Hour)
	if _, err := s.Collect(t.Context(), anna, old, old, false); err != nil {
		t.Fatal(err)
	}
	if after := count(); after >= before-album.SnapshotEvery || after < 4*album.SnapshotEvery {
		t.Errorf("%d entries of %d are left", after, before)
	}
	// The monotonic clock of the other process stood still while its machine was
	// suspended.
	asleep.SetNow(func() time.Time { return time.Now().Add(72 * time.Hour) })
	mustPut(t, asleep, "d")
	want["d"] = "bytes of d"
	for i, x := range []*album.Store{s, album.New(objects, album.Options{}), asleep} {
		if got := all(t, x, anna, one); !maps.Equal(got, want) {
			t.Errorf("store %d has %v", i, got)
		}
	}
}
