package catalogue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/internal/seed"
	"cpar/internal/testing/blobtest"
	"cpar/user"
	"cpar/user/album/blobs"
)

var testSecret = seed.Secret{1, 2, 3}

// A memory refuses generations that do not descend from those it has seen.
type memory struct {
	number uint64
	digest [sha256.Size]byte
}

func (m *memory) see(number uint64, digest [sha256.Size]byte, h user.History) error {
	switch {
	case number < m.number, number == m.number && digest != m.digest, number > m.number && m.number > 0 && !h.Has(m.digest, number-m.number):
		return fmt.Errorf("%w: a rollback or fork", cpar.ErrCloud)
	}
	if digest != [32]byte{} {
		*m = memory{number, digest}
	}
	return nil
}

func opened(t testing.TB, s blobs.Store) *Catalogue {
	t.Helper()
	m := &memory{}
	c, err := Open(t.Context(), Options{Store: s, Album: cpar.IndexID{7}, Folder: t.TempDir(), Secret: testSecret, See: m.see})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func commit(t testing.TB, c *Catalogue, change *Change) {
	t.Helper()
	if err := c.Commit(t.Context(), func(*State) (*Change, error) { return change, nil }); err != nil {
		t.Fatal(err)
	}
}

// A twin applies changes to plain maps.
type twin struct {
	rows map[Key]Photo
	pins map[string]blobs.Pin
}

func (w *twin) apply(c *Change) {
	for _, k := range c.Remove {
		delete(w.rows, k)
	}
	for _, p := range c.Put {
		w.rows[p.Key()] = *p
	}
	for _, name := range c.Unpinned {
		delete(w.pins, name)
	}
	for name, p := range c.Pins {
		w.pins[name] = p
	}
}

func (w *twin) check(t *testing.T, s *State) {
	t.Helper()
	got := map[Key]Photo{}
	for _, p := range s.Photos() {
		got[p.Key()] = *p
	}
	if len(got) != len(s.Photos()) || !slices.IsSortedFunc(s.Photos(), comparePhotos) {
		t.Error("the rows are not distinct and sorted")
	}
	if !reflect.DeepEqual(got, w.rows) {
		t.Errorf("%d rows, want %d, or they differ", len(got), len(w.rows))
	}
	if len(s.Pins) != len(w.pins) {
		t.Errorf("%d pins, want %d", len(s.Pins), len(w.pins))
	}
	for name, p := range w.pins {
		if s.Pins[name] != p {
			t.Errorf("pin %s is %v, want %v", name, s.Pins[name], p)
		}
	}
}

// Random changes on two devices have the same effect as on a twin.
func TestCatalogueMatchesTwin(t *testing.T) {
	store := blobtest.NewMemory()
	devices := []*Catalogue{opened(t, store), opened(t, store)}
	w := twin{map[Key]Photo{}, map[string]blobs.Pin{}}
	r := mrand.New(mrand.NewPCG(3, 4))
	all := made(400, func(r *mrand.Rand) []string { return []string{"dog", "sea", "Straße"}[:r.IntN(4)] })
	for step := range 300 {
		c := devices[r.IntN(2)]
		if _, err := c.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		change := &Change{Pins: map[string]blobs.Pin{}, Compact: r.IntN(40) == 0}
		for range r.IntN(4) {
			p := *all[r.IntN(len(all))]
			p.Camera = fmt.Sprint("camera ", step)
			if !slices.ContainsFunc(change.Put, func(q *Photo) bool { return q.Key() == p.Key() }) {
				change.Put = append(change.Put, &p)
			}
		}
		if rows := c.State().Photos(); len(rows) > 0 && r.IntN(3) == 0 {
			if k := rows[r.IntN(len(rows))].Key(); !slices.ContainsFunc(change.Put, func(q *Photo) bool { return q.Key() == k }) {
				change.Remove = append(change.Remove, k)
			}
		}
		if r.IntN(2) == 0 {
			change.Pins[fmt.Sprintf("p%02d", r.IntN(30))] = blobs.Pin{Size: r.Int64N(1e6), Time: r.Int64N(1e9), Digest: [16]byte{byte(step)}}
		} else if r.IntN(2) == 0 {
			change.Unpinned = append(change.Unpinned, fmt.Sprintf("p%02d", r.IntN(30)))
		}
		commit(t, c, change)
		w.apply(change)
		w.check(t, c.State())
	}
	for _, c := range append(devices, opened(t, store)) {
		if _, err := c.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.check(t, c.State())
		again, err := Open(t.Context(), c.Options)
		if err != nil {
			t.Fatal(err)
		}
		w.check(t, again.State())
		if n := len(c.now.segments); n > 20 {
			t.Errorf("%d segments", n)
		}
	}
	if n := len(store.Names(generationPrefix)); n > keptGenerations+1 {
		t.Errorf("%d generations are kept", n)
	}
	if err := devices[0].Tidy(t.Context(), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if got, want := len(store.Names(segmentPrefix)), len(devices[0].now.segments); got != want {
		t.Errorf("%d segments are left, want %d", got, want)
	}
}

// Writers that commit at once all succeed, and nothing is lost.
func TestSecondWriterRebases(t *testing.T) {
	store := blobtest.NewMemory()
	all := made(200, func(*mrand.Rand) []string { return []string{"dog"} })
	var wait sync.WaitGroup
	for d := range 4 {
		c := opened(t, store)
		wait.Go(func() {
			for i := d; i < len(all); i += 4 {
				all[i].Name = fmt.Sprintf("%d.jpg", i)
				err := c.Commit(context.Background(), func(*State) (*Change, error) { return &Change{Put: all[i : i+1]}, nil })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	c := opened(t, store)
	if _, err := c.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(c.State().Photos()); got != len(all) || c.State().Number != uint64(len(all)) {
		t.Errorf("%d rows in generation %d, want %d", got, c.State().Number, len(all))
	}
}

// A commit fails if the server refuses its generation but lists no newer one.
func TestHiddenGenerationIsNoticed(t *testing.T) {
	store := blobtest.NewMemory()
	c := opened(t, store)
	if err := store.Put(t.Context(), generationName(1), []byte("x")); err != nil {
		t.Fatal(err)
	}
	err := c.Commit(t.Context(), func(*State) (*Change, error) {
		return &Change{Put: made(1, func(*mrand.Rand) []string { return nil })}, nil
	})
	if !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("got %v", err)
	}
}

// A row that no device could read back is refused before anything is sent.
func TestUnreadableRowIsNotCommitted(t *testing.T) {
	store := blobtest.NewMemory()
	c := opened(t, store)
	rows := made(1, func(*mrand.Rand) []string { return []string{"caf\xe9"} })
	err := c.Commit(t.Context(), func(*State) (*Change, error) { return &Change{Put: rows}, nil })
	if !errors.Is(err, cpar.ErrCorrupt) || len(store.Names("")) > 0 {
		t.Errorf("got %v, and the store has %v", err, store.Names(""))
	}
}

// Names of blobs become names of files in an export.
func TestPinWithInvalidNameIsRefused(t *testing.T) {
	for _, name := range []string{"../p1", "/p1", "", "p/1", "p1\n"} {
		s := segment{pins: map[string]blobs.Pin{name: {}}}
		if _, err := readSegment(s.appendBinary(nil)); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The figures of docs/album.md.
func TestSizes(t *testing.T) {
	rows := corel(t, 100_000)
	store := blobtest.NewMemory()
	c := opened(t, store)
	pins := map[string]blobs.Pin{}
	for i := range 20_000 {
		d := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		pins["p"+object()+"-s"+object()[:16]+"13c"] = blobs.Pin{Size: 20<<20 + int64(i), Time: 1_700_000_000 + int64(i), Digest: [16]byte(d[:16])}
	}
	commit(t, c, &Change{Put: rows, Pins: pins})
	t.Logf("100,000 rows and 20,000 pins: %d bytes", c.Bytes())
	if c.Bytes() > 12e6 {
		t.Errorf("the catalogue has %d bytes, want at most 12 MB", c.Bytes())
	}
	second := opened(t, store)
	if _, err := second.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := Open(t.Context(), second.Options); err != nil {
		t.Fatal(err)
	}
	t.Logf("opened in %v", time.Since(start)) // no test asserts by the clock
	worstSent, worstReceived := int64(0), int64(0)
	for i := range 40 {
		p := *rows[i*7]
		p.Name = fmt.Sprintf("new-%d.jpg", i)
		sent, received := store.Sent, int64(0)
		commit(t, c, &Change{Put: []*Photo{&p}, Pins: map[string]blobs.Pin{"p" + object(): {}, "xn" + object(): {}}})
		worstSent = max(worstSent, store.Sent-sent)
		received = store.Received
		if _, err := second.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		worstReceived = max(worstReceived, store.Received-received)
	}
	t.Logf("one photo: at most %d bytes sent, %d bytes fetched by a second device", worstSent, worstReceived)
	if worstSent > 128<<10 || worstReceived > 128<<10 {
		t.Error("want at most 128 KiB each")
	}
}

func BenchmarkOpen(b *testing.B) {
	c := opened(b, blobtest.NewMemory())
	commit(b, c, &Change{Put: corel(b, 100_000)})
	for b.Loop() {
		if again, err := Open(b.Context(), c.Options); err != nil || again.State().Number != 1 {
			b.Fatal(err)
		}
	}
}

func TestDamagedCopyIsFetchedAgain(t *testing.T) {
	c := opened(t, blobtest.NewMemory())
	commit(t, c, &Change{Put: made(5, func(*mrand.Rand) []string { return nil })})
	files, err := filepath.Glob(filepath.Join(c.Folder, segmentPrefix+"*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), c.Options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Sync(t.Context()); err != nil || len(again.State().Photos()) != 5 {
		t.Errorf("%d rows, %v", len(again.State().Photos()), err)
	}
}

// Decoded segments and generations survive a second encoding and decoding.
func FuzzSegment(f *testing.F) {
	rows := made(20, func(*mrand.Rand) []string { return []string{"dog", "sea"} })
	f.Add((&segment{photos: rows, removed: []Key{{"a/b", 3}}, pins: map[string]blobs.Pin{"p1": {Size: 1}}, unpinned: []string{"p2"}, ancestors: make([]byte, 16)}).appendBinary(nil))
	f.Add((&segment{}).appendBinary(nil))
	f.Add((&generation{number: 3, segments: make([]listed, 2)}).appendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := readSegment(b); err == nil {
			again, err := readSegment(s.appendBinary(nil))
			if err != nil || !reflect.DeepEqual(s, again) {
				t.Fatalf("a segment changes: %v\n%+v\n%+v", err, s, again)
			}
		}
		if g, err := readGeneration(b); err == nil && b[6] == generationVersion && !bytes.Equal(g.appendBinary(nil), b) {
			t.Fatal("a generation changes")
		}
	})
}

// A meeting store calls a function before the first request for a generation.
type meeting struct {
	blobs.Store
	once *sync.Once
	work func()
}

func (m meeting) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if name[:9] == generationPrefix {
		m.once.Do(m.work)
	}
	return m.Store.Get(ctx, name, offset, length)
}

// Two catalogues of a device share its folder and memory. While one reads a
// generation, the other tries to commit the next. The reader does not report a
// rollback, and the copy keeps the newest generation.
func TestCataloguesShareFolder(t *testing.T) {
	for what, work := range map[string]func(*Catalogue) error{
		"sync":   func(c *Catalogue) error { _, err := c.Sync(t.Context()); return err },
		"newest": func(c *Catalogue) error { _, err := c.Newest(t.Context()); return err },
		"a sync without memory": func(c *Catalogue) error {
			c.See = func(uint64, [sha256.Size]byte, user.History) error { return nil }
			_, err := c.Sync(t.Context())
			return err
		},
	} {
		store := blobtest.NewMemory()
		one := opened(t, store)
		commit(t, one, &Change{Put: []*Photo{{Name: "a"}}})
		o := one.Options
		o.Folder = t.TempDir()
		slow, done := o, make(chan struct{})
		slow.Store = meeting{store, new(sync.Once), func() {
			go func() {
				defer close(done)
				two, err := Open(t.Context(), o)
				if err == nil {
					_, err = two.Sync(t.Context())
				}
				if err == nil {
					err = two.Commit(t.Context(), func(*State) (*Change, error) { return &Change{Put: []*Photo{{Name: "b"}}, Compact: true}, nil })
				}
				if err != nil {
					t.Error(err)
				}
			}()
			select { // it waits for the lock, if there is one
			case <-done:
			case <-time.After(300 * time.Millisecond):
			}
		}}
		c, err := Open(t.Context(), slow)
		if err != nil {
			t.Fatal(err)
		}
		if err := work(c); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if what == "newest" && c.State().Number != 0 {
			t.Error("looking for the newest state has changed the catalogue")
		}
		<-done
		if again, err := Open(t.Context(), o); err != nil || len(again.State().Photos()) != 2 {
			t.Errorf("after %s, the copy is of generation %d, %v", what, again.State().Number, err)
		}
	}
}

// testdata/version1 holds the blobs of an album that an earlier version wrote, whose
// rows have no content digests. The next commit keeps such rows and adds digests to
// others.
func TestAlbumOfVersion1Opens(t *testing.T) {
	store := blobtest.NewMemory()
	if err := fs.WalkDir(os.DirFS("testdata/version1"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join("testdata/version1", name))
		if err == nil {
			err = store.Put(t.Context(), name, b)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	c := opened(t, store)
	if _, err := c.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows := c.State().Photos()
	if len(rows) != 5 || c.State().Number != 2 || c.State().Pins["p1"].Size != 21 {
		t.Fatalf("%d rows in generation %d, pins %v", len(rows), c.State().Number, c.State().Pins)
	}
	want := Photo{Folder: "photos/2011/11 home", Name: "IMG_0002.jpg", Files: []File{{"IMG_0002.jpg", 2728690, 1320644250796170001, "7fec31386ce372a4fae62bd7a9e2da65"}},
		Time: 1320644250, Width: 6000, Height: 4000, Orientation: 1, Keywords: []Keyword{{Word: "dog"}, {Word: "sea", Source: Accepted}, {Word: "Straße", Source: Suggested, Probability: 73}}}
	if !reflect.DeepEqual(*rows[2], want) {
		t.Errorf("%+v, want %+v", *rows[2], want)
	}
	now := *rows[2]
	now.Content = [32]byte{1, 31: 2}
	commit(t, c, &Change{Put: []*Photo{&now}, Compact: true})
	again := opened(t, store)
	if _, err := again.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, p := range again.State().Photos() {
		want := *rows[i]
		if i == 2 {
			want = now
		}
		if !reflect.DeepEqual(*p, want) {
			t.Errorf("%+v, want %+v", *p, want)
		}
	}
}

// A program refuses an album of a newer version.
func TestAlbumOfNewerVersionIsRefused(t *testing.T) {
	b := (&generation{number: 1}).appendBinary(nil)
	b[6]++
	if _, err := readGeneration(b); !errors.Is(err, cpar.ErrVersion) {
		t.Errorf("got %v", err)
	}
}
