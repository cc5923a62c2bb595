package album

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
)

// pinned commits a pin of a blob that the server lacks.
func (w *world) pinned(a *Album, name string) {
	w.t.Helper()
	must(w.t, a.catalogue.Commit(w.t.Context(), func(*catalogue.State) (*catalogue.Change, error) {
		return &catalogue.Change{Pins: map[string]blobs.Pin{name: blobs.PinOf([]byte(name), w.now)}}, nil
	}))
}

// A device that committed while another deleted a superseded index may have pinned
// it. Verify and Maintain unpin it.
func TestMissingSupersededIndexIsUnpinned(t *testing.T) {
	for name, work := range map[string]func(*Album) error{
		"verify":   func(a *Album) error { _, err := a.Verify(t.Context(), 100, nil); return err },
		"maintain": func(a *Album) error { return a.Maintain(t.Context(), true) },
		"export": func(a *Album) error {
			_, err := a.Export(t.Context(), filepath.Join(t.TempDir(), "export"), false, nil)
			return err
		},
	} {
		w := newWorld(t)
		a, dir := w.open("one"), w.photos("photos", 3, 1)
		w.add(a, dir)
		for _, x := range []string{"xn0_superseded", "xs0_superseded", "xw17000000"} {
			w.pinned(a, x)
		}
		if err := work(w.open("two")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		must(t, a.Sync(t.Context()))
		for pin := range a.catalogue.State().Pins {
			if strings.HasSuffix(pin, "superseded") || strings.HasPrefix(pin, "xw") {
				t.Errorf("after %s, %s is pinned", name, pin)
			}
		}
		w.add(a, w.photos("more", 2, 2))
		w.same(w.open("one"), dir)
	}
}

// An index blob that photos need stays pinned, so that the operator can bring it
// back.
func TestMissingNeededIndexStaysPinned(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 3, 1)
	w.add(a, dir)
	before := w.store.Snapshot()
	for _, name := range w.store.Names("xn") {
		must(t, w.store.Delete(t.Context(), name))
	}
	v, err := w.open("two").Verify(t.Context(), 0, nil)
	noticed(t, "verify", err)
	if len(v.Affected) != 5 {
		t.Errorf("affected are %v", v.Affected)
	}
	noticed(t, "maintain", a.Maintain(t.Context(), true))
	w.store.Restore(before)
	_, err = w.open("two").Verify(t.Context(), 100, nil)
	must(t, err)
}

// A check rebuilds a lost index from the packs, with mended and large photos.
func TestCheckRebuildsLostIndex(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 3, 1)
	w.large(dir, 3)
	w.add(a, dir)
	w.store.Alter(w.store.Names("p")[0], func([]byte) []byte { return nil })
	_, err := a.Add(t.Context(), []string{dir}, AddOptions{Check: true})
	must(t, err)
	more := w.photos("more", 2, 2)
	w.add(a, more)
	for _, name := range w.store.Names("x") {
		must(t, w.store.Delete(t.Context(), name))
	}
	sum, err := w.open("two").Add(t.Context(), []string{dir}, AddOptions{Check: true})
	if err != nil || sum.Unchanged != 4 || len(sum.Warnings) > 0 {
		t.Errorf("check: %+v, %v", sum, err)
	}
	must(t, a.Sync(t.Context()))
	w.same(a, more)
	w.add(a, w.photos("later", 2, 3))
	w.whole(w.open("one"))
}

// An interrupted store calls a function once, before a request about certain
// blobs.
type interrupted struct {
	blobs.Store
	at   string
	once *sync.Once
	work func()
}

func (s interrupted) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if strings.HasPrefix(name, s.at) {
		s.once.Do(s.work)
	}
	return s.Store.Get(ctx, name, offset, length)
}

func (s interrupted) List(ctx context.Context, prefix string, yield func(blobs.Blob) error) error {
	if prefix == strings.TrimSuffix(s.at, "*") && prefix != s.at {
		s.once.Do(s.work)
	}
	return s.Store.List(ctx, prefix, yield)
}

// Verify does not report maintenance by another device as damage.
func TestVerifyDuringMaintenanceFindsNoDamage(t *testing.T) {
	for _, at := range []string{"*", "xn", "p"} {
		w := newWorld(t)
		a, dir := w.open("one"), w.photos("photos", 4, 1)
		w.add(a, dir)
		for i := range 5 {
			w.add(a, w.photos("gone"+string(rune('a'+i)), 2, uint64(i+2)))
		}
		_, err := a.Remove(t.Context(), parse(t, "not folder:photos"))
		must(t, err)
		_, err = a.Empty(t.Context(), parse(t, ""))
		must(t, err)
		for range 2 {
			must(t, a.Maintain(t.Context(), true))
			w.now = w.now.Add(30 * time.Hour)
		}
		before := len(w.store.Names(""))
		s := interrupted{w.store, at, new(sync.Once), func() {
			kept := map[string]bool{}
			for _, name := range w.store.Names("") {
				kept[name] = true
			}
			for range 3 {
				w.now = w.now.Add(30 * time.Hour)
				must(t, a.Maintain(t.Context(), true))
			}
			for _, name := range w.store.Names("") {
				delete(kept, name)
			}
			if len(kept) == 0 {
				t.Errorf("the maintenance has deleted none of %d blobs", before)
			}
		}}
		v, err := w.over("two", s).Verify(t.Context(), 100, nil)
		if err != nil || v.Files != 6 || len(v.Blobs)+len(v.Affected) > 0 {
			t.Errorf("maintenance at %s: %v, %+v", at, err, v)
		}
	}
}
