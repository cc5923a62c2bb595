package album

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/testing/blobtest"
	"cpar/user"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/repository"
)

// noticed fails the test unless err has the exit code for a failing server.
func noticed(t *testing.T, what string, err error) {
	t.Helper()
	if exitcode.Of(err) != exitcode.Cloud {
		t.Errorf("%s: exit code %d, %v", what, exitcode.Of(err), err)
	}
}

func TestRollbackIsNoticed(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	w.add(a, w.photos("a", 2, 1))
	old := w.store.Snapshot()
	w.add(a, w.photos("b", 2, 2))
	w.store.Restore(old)
	noticed(t, "on the same device", w.open("one").Sync(t.Context()))
	must(t, w.open("two").Sync(t.Context())) // it has seen nothing
	w.store.Restore(blobtest.NewMemory().Snapshot())
	noticed(t, "an album that is gone", w.open("one").Sync(t.Context()))
	_, err := w.open("one").Add(t.Context(), []string{w.photos("c", 1, 3)}, AddOptions{})
	noticed(t, "adding to an album that is gone", err)
	if left := w.store.Names(""); len(left) > 0 {
		t.Errorf("it wrote %v", left)
	}
	w.store.Restore(old)
	b, _, _, err := w.open("one").Trust(t.Context())
	must(t, err)
	must(t, b.Sync(t.Context()))
}

// A rollback and a fork name the photos that vanish, in every command.
func TestConflictsNamePhotos(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	w.add(a, w.photos("a", 2, 1))
	old := w.store.Snapshot()
	w.add(a, w.photos("b", 2, 2))
	must(t, a.Suggest(t.Context(), map[string][]catalogue.Keyword{"a/2021/IMG_0001.jpg": {{Word: "sea", Source: catalogue.Suggested, Probability: 50}}}))
	rolledBack := func(what string, err error, gone, changed []string) {
		t.Helper()
		noticed(t, what, err)
		c := new(Conflict)
		if !errors.As(err, &c) || !slices.Equal(c.Vanished, gone) || !slices.Equal(c.Changed, changed) {
			t.Errorf("%s: %v, and it names %v", what, err, c.Difference)
		}
	}
	ofB, all := []string{"b/2020/IMG_0000.jpg", "b/2021/IMG_0001.jpg"}, []string{"a/2020/IMG_0000.jpg", "a/2021/IMG_0001.jpg", "b/2020/IMG_0000.jpg", "b/2021/IMG_0001.jpg"}
	w.store.Restore(old)
	_, err := w.open("one").Verify(t.Context(), 0, nil)
	rolledBack("verify", err, ofB, all[1:2])
	_, err = w.open("one").Add(t.Context(), []string{w.photos("c", 1, 3)}, AddOptions{})
	rolledBack("add", err, ofB, all[1:2])
	b := w.open("two") // another device continues from the old state
	w.add(b, w.photos("d", 1, 4))
	w.add(b, w.photos("e", 1, 5))
	w.add(b, w.photos("f", 1, 6))
	rolledBack("a fork", w.open("one").Sync(t.Context()), ofB, all[1:2])
	w.store.Restore(blobtest.NewMemory().Snapshot())
	rolledBack("an album that is gone", w.open("one").Sync(t.Context()), all, nil)
}

// A new device that was given a card refuses older states and forks. Without one, it
// believes the first state.
func TestAlbumCardProtectsNewDevice(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	if _, ok, err := a.o.Device.AlbumCard(w.key); ok || err != nil {
		t.Errorf("a card before the album: %v", err)
	}
	w.add(a, w.photos("a", 1, 1))
	old := w.store.Snapshot()
	w.add(a, w.photos("b", 1, 2))
	card, ok, err := a.o.Device.AlbumCard(w.key)
	if !ok || err != nil || card.Generation != 2 {
		t.Fatalf("the card is %v: %v", card, err)
	}
	w.add(a, w.photos("c", 1, 3))
	now := w.store.Snapshot()
	w.store.Restore(old)
	x := w.open("two") // it continues from the old state
	for i, name := range []string{"d", "e", "f"} {
		w.add(x, w.photos(name, 1, uint64(i+4)))
	}
	forked := w.store.Snapshot()

	b := w.open("three")
	must(t, b.o.Device.AcceptAlbumCard(w.key, card))
	for what, state := range map[string]any{"an old state": old, "a fork": forked, "no album": blobtest.NewMemory().Snapshot()} {
		w.store.Restore(state)
		noticed(t, what, b.Sync(t.Context()))
	}
	w.store.Restore(now)
	must(t, b.Sync(t.Context()))
	if err := b.o.Device.AcceptAlbumCard(w.key, card); exitcode.Of(err) != exitcode.Input {
		t.Errorf("an older card: %v", err)
	}
	w.store.Restore(forked)
	noticed(t, "a fork after the card was confirmed", b.Sync(t.Context()))
	// A device that knows the album refuses states that do not follow the card.
	fork, _, err := x.o.Device.AlbumCard(w.key)
	must(t, err)
	w.store.Restore(now)
	must(t, b.o.Device.AcceptAlbumCard(w.key, fork))
	noticed(t, "the known state, with the card of a fork", b.Sync(t.Context()))
	b, _, _, err = b.Trust(t.Context())
	must(t, err)
	must(t, b.Sync(t.Context()))
}

// Trust reports which photos vanish, and keeps the catalogue that lists them.
func TestTrustKeepsCatalogue(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	w.add(a, w.photos("a", 2, 1))
	old := w.store.Snapshot()
	w.add(a, w.photos("b", 2, 2))
	newer := w.store.Snapshot()
	same, d, kept, err := a.Trust(t.Context())
	must(t, err)
	if same != a || kept != "" || len(d.Vanished)+len(d.Changed) > 0 {
		t.Errorf("without a conflict: %v, kept in %q", d, kept)
	}
	w.store.Restore(old)
	release, err := a.lock()
	must(t, err)
	if _, _, _, err := w.open("one").Trust(t.Context()); exitcode.Of(err) != exitcode.Storage {
		t.Errorf("while another process writes: %v", err)
	}
	release()
	b, d, kept, err := w.open("one").Trust(t.Context())
	must(t, err)
	if len(d.Vanished) != 2 || len(d.Changed) > 0 {
		t.Errorf("it names %v", d)
	}
	_, err = b.Verify(t.Context(), 100, nil)
	must(t, err)
	w.store.Restore(newer)
	must(t, b.Sync(t.Context())) // it descends from the trusted state
	w.store.Restore(old)
	must(t, os.RemoveAll(a.catalogue.Folder))
	must(t, os.Rename(kept, a.catalogue.Folder))
	if got := w.find(w.open("one"), "folder:b"); len(got) != 2 {
		t.Errorf("the kept catalogue has %v", got)
	}
}

func TestForkIsNoticed(t *testing.T) {
	w := newWorld(t)
	a, b := w.open("one"), w.open("two")
	w.add(a, w.photos("a", 2, 1))
	must(t, b.Sync(t.Context()))
	base := w.store.Snapshot()
	w.add(a, w.photos("b", 2, 2))
	w.store.Restore(base) // the second device gets another future
	w.add(b, w.photos("c", 2, 3))
	noticed(t, "an equal number", a.Sync(t.Context()))
	w.add(b, w.photos("d", 2, 4))
	noticed(t, "a greater number", a.Sync(t.Context()))
}

func TestDamagedBlobsAreNoticed(t *testing.T) {
	for _, c := range []struct {
		name, prefix string
		change       func([]byte) []byte
	}{
		{"withheld pack", "p", func([]byte) []byte { return nil }},
		{"truncated pack", "p", func(b []byte) []byte { return b[:len(b)/2] }},
		{"swapped pack", "p", func(b []byte) []byte { b[len(b)/3] ^= 1; return b }},
		{"withheld index", "xn", func([]byte) []byte { return nil }},
		{"truncated index", "xn", func(b []byte) []byte { return b[:len(b)-1] }},
		{"swapped index", "xn", func(b []byte) []byte { b[0] ^= 1; return b }},
		{"withheld segment", "cpar-seg-", func([]byte) []byte { return nil }},
		{"swapped segment", "cpar-seg-", func(b []byte) []byte { b[20] ^= 1; return b }},
		{"swapped generation", "cpar-gen-", func(b []byte) []byte { b[20] ^= 1; return b }},
		{"withheld format", "kopia.repository", func([]byte) []byte { return nil }},
		{"swapped format", "kopia.repository", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.add(w.open("one"), w.photos("a", 4, 1))
			names := w.store.Names(c.prefix)
			if len(names) == 0 {
				t.Fatal("there is no such blob")
			}
			w.store.Alter(names[0], c.change)
			v, err := w.open("two").Verify(t.Context(), 100, nil)
			noticed(t, "verify", err)
			if err != nil && !strings.Contains(err.Error(), names[0]) && v.Blobs[names[0]] == "" && c.prefix != "cpar-gen-" {
				t.Errorf("verify does not name %s: %v", names[0], err)
			}
			if strings.HasPrefix(c.name, "withheld pack") && len(v.Affected) == 0 {
				t.Error("verify names no photo")
			}
			v, err = w.open("one").Verify(t.Context(), 0, nil) // it has a copy of the catalogue
			noticed(t, "verify with a copy", err)
			if len(v.Affected) != 6 {
				t.Errorf("with a copy of the catalogue, verify names %d files", len(v.Affected))
			}
			b := w.open("three")
			if err = b.Sync(t.Context()); err == nil {
				_, err = b.Get(t.Context(), b.Find(parse(t, ""), false), t.TempDir(), nil)
			}
			noticed(t, "get", err)
		})
	}
}

func TestWrongKeyWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.add(w.open("one"), w.photos("a", 2, 1))
	before := w.store.Names("")
	// The server returns the blobs of one album for the album of another key.
	w.key = user.NewKey()
	_, err := w.open("two").Add(t.Context(), []string{w.photos("b", 1, 2)}, AddOptions{})
	if err == nil || !errors.Is(err, cpar.ErrCloud) && !errors.Is(err, cpar.ErrKey) {
		t.Errorf("another key: %v", err)
	}
	if after := w.store.Names(""); len(after) != len(before) {
		t.Errorf("another key wrote %d blobs", len(after)-len(before))
	}
}

// A shifted store reports other times.
type shifted struct {
	blobs.Store
	by time.Duration
}

func (s shifted) Stat(ctx context.Context, name string) (blobs.Blob, error) {
	b, err := s.Store.Stat(ctx, name)
	b.Modified = b.Modified.Add(s.by)
	return b, err
}

func (s shifted) List(ctx context.Context, prefix string, yield func(blobs.Blob) error) error {
	return s.Store.List(ctx, prefix, func(b blobs.Blob) error {
		b.Modified = b.Modified.Add(s.by)
		return yield(b)
	})
}

// No photo is lost if the server reports false times while a second device adds and
// the first one maintains.
func TestShiftedClockCostsNoPhoto(t *testing.T) {
	const decade = 10 * 365 * 24 * time.Hour
	for _, by := range []time.Duration{-decade, decade} {
		w := newWorld(t)
		a, b := w.over("one", shifted{w.store, by}), w.over("two", shifted{w.store, -by})
		one, two := w.photos("one", 6, 1), w.photos("two", 6, 2)
		w.add(a, one)
		must(t, b.Sync(t.Context()))
		r, err := b.repository(t.Context(), false) // in flight while the other device maintains
		must(t, err)
		for i := range 4 {
			w.now = w.now.Add(13 * time.Hour)
			must(t, a.Maintain(t.Context(), i == 3))
		}
		must(t, r.Close(t.Context()))
		w.add(b, two)
		w.now = w.now.Add(30 * time.Hour)
		must(t, a.Maintain(t.Context(), false))
		w.same(a, one)
		w.same(a, two)
		_, err = w.open("three").Verify(t.Context(), 100, nil)
		must(t, err)
	}
}

// A marker of an epoch is a plain name. If kopia believed one, it would allocate
// memory for each epoch up to its number.
func TestForeignMarkersAreIgnored(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("a", 4, 1)
	w.add(a, dir)
	for _, name := range []string{"xe90000", "xw99999999999"} {
		must(t, w.store.Put(t.Context(), name, []byte("epoch-marker")))
	}
	w.add(a, w.photos("b", 4, 2))
	must(t, a.Maintain(t.Context(), false))
	for name := range a.catalogue.State().Pins {
		if strings.HasPrefix(name, "xe9") || strings.HasPrefix(name, "xw9") || strings.HasPrefix(name, "xn9") {
			t.Errorf("the album pins %s", name)
		}
	}
	w.same(a, dir)
}

// Maintenance that is interrupted before its generation leaves packs and an index
// of them. The next generation pins both or neither.
func TestPacksOfInterruptedMaintenanceArePinned(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 4, 1)
	w.add(a, dir)
	for i := range 4 {
		w.add(a, w.photos("gone"+string(rune('a'+i)), 2, uint64(i+2)))
	}
	_, err := a.Remove(t.Context(), parse(t, "not folder:photos"))
	must(t, err)
	_, err = a.Empty(t.Context(), parse(t, ""))
	must(t, err)
	for range 6 {
		w.now = w.now.Add(30 * time.Hour)
		r, err := a.repository(t.Context(), false)
		must(t, err)
		must(t, r.Maintain(t.Context(), false))
		must(t, r.Close(t.Context())) // without a generation
		b := w.open("two")
		_, err = b.Export(t.Context(), filepath.Join(w.root, "export"), false, nil)
		must(t, err)
		s := w.store.Snapshot()
		for _, name := range w.store.Names("p") {
			if _, pinned := b.catalogue.State().Pins[name]; !pinned {
				must(t, w.store.Delete(t.Context(), name))
			}
		}
		_, err = w.open("three").Verify(t.Context(), 100, nil)
		must(t, err)
		w.store.Restore(s)
		must(t, a.Sync(t.Context()))
	}
}

// If maintenance by one device removes a pack on which another device relies, the
// error does not blame the server.
func TestMaintenanceElsewhereIsNoDamage(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 4, 1)
	w.add(a, dir)
	b := w.open("two")
	must(t, b.Sync(t.Context()))
	r, err := b.repository(t.Context(), false)
	must(t, err)
	defer r.Close(t.Context())
	pack := w.store.Names("p")[0]
	s := a.catalogue.State()
	must(t, a.catalogue.Commit(t.Context(), func(*catalogue.State) (*catalogue.Change, error) {
		return &catalogue.Change{Unpinned: []string{pack}}, nil
	}))
	must(t, w.store.Delete(t.Context(), pack))
	f, err := r.Open(t.Context(), s.Photos()[0].Files[0].Object)
	if err == nil {
		_, err = io.Copy(io.Discard, f)
		err = r.Failed("reading", err)
		f.Close()
	}
	if exitcode.Of(err) != exitcode.Storage || !errors.Is(err, repository.ErrBusy) || hint.Of(err) == "" {
		t.Errorf("exit code %d, %v", exitcode.Of(err), err)
	}
}

// A pausing store lets days pass after it has stored a pack.
type pausing struct {
	blobs.Store
	pass func()
}

func (p pausing) Put(ctx context.Context, name string, b []byte) error {
	err := p.Store.Put(ctx, name, b)
	if strings.HasPrefix(name, "p") {
		p.pass()
	}
	return err
}

// A computer that sleeps for days between sending packs and committing them finds
// that another device may have deleted them.
func TestPacksOfSleepingDeviceAreSentAgain(t *testing.T) {
	w := newWorld(t)
	asleep := false
	a := w.over("one", pausing{w.store, func() {
		if !asleep {
			w.now, asleep = w.now.Add(48*time.Hour), true
		}
	}})
	dir := w.photos("photos", 3, 1)
	_, err := a.Add(t.Context(), []string{dir}, AddOptions{})
	if !errors.Is(err, repository.ErrBusy) || len(w.store.Names("cpar-gen-")) > 0 {
		t.Fatalf("got %v, and %v", err, w.store.Names("cpar-gen-"))
	}
	w.add(a, dir)
	w.same(a, dir)
}

// A run that was killed before its commit leaves packs and an index. Days later,
// another device may be deleting them, so the next run pins new packs. Soon after,
// it pins those.
func TestOldPacksOfKilledRunAreReplaced(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		pins  bool
	}{{10 * time.Hour, true}, {30 * time.Hour, false}} {
		w := newWorld(t)
		a, dir := w.open("one"), w.photos("photos", 3, 1)
		w.add(a, w.photos("first", 1, 2))
		before := w.store.Names("")
		ctx, kill := context.WithCancel(t.Context())
		killed := w.over("one", uncommitted{w.store, kill})
		if _, err := killed.Add(ctx, []string{dir}, AddOptions{}); err == nil {
			t.Fatal("the run was not killed")
		}
		var left []string
		for _, name := range w.store.Names("p") {
			if !slices.Contains(before, name) {
				left = append(left, name)
			}
		}
		w.now = w.now.Add(c.after)
		// The other device saw the packs long ago, and deletes them late.
		w.add(w.over("one", hooked{w.store, func() {
			if !c.pins {
				for _, name := range left {
					must(t, w.store.Delete(t.Context(), name))
				}
			}
		}}), dir)
		must(t, a.Sync(t.Context()))
		for _, name := range left {
			if _, pinned := a.catalogue.State().Pins[name]; pinned != c.pins {
				t.Errorf("after %v, pack %s is pinned: %v", c.after, name, pinned)
			}
		}
		if len(left) == 0 {
			t.Error("the killed run left no pack")
		}
		w.same(w.open("one"), dir)
		w.whole(a)
	}
}

// An uncommitted store ends the work before the catalogue is written.
type uncommitted struct {
	blobs.Store
	kill func()
}

func (k uncommitted) Put(ctx context.Context, name string, b []byte) error {
	if strings.HasPrefix(name, "cpar-") {
		k.kill()
		return ctx.Err()
	}
	return k.Store.Put(ctx, name, b)
}
