package album

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/user/album/blobs"
	"cpar/user/album/repository"
)

// large writes a photo that kopia splits, so that its object is a list of
// contents.
func (w *world) large(dir string, seed uint64) {
	w.t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	b := picture(w.t, r)
	tail := make([]byte, 9<<20)
	for i := range tail {
		tail[i] = byte(r.Uint32())
	}
	must(w.t, os.WriteFile(filepath.Join(dir, "large.jpg"), append(b, tail...), 0o600))
}

// whole checks that the album is complete at the server, and stays so after
// maintenance and export.
func (w *world) whole(a *Album) {
	w.t.Helper()
	v, err := w.open("checker").Verify(w.t.Context(), 100, nil)
	if err != nil {
		w.t.Fatalf("verify: %v, %v", err, v.Affected)
	}
	for range 3 {
		w.now = w.now.Add(30 * time.Hour)
		must(w.t, a.Maintain(w.t.Context(), true))
	}
	_, err = a.Export(w.t.Context(), w.t.TempDir(), false, nil)
	must(w.t, err)
	_, err = w.open("checker").Verify(w.t.Context(), 100, nil)
	must(w.t, err)
}

// Photos whose packs the server has lost or changed are sent again.
func TestCheckMendsLostPacks(t *testing.T) {
	lose, flip := func([]byte) []byte { return nil }, func(b []byte) []byte { b[len(b)/3] ^= 1; return b }
	for _, c := range []struct {
		name, packs string
		change      func([]byte) []byte
	}{{"lost photos", "p", lose}, {"lost folders and lists", "q", lose}, {"changed everything", "", flip}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			a, dir, gone := w.open("one"), w.photos("photos", 6, 1), w.photos("gone", 2, 2)
			w.large(dir, 3)
			must(t, os.CopyFS(filepath.Join(dir, "twice"), os.DirFS(filepath.Join(dir, "2020"))))
			w.add(a, dir)
			w.add(a, gone)
			_, err := a.Remove(t.Context(), parse(t, "folder:gone"))
			must(t, err)
			_, err = a.Empty(t.Context(), parse(t, "folder:gone"))
			must(t, err)
			must(t, a.Maintain(t.Context(), false))
			for _, name := range w.store.Names(c.packs) {
				if strings.HasPrefix(name, "p") || strings.HasPrefix(name, "q") {
					w.store.Alter(name, c.change)
				}
			}
			must(t, os.RemoveAll(filepath.Join(a.folder, "kopia", "cache")))
			_, err = w.open("two").Verify(t.Context(), 100, nil)
			noticed(t, "verify", err)
			sum, err := w.open("one").Add(t.Context(), []string{dir}, AddOptions{Check: true})
			must(t, err)
			if c.packs == "p" && (sum.Mended != 7 || sum.Unchanged != 2) || sum.Photos+sum.Versions > 0 || len(sum.Warnings) > 0 {
				t.Errorf("it says %+v", sum)
			}
			w.whole(w.open("one"))
			w.same(w.open("one"), dir)
		})
	}
}

// Photos that the owner no longer has stay affected until the operator undeletes
// their packs.
func TestCheckKeepsLostPhotosThatAreNotAtHome(t *testing.T) {
	w := newWorld(t)
	a, dir, away := w.open("one"), w.photos("photos", 4, 1), w.photos("away", 4, 2)
	_, err := a.Add(t.Context(), []string{dir, away}, AddOptions{})
	must(t, err)
	before := w.store.Snapshot()
	packs := w.store.Names("p")
	for _, name := range packs {
		w.store.Alter(name, func([]byte) []byte { return nil })
	}
	sum, err := a.Add(t.Context(), []string{dir}, AddOptions{Check: true})
	must(t, err)
	if sum.Mended != 4 || len(sum.Warnings) != 1 || !strings.Contains(sum.Warnings[0].Error(), "not added again") {
		t.Errorf("it says %+v", sum)
	}
	v, err := w.open("two").Verify(t.Context(), 100, nil)
	noticed(t, "verify", err)
	if len(v.Affected) != 4 || slices.ContainsFunc(v.Affected, func(p string) bool { return !strings.HasPrefix(p, "away/") }) {
		t.Errorf("affected are %v", v.Affected)
	}
	now := w.store.Snapshot()
	for _, name := range packs { // the operator undeletes
		w.store.Restore(before)
		b, err := w.store.Get(t.Context(), name, 0, -1)
		must(t, err)
		w.store.Restore(now)
		must(t, w.store.Put(t.Context(), name, b))
		now = w.store.Snapshot()
	}
	w.whole(w.open("one"))
	w.same(w.open("one"), away)
}

// A believed store lists blobs as they were.
type believed struct {
	blobs.Store
	before map[string]blobs.Blob
}

func (b believed) List(ctx context.Context, prefix string, yield func(blobs.Blob) error) error {
	return b.Store.List(ctx, prefix, func(now blobs.Blob) error {
		if old, ok := b.before[now.Name]; ok {
			now = old
		}
		return yield(now)
	})
}

// A changing reader changes its bytes after the end.
type changing struct {
	io.ReadSeeker
	mask byte
}

func (c *changing) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	for i := range p[:n] {
		p[i] ^= c.mask
	}
	if err == io.EOF {
		c.mask = 1
	}
	return n, err
}

// Verify finds a damaged pack by reading, although the server lists it
// correctly. The next check mends it.
func TestCheckMendsPacksThatVerifyCouldNotRead(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 6, 1)
	w.add(a, dir)
	honest := map[string]blobs.Blob{}
	for _, name := range w.store.Names("p") {
		b, err := w.store.Stat(t.Context(), name)
		must(t, err)
		honest[name] = b
		w.store.Alter(name, func(b []byte) []byte { b[len(b)/3] ^= 1; return b })
	}
	s := believed{w.store, honest}
	v, err := w.over("one", s).Verify(t.Context(), 100, nil)
	noticed(t, "verify", err)
	if len(v.Blobs) == 0 || len(v.Affected) == 0 {
		t.Errorf("verify: %+v", v)
	}
	sum, err := w.over("one", s).Add(t.Context(), []string{dir}, AddOptions{Check: true})
	must(t, err)
	if sum.Mended == 0 || len(sum.Warnings) > 0 {
		t.Errorf("it says %+v", sum)
	}
	w.whole(w.open("one"))
}

// Add does not report photos in a lost pack as safe, even without a check.
func TestAddDoesNotRelyOnLostPack(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 2, 1)
	w.add(a, dir)
	for _, name := range w.store.Names("p") {
		w.store.Alter(name, func([]byte) []byte { return nil })
	}
	_, err := a.Add(t.Context(), []string{dir}, AddOptions{Into: "again", Committed: func(p []string) { t.Error("reported as safe: ", p) }})
	noticed(t, "adding the same photos elsewhere", err)
}

// A file that changes while it is sent again is not committed.
func TestPhotoThatChangesWhileMendedIsNotCommitted(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 1, 1)
	w.add(a, dir)
	for _, name := range w.store.Names("p") {
		w.store.Alter(name, func([]byte) []byte { return nil })
	}
	number := a.catalogue.State().Number
	r, err := a.repository(t.Context(), false)
	must(t, err)
	lost, err := a.lost(t.Context())
	must(t, err)
	r.Distrust(lost)
	b, err := os.ReadFile(filepath.Join(dir, "2020", "IMG_0000.jpg"))
	must(t, err)
	_, _, _, err = put(t.Context(), r, &changing{ReadSeeker: bytes.NewReader(b)})
	if !errors.Is(err, cpar.ErrInput) || errors.Is(err, errUnreadable) {
		t.Errorf("put: %v", err)
	}
	must(t, r.Close(t.Context()))
	must(t, a.Sync(t.Context()))
	if a.catalogue.State().Number != number {
		t.Error("something was committed")
	}
}

// Lost packs are not given up if another device has committed meanwhile, because its
// photos may need them.
func TestAbandonWaitsForOtherDevice(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 2, 1)
	w.add(a, dir)
	_, err := a.Remove(t.Context(), parse(t, ""))
	must(t, err)
	_, err = a.Empty(t.Context(), parse(t, ""))
	must(t, err)
	packs := w.store.Names("p")
	for _, name := range packs {
		w.store.Alter(name, func([]byte) []byte { return nil })
	}
	lost, err := a.lost(t.Context())
	must(t, err)
	r, err := a.repository(t.Context(), false)
	must(t, err)
	r.Distrust(lost)
	w.pinned(w.open("two"), "xw17000000")
	if err := a.abandon(t.Context(), r); !errors.Is(err, repository.ErrBusy) {
		t.Errorf("abandon: %v", err)
	}
	must(t, r.Close(t.Context()))
	must(t, a.Sync(t.Context()))
	for _, name := range packs {
		if _, pinned := a.catalogue.State().Pins[name]; !pinned {
			t.Errorf("pack %s is no longer pinned", name)
		}
	}
}
