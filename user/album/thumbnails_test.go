package album

import (
	"bytes"
	"context"
	"encoding/binary"
	"image/jpeg"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cpar"
	"cpar/internal/scene"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/thumbs"
)

// thumbnail reads a thumbnail as a Live album does.
func (a *Album) thumbnail(ctx context.Context, p *catalogue.Photo, size thumbs.Size) ([]byte, error) {
	month, day := thumbs.When(p)
	return a.thumbnails().Get(ctx, size, month, day, thumbs.KeyOf(p))
}

// shown checks that all photos of the album have thumbnails of both sizes.
func (w *world) shown(a *Album) {
	w.t.Helper()
	for _, p := range a.catalogue.State().Photos() {
		for _, size := range thumbs.Sizes {
			b, err := a.thumbnail(w.t.Context(), p, size)
			if err != nil {
				w.t.Fatal(err)
			}
			if _, err := jpeg.Decode(bytes.NewReader(b)); err != nil {
				w.t.Fatalf("%s: a thumbnail of %d bytes: %v", p.Path(), len(b), err)
			}
		}
	}
}

func TestAddMakesThumbnails(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 10, 1)
	must(t, os.WriteFile(filepath.Join(dir, "broken.jpg"), []byte("no image"), 0o644))
	w.add(a, dir)
	b := w.open("two")
	must(t, b.Sync(t.Context()))
	broken := b.catalogue.State().Photo("photos/broken.jpg")
	if got, err := b.thumbnail(t.Context(), broken, thumbs.Small); len(got) > 0 || err != nil {
		t.Errorf("a file that is no image has a thumbnail of %d bytes, %v", len(got), err)
	}
	must(t, os.Remove(filepath.Join(dir, "broken.jpg")))
	_, err := a.Remove(t.Context(), parse(t, "path:photos/broken.jpg"))
	must(t, err)
	_, err = a.Empty(t.Context(), parse(t, ""))
	must(t, err)
	must(t, b.Sync(t.Context()))
	w.shown(b)
	w.shown(a)
	if sum := w.add(a, dir); sum.Thumbnails > 0 || sum.Unchanged != 10 {
		t.Errorf("added %+v", sum)
	}
	for range 2 {
		w.now = w.now.Add(30 * time.Hour)
		must(t, a.Maintain(t.Context(), false))
	}
	must(t, b.Sync(t.Context()))
	w.shown(b)
	pinned := 0
	for name := range a.catalogue.State().Pins {
		if len(name) > 11 && name[:11] == catalogue.ThumbPrefix {
			pinned++
		}
	}
	if stored := w.store.Names(catalogue.ThumbPrefix); len(stored) != pinned || pinned != 2 {
		t.Errorf("%d parts are stored, and %d pinned", len(stored), pinned)
	}
}

// unpinThumbs makes the album one of an older program, without thumbnails.
func (w *world) unpinThumbs(a *Album) {
	w.t.Helper()
	must(w.t, a.catalogue.Commit(w.t.Context(), func(s *catalogue.State) (*catalogue.Change, error) {
		names := slices.DeleteFunc(slices.Collect(maps.Keys(s.Pins)), func(n string) bool { return len(n) < 11 || n[:11] != catalogue.ThumbPrefix })
		return &catalogue.Change{Unpinned: names}, nil
	}))
}

func TestAddMakesMissingThumbnails(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 10, 1)
	w.add(a, dir)
	w.unpinThumbs(a)
	more := w.photos("more", 3, 2)
	w.add(a, more)
	p := a.catalogue.State().Photo("photos/2020/IMG_0000.jpg")
	if got, err := a.thumbnail(t.Context(), p, thumbs.Small); got != nil || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	sum, err := a.Add(t.Context(), []string{dir, more}, AddOptions{})
	must(t, err)
	if sum.Thumbnails != 10 || sum.Unchanged != 13 || sum.Photos+sum.Versions > 0 {
		t.Errorf("added %+v", sum)
	}
	w.shown(a)
	// Lost parts are made again, too.
	for _, name := range w.store.Names(catalogue.ThumbPrefix) {
		w.store.Alter(name, func([]byte) []byte { return nil })
	}
	if _, err := a.Verify(t.Context(), 0, nil); err == nil {
		t.Error("lost thumbnails were not noticed")
	}
	must(t, os.RemoveAll(filepath.Join(a.folder, "thumbs")))
	if sum, err = w.open("one").Add(t.Context(), []string{dir, more}, AddOptions{}); err != nil || sum.Thumbnails != 13 {
		t.Errorf("added %+v, %v", sum, err)
	}
}

// An added photo costs at most 128 KiB beyond its bytes, with thumbnails of a real
// image.
func TestPhotoAddedCostsLittle(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	w.add(a, w.photos("photos", 20, 1))
	for i := range 3 {
		file, _, err := scene.RenderJPEG(7, i)
		must(t, err)
		dir := filepath.Join(w.root, "more")
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(dir, string(rune('a'+i))+".jpg"), file, 0o644))
		before := w.store.Sent
		w.add(a, dir)
		beyond := w.store.Sent - before - int64(len(file))
		t.Logf("a photo of %d bytes sent %d bytes beyond them", len(file), beyond)
		if beyond > 128<<10 {
			t.Errorf("a photo of %d bytes sent %d bytes beyond them", len(file), beyond)
		}
	}
}

// A server that withholds the newest generation, and so its parts, is noticed, and
// an older part does not pass for a newer one.
func TestThumbnailsAreProtectedByGenerations(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	w.add(a, w.photos("photos", 6, 1))
	before := w.store.Snapshot()
	w.add(a, w.photos("more", 6, 2))
	w.store.Restore(before)
	b := w.open("one")
	if err := b.Sync(t.Context()); err == nil {
		t.Fatal("an older generation was believed")
	}
	for _, p := range b.catalogue.State().Photos() {
		if p.Folder[:4] != "more" {
			continue
		}
		os.RemoveAll(filepath.Join(b.folder, "thumbs"))
		if _, err := b.thumbnail(t.Context(), p, thumbs.Small); err == nil {
			t.Error("a thumbnail that the server has lost was shown")
		}
		return
	}
}

// A device with an older state reads thumbnails while another merges them.
func TestMergedPartsAreFoundAfterSync(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	for i := range 3 {
		w.add(a, w.photos("photos", 3+i, uint64(i)))
	}
	b := w.open("two")
	must(t, b.Sync(t.Context()))
	must(t, a.Maintain(t.Context(), false))
	p := b.catalogue.State().Photos()[0]
	if _, err := b.thumbnail(t.Context(), p, thumbs.Medium); err == nil {
		t.Error("the parts before the merge are still there")
	}
	must(t, b.Sync(t.Context()))
	w.shown(b)
}

// A run that is killed between sending thumbnails and its commit leaves blobs that
// maintenance deletes after a day.
func TestAbandonedPartsAreDeleted(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	w.add(a, w.photos("photos", 3, 1))
	kept := len(w.store.Names(catalogue.ThumbPrefix))
	must(t, w.store.Put(t.Context(), catalogue.ThumbPrefix+"0123456789abcdef0123456789abcdef", []byte("abandoned")))
	for i := range 3 {
		must(t, a.Maintain(t.Context(), false))
		if got := len(w.store.Names(catalogue.ThumbPrefix)); got != kept && i > 0 || got != kept+1 && i == 0 {
			t.Errorf("after %d maintenances %d parts are stored, want %d", i+1, got, kept)
		}
		w.now = w.now.Add(30 * time.Hour)
	}
	w.shown(a)
}

func TestPrefetchedYearsAreReadOffline(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	dir := w.photos("photos", 6, 1)
	r := rand.New(rand.NewPCG(9, 9))
	must(t, os.WriteFile(filepath.Join(dir, "dated.jpg"), withDate(picture(t, r), "2019:05:06 07:08:09"), 0o644))
	w.add(a, dir)
	away := &away{Store: w.store}
	b := w.over("two", away)
	must(t, b.Sync(t.Context()))
	must(t, b.Prefetch(t.Context(), []int{2019}, nil))
	away.gone = true
	p := b.catalogue.State().Photo("photos/dated.jpg")
	for _, size := range thumbs.Sizes {
		if got, err := b.thumbnail(t.Context(), p, size); len(got) == 0 || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if _, err := b.thumbnail(t.Context(), b.catalogue.State().Photo("photos/2020/IMG_0000.jpg"), thumbs.Small); err == nil {
		t.Error("another year was fetched, too")
	}
}

// An away store stops answering.
type away struct {
	blobs.Store
	gone bool
}

func (a *away) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if a.gone {
		return nil, cpar.ErrCloud
	}
	return a.Store.Get(ctx, name, offset, length)
}

// withDate adds the time at which a JPEG file was taken, in EXIF.
func withDate(file []byte, date string) []byte {
	le := binary.LittleEndian
	tag := func(b []byte, id, kind uint16, n, value uint32) []byte {
		return le.AppendUint32(le.AppendUint32(le.AppendUint16(le.AppendUint16(b, id), kind), n), value)
	}
	b := append([]byte("II*\x00"), 8, 0, 0, 0)
	b = le.AppendUint32(tag(le.AppendUint16(b, 1), 0x8769, 4, 1, 26), 0)
	b = le.AppendUint32(tag(le.AppendUint16(b, 1), 0x9003, 2, 20, 44), 0)
	b = append(append([]byte("Exif\x00\x00"), b...), date+"\x00"...)
	segment := append([]byte{0xff, 0xe1, byte((len(b) + 2) >> 8), byte(len(b) + 2)}, b...)
	return slices.Concat(file[:2], segment, file[2:])
}

// A check makes the thumbnails in lost parts again, whether or not the owner still
// has the photos and this device copies of the parts. No lost part stays pinned.
func TestCheckMendsLostThumbnails(t *testing.T) {
	for what, change := range map[string]func([]byte) []byte{
		"missing": func([]byte) []byte { return nil },
		"changed": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
	} {
		w := newWorld(t)
		a, dir, away := w.open("one"), w.photos("photos", 4, 1), w.photos("away", 3, 2)
		_, err := a.Add(t.Context(), []string{dir, away}, AddOptions{})
		must(t, err)
		w.shown(a) // it keeps the parts
		must(t, os.RemoveAll(away))
		for _, name := range w.store.Names(catalogue.ThumbPrefix) {
			w.store.Alter(name, change)
		}
		_, err = w.open("two").Verify(t.Context(), 0, nil)
		noticed(t, what, err)
		sum, err := w.open("one").Add(t.Context(), []string{dir}, AddOptions{Check: true})
		if err != nil || len(sum.Warnings) > 0 || sum.Thumbnails != 7 || sum.Unchanged != 4 {
			t.Errorf("%s: %+v, %v", what, sum, err)
		}
		_, err = w.open("two").Verify(t.Context(), 100, nil)
		must(t, err)
		b := w.open("two")
		must(t, b.Sync(t.Context()))
		w.shown(b)
		w.whole(w.open("one"))
	}
}

// If a photo and its thumbnails are lost, both stay pinned, so that the operator can
// bring them back.
func TestCheckKeepsThumbnailsOfLostPhotos(t *testing.T) {
	w := newWorld(t)
	a, dir, away := w.open("one"), w.photos("photos", 2, 1), w.photos("away", 2, 2)
	w.add(a, dir)
	packs := len(w.store.Names("p"))
	w.add(a, away)
	must(t, os.RemoveAll(away))
	before := w.store.Snapshot()
	for _, name := range append(w.store.Names("p"), w.store.Names(catalogue.ThumbPrefix)...) {
		w.store.Alter(name, func([]byte) []byte { return nil })
	}
	sum, err := w.open("one").Add(t.Context(), []string{dir}, AddOptions{Check: true})
	if err != nil || len(sum.Warnings) != 1 || sum.Mended != 2 || sum.Thumbnails != 2 {
		t.Errorf("with %d packs: %+v, %v", packs, sum, err)
	}
	now := w.store.Snapshot()
	w.store.Restore(before) // the operator undeletes
	lost := map[string][]byte{}
	for _, name := range append(w.store.Names("p"), w.store.Names(catalogue.ThumbPrefix)...) {
		lost[name], err = w.store.Get(t.Context(), name, 0, -1)
		must(t, err)
	}
	w.store.Restore(now)
	for name, b := range lost {
		must(t, w.store.Put(t.Context(), name, b))
	}
	w.whole(w.open("one"))
	b := w.open("two")
	must(t, b.Sync(t.Context()))
	w.shown(b)
}

// The thumbnail of a photo is not made from a file that has changed, even if size
// and time are the same.
func TestThumbnailIsOfStoredContent(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 2, 1)
	w.add(a, dir)
	w.unpinThumbs(a)
	file := filepath.Join(dir, "2020", "IMG_0000.jpg")
	info, err := os.Stat(file)
	must(t, err)
	b, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append(picture(t, rand.New(rand.NewPCG(5, 5)))[:1000], b[1000:]...), 0o644))
	must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
	if sum := w.add(a, dir); sum.Thumbnails != 1 || sum.Unchanged != 2 {
		t.Errorf("another content: %+v", sum)
	}
	must(t, os.WriteFile(file, b, 0o644))
	must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
	if sum := w.add(a, dir); sum.Thumbnails != 1 || sum.Unchanged != 2 {
		t.Errorf("the stored content: %+v", sum)
	}
	w.shown(a)
}
