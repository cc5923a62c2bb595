package album

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestAlbumGivesBackWhatWasAdded(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 30, 1)
	first := w.add(a, dir)
	if first.Photos != 30 || len(first.LeftOut) > 0 {
		t.Fatalf("added %+v", first)
	}
	if got := w.find(a, "dog folder:photos/2020"); len(got) != 5 {
		t.Errorf("found %v", got)
	}
	w.same(a, dir)
	sent := w.store.Sent
	again := w.add(a, dir)
	if again.Unchanged != 30 || w.store.Sent != sent {
		t.Errorf("a second time it added %+v and sent %d bytes", again, w.store.Sent-sent)
	}
	b := w.open("two")
	must(t, b.Sync(t.Context()))
	w.same(b, dir)
	v, err := b.Verify(t.Context(), 100, nil)
	must(t, err)
	if v.Photos != 30 || v.Files != 45 || v.Read != b.Usage().Bytes {
		t.Errorf("verified %+v of %+v", v, b.Usage())
	}
}

func TestSearchAsksServerNothing(t *testing.T) {
	w := newWorld(t)
	dir := w.photos("photos", 10, 2)
	w.add(w.open("one"), dir)
	calls := w.store.Calls
	a := w.open("one")
	if got := w.find(a, "dog or beach"); len(got) == 0 {
		t.Error("nothing was found")
	}
	if w.store.Calls != calls {
		t.Errorf("the server saw %d requests of a search", w.store.Calls-calls)
	}
}

func TestChangedPhotoBecomesVersion(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 3, 3)
	w.add(a, dir)
	file := filepath.Join(dir, "2020", "IMG_0000.jpg")
	old, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append(old, "edited"...), 0o644))
	w.now = w.now.Add(time.Minute)
	if sum := w.add(a, dir); sum.Versions != 1 || sum.Photos != 0 || sum.Unchanged != 2 {
		t.Errorf("added %+v", sum)
	}
	w.same(a, dir)
	n, err := a.Restore(t.Context(), parse(t, ""))
	must(t, err)
	must(t, os.WriteFile(file, old, 0o644))
	if n != 1 || a.Usage().Trash != 1 {
		t.Errorf("restored %d photos, and the trash has %d", n, a.Usage().Trash)
	}
	w.same(a, dir)
}

func TestRemoveAndRestore(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 9, 4)
	w.add(a, dir)
	dogs := w.find(a, "dog")
	n, err := a.Remove(t.Context(), parse(t, "dog"))
	must(t, err)
	if n != len(dogs) || len(w.find(a, "dog")) > 0 || a.Usage().Trash != n {
		t.Errorf("removed %d of %d", n, len(dogs))
	}
	// A photo that the owner deletes stays in the album.
	must(t, os.Remove(filepath.Join(dir, "2021", "IMG_0001.jpg")))
	w.add(a, dir)
	if len(w.find(a, "path:photos/2021/IMG_0001.jpg")) != 1 {
		t.Error("a photo that was deleted at home is gone")
	}
	n, err = a.Empty(t.Context(), parse(t, "dog"))
	must(t, err)
	if n != len(dogs) || a.Usage().Trash != 0 {
		t.Errorf("emptied %d, and the trash has %d", n, a.Usage().Trash)
	}
}

func TestMaintainKeepsPhotos(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 20, 5)
	w.add(a, dir)
	keep := w.photos("keep", 5, 6)
	w.add(a, keep)
	_, err := a.Remove(t.Context(), parse(t, "folder:photos"))
	must(t, err)
	must(t, a.Maintain(t.Context(), false))
	_, err = a.Restore(t.Context(), parse(t, ""))
	must(t, err)
	w.same(a, dir)
	_, err = a.Remove(t.Context(), parse(t, "folder:photos"))
	must(t, err)
	_, err = a.Empty(t.Context(), parse(t, ""))
	must(t, err)
	before := a.Usage().Stored
	for i := range 8 {
		if i == 4 { // kopia rewrites small packs only together with others
			w.add(a, w.photos("more", 2, 7))
		}
		w.now = w.now.Add(30 * time.Hour)
		must(t, a.Maintain(t.Context(), false))
	}
	if _, err := a.Verify(t.Context(), 100, nil); err != nil {
		t.Fatal(err)
	}
	if after := a.Usage().Stored; after > before/2 {
		t.Errorf("%d bytes are stored after five sixths of %d were removed", after, before)
	}
	w.same(a, keep)
	b := w.open("two")
	if err := b.Maintain(t.Context(), false); err == nil {
		t.Error("a second device maintained the album without --take-over")
	}
	must(t, b.Maintain(t.Context(), true))
	w.same(b, keep)
}

// After a change of keywords in a sidecar, Add sends the sidecar and a row, but not
// the photo. The older version shares the photo's bytes.
func TestChangedSidecarSendsNoPhoto(t *testing.T) {
	w := newWorld(t)
	dir := w.photos("photos", 4, 1)
	big := filepath.Join(dir, "2020", "IMG_0000.jpg")
	f, err := os.OpenFile(big, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	noise := make([]byte, 3<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	_, err = f.Write(noise)
	must(t, err)
	must(t, f.Close())
	w.add(w.open("one"), dir)
	old := w.open("one").catalogue.State().Photo("photos/2020/IMG_0000.jpg")

	must(t, os.WriteFile(big+".xmp", sidecar("dog", "all", "new"), 0o644))
	w.now = w.now.Add(time.Minute)
	for _, device := range []string{"one", "two"} {
		sent := w.store.Sent
		a := w.open(device)
		sum := w.add(a, dir)
		t.Logf("device %s sent %d bytes beside a photo of %d", device, w.store.Sent-sent, old.Files[0].Size)
		if w.store.Sent-sent > 64<<10 || sum.Sent != w.store.Sent-sent {
			t.Errorf("device %s sent %d bytes, %+v", device, w.store.Sent-sent, sum)
		}
		if device == "one" && (sum.Versions != 1 || sum.Unchanged != 3) {
			t.Errorf("added %+v", sum)
		}
		if device == "two" && sum.Unchanged != 4 {
			t.Errorf("the second device added %+v", sum)
		}
		if got := w.find(a, "new"); len(got) != 1 {
			t.Errorf("found %v", got)
		}
		w.same(a, dir)
	}
	now := w.open("one").catalogue.State().Photo("photos/2020/IMG_0000.jpg")
	if now.Files[0] != old.Files[0] || now.Files[1].Object == old.Files[1].Object {
		t.Errorf("now %+v, before %+v", now.Files, old.Files)
	}
}

func TestMaintainDeletesSupersededSegments(t *testing.T) {
	w := newWorld(t)
	a := w.open("one")
	for i := range 3 {
		w.add(a, w.photos(fmt.Sprint("photos", i), 2, uint64(i)))
	}
	must(t, a.Maintain(t.Context(), false))
	old := w.store.Names("cpar-seg-")
	for range 2 {
		w.now = w.now.Add(30 * time.Hour)
		must(t, a.Maintain(t.Context(), false))
	}
	left := slices.DeleteFunc(w.store.Names("cpar-seg-"), func(name string) bool { return !slices.Contains(old, name) })
	if len(old) < 3 || len(left) > 1 {
		t.Errorf("of %d old segments %d are left", len(old), len(left))
	}
}
