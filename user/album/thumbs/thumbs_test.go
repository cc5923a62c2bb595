package thumbs

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/image/draw"

	"cpar/internal/scene"
	"cpar/internal/seed"
	"cpar/internal/testing/blobtest"
	"cpar/photo/decode"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// row returns the row of an invented photo.
func row(n int, time int64) *catalogue.Photo {
	return &catalogue.Photo{Name: fmt.Sprint(n), Time: time, Files: []catalogue.File{{Object: fmt.Sprint("object ", n)}}}
}

// noise returns images of random bytes that begin alike, as JPEG files do.
func noise(r *rand.Rand, size int) *Images {
	made := &Images{}
	for _, b := range []*[]byte{&made.small, &made.medium} {
		*b = append(bytes.Repeat([]byte{0xff}, 600), make([]byte, size)...)
		for i := 600; i < len(*b); i++ {
			(*b)[i] = byte(r.Uint32())
		}
	}
	return made
}

// A world holds a store with parts, and their pins.
type world struct {
	store *blobtest.Memory
	pins  map[string]blobs.Pin
	gen   uint64
}

func (w *world) reader(t *testing.T) *Reader {
	r := NewReader(w.store, t.TempDir(), seed.Secret{1})
	r.Use(w.gen, w.pins)
	return r
}

func (w *world) put(name string, b []byte) error {
	w.gen++
	w.pins[name] = blobs.Pin{Size: int64(len(b)), Digest: blobs.PinOf(b, time.Time{}).Digest}
	return w.store.Put(context.Background(), name, b)
}

func (w *world) drop(name string) error {
	w.gen++
	delete(w.pins, name)
	return w.store.Delete(context.Background(), name)
}

// made stores the thumbnails of n photos of two months and of unknown dates.
func made(t *testing.T, n, size int) (w *world, rows []*catalogue.Photo, images []*Images) {
	w = &world{store: blobtest.NewMemory(), pins: map[string]blobs.Pin{}, gen: 1}
	r := rand.New(rand.NewPCG(1, 2))
	b := w.reader(t).Batch()
	for i := range n {
		at := []int64{0, 1_700_000_000, 1_703_000_000}[i%3]
		if at > 0 {
			at += r.Int64N(9 * 86400)
		}
		rows, images = append(rows, row(i, at)), append(images, noise(r, size))
		b.Add(rows[i], images[i])
	}
	must(t, b.Encode(w.put))
	return w, rows, images
}

func check(t *testing.T, r *Reader, rows []*catalogue.Photo, images []*Images) {
	t.Helper()
	for i, p := range rows {
		month, day := When(p)
		for _, size := range Sizes {
			if got, err := r.Get(t.Context(), size, month, day, KeyOf(p)); err != nil || !bytes.Equal(got, images[i].of(size)) {
				t.Fatalf("photo %d: %d bytes, %v", i, len(got), err)
			}
		}
	}
}

func TestPartsGiveBackThumbnails(t *testing.T) {
	w, rows, images := made(t, 600, 30_000)
	if len(w.pins) < 8 {
		t.Errorf("%d parts, though each holds at most 4 MiB", len(w.pins))
	}
	r := w.reader(t)
	check(t, r, rows, images)
	received := w.store.Received
	check(t, w.reader(t), rows[:1], images[:1])
	if w.store.Received == received {
		t.Error("a second device fetched nothing")
	}
	received = w.store.Received
	check(t, r, rows, images)
	again := NewReader(w.store, r.folder, seed.Secret{1})
	again.Use(w.gen, w.pins)
	check(t, again, rows, images)
	if w.store.Received != received {
		t.Error("parts were fetched again")
	}
	if got, err := r.Get(t.Context(), Small, 24000, 3, Key{}); got != nil || err != nil {
		t.Errorf("a thumbnail that does not exist: %d bytes, %v", len(got), err)
	}
	for name := range w.pins {
		if _, ok := newCoder(seed.Secret{2}).open(name); ok {
			t.Errorf("another key reads the name %s", name)
		}
	}
}

// The names and bytes of two parts with the same thumbnails have nothing in common.
func TestEqualPartsLookDifferent(t *testing.T) {
	c := newCoder(seed.Secret{1})
	names := map[string]bool{}
	for range 100 {
		for name := range c.encode(Small, 24000, []Entry{{Key{1}, 3, []byte("x")}}) {
			names[name[:19]] = true
		}
	}
	if len(names) < 99 {
		t.Errorf("100 parts have %d beginnings of names", len(names))
	}
}

func TestReaderKeepsPartsEncrypted(t *testing.T) {
	w, rows, images := made(t, 9, 2000)
	r := w.reader(t)
	check(t, r, rows, images)
	files, err := filepath.Glob(filepath.Join(r.folder, "*"))
	must(t, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		must(t, err)
		for _, i := range images {
			if bytes.Contains(b, i.small[600:620]) || bytes.Contains(b, i.medium[600:620]) {
				t.Fatalf("%s contains a thumbnail", f)
			}
		}
	}
	must(t, w.drop(filepath.Base(files[0])))
	r.Use(w.gen, w.pins)
	if _, err := os.Stat(files[0]); err == nil {
		t.Error("the copy of a part that no generation pins stays")
	}
}

// Concurrent callers share one fetch, which continues if one of them gives up.
func TestCallersShareFetch(t *testing.T) {
	w, rows, images := made(t, 30, 2000)
	r := w.reader(t)
	calls := w.store.Calls
	gone, leave := context.WithCancel(t.Context())
	leave()
	month, day := When(rows[1])
	r.Get(gone, Small, month, day, KeyOf(rows[1]))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := r.Get(t.Context(), Small, month, day, KeyOf(rows[1])); err != nil || !bytes.Equal(got, images[1].small) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := w.store.Calls - calls; n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestKeysFetchesIndexAlone(t *testing.T) {
	w, rows, _ := made(t, 300, 3000)
	r := w.reader(t)
	received := w.store.Received
	month, _ := When(rows[1])
	keys, _, err := r.Keys(t.Context(), Small, month, nil)
	if err != nil || len(keys) != 100 || !keys[KeyOf(rows[1])] {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	if n := w.store.Received - received; n != 4096 {
		t.Errorf("fetched %d bytes", n)
	}
}

func TestDamagedPartIsNoticed(t *testing.T) {
	for what, change := range map[string]func([]byte) []byte{
		"altered": func(b []byte) []byte { b[len(b)-9]++; return b },
		"cut":     func(b []byte) []byte { return b[:len(b)-4096] },
		"missing": func([]byte) []byte { return nil },
	} {
		w, rows, _ := made(t, 9, 2000)
		for name := range w.pins {
			w.store.Alter(name, change)
		}
		month, day := When(rows[1])
		if got, err := w.reader(t).Get(t.Context(), Small, month, day, KeyOf(rows[1])); err == nil {
			t.Errorf("%s: %d bytes", what, len(got))
		}
		if keys, _, err := w.reader(t).Keys(t.Context(), Small, month, nil); err != nil || what == "missing" && len(keys) > 0 {
			t.Errorf("%s: %d keys, %v", what, len(keys), err)
		}
	}
}

func TestMergeKeepsLiveThumbnails(t *testing.T) {
	w, rows, images := made(t, 60, 2000)
	for i := range 5 { // further photos of the same months
		b := w.reader(t).Batch()
		for n := range 3 {
			p, m := row(1000+10*i+n, 1_700_000_000+int64(i)*86400), noise(rand.New(rand.NewPCG(uint64(i), uint64(n))), 2000)
			rows, images = append(rows, p), append(images, m)
			b.Add(p, m)
		}
		must(t, b.Encode(w.put))
	}
	before := len(w.pins)
	days := map[Key]uint8{}
	for _, p := range rows[20:] {
		_, days[KeyOf(p)] = When(p)
	}
	day := func(k Key) (uint8, bool) { d, ok := days[k]; return d, ok }
	must(t, w.reader(t).Merge(t.Context(), day, w.put, w.drop))
	if len(w.pins) != 6 {
		t.Errorf("%d parts became %d, want 6", before, len(w.pins))
	}
	r := w.reader(t)
	check(t, r, rows[20:], images[20:])
	month, at := When(rows[0])
	if got, err := r.Get(t.Context(), Small, month, at, KeyOf(rows[0])); got != nil || err != nil {
		t.Error("the thumbnail of a removed photo stays")
	}
	puts := w.gen
	must(t, w.reader(t).Merge(t.Context(), day, w.put, w.drop))
	if w.gen != puts {
		t.Error("merged parts were merged again")
	}
}

// Make is compared with a slow reduction of all pixels by the same kernel.
func TestMakeLooksLikePhoto(t *testing.T) {
	file, _, err := scene.RenderJPEG(11, 3)
	must(t, err)
	big, err := jpeg.Decode(bytes.NewReader(file))
	must(t, err)
	whole := image.NewRGBA(image.Rect(0, 0, 2400, 1600))
	draw.CatmullRom.Scale(whole, whole.Rect, big, big.Bounds(), draw.Src, nil)
	made := Make(encode(whole, 95))
	for _, size := range Sizes {
		got, err := jpeg.Decode(bytes.NewReader(made.of(size)))
		must(t, err)
		w, h := fit(2400, 1600, size.Side())
		want := image.NewRGBA(image.Rect(0, 0, w, h))
		draw.CatmullRom.Scale(want, want.Rect, whole, whole.Rect, draw.Src, nil)
		if got.Bounds() != want.Bounds() {
			t.Fatalf("%v, want %v", got.Bounds(), want.Bounds())
		}
		sum := 0.0
		for y := range h {
			for x := range w {
				a, b := color.RGBAModel.Convert(got.At(x, y)).(color.RGBA), want.RGBAAt(x, y)
				for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
					sum += float64(d * d)
				}
			}
		}
		rms := math.Sqrt(sum / float64(3*w*h))
		t.Logf("%d pixels: %d bytes, differs by %.1f of 255", size.Side(), len(made.of(size)), rms)
		if rms > 12 {
			t.Errorf("%d pixels: differs by %.1f of 255", size.Side(), rms)
		}
	}
	if m := Make([]byte("no photo")); len(m.small)+len(m.medium) > 0 {
		t.Error("a file that is no photo has thumbnails")
	}
	if m := Scale(&decode.Image{Width: 9000, Height: 1, RGB: make([]byte, 27000)}, 96); m.Rect.Dx() != 96 || m.Rect.Dy() != 1 {
		t.Errorf("a strip becomes %v", m.Rect)
	}
}

// A thumbnail that is in two parts is found if either part is damaged.
func TestDamagedPartHidesNoOther(t *testing.T) {
	w, rows, images := made(t, 3, 2000)
	b := w.reader(t).Batch()
	for i := range rows {
		b.Add(rows[i], images[i])
	}
	must(t, b.Encode(w.put))
	whole := w.store.Snapshot()
	for name := range w.pins {
		w.store.Restore(whole)
		w.store.Alter(name, func([]byte) []byte { return nil })
		check(t, w.reader(t), rows, images)
		p, _ := newCoder(seed.Secret{1}).open(name)
		if got, err := w.reader(t).Get(t.Context(), p.size, p.month, p.first, Key{}); err == nil {
			t.Errorf("a thumbnail that the damaged part may have held: %d bytes, no error", len(got))
		}
	}
}
