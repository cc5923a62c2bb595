package album

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cpar/photo/decode"
	"cpar/user"
	"cpar/user/album/catalogue"
)

// digested checks that every row has the digest by which indexes know its photo.
func (w *world) digested(a *Album, root string) {
	w.t.Helper()
	for _, p := range a.Find(parse(w.t, ""), false) {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.Path())))
		must(w.t, err)
		if p.Content != decode.ContentDigest(b) {
			w.t.Errorf("%s has the digest %x", p.Path(), p.Content[:4])
		}
	}
}

// forgetDigests makes the album one of an older program, whose rows had no digests.
func (w *world) forgetDigests(a *Album) {
	w.t.Helper()
	must(w.t, a.catalogue.Commit(w.t.Context(), func(s *catalogue.State) (*catalogue.Change, error) {
		c := &catalogue.Change{}
		for _, p := range s.Photos() {
			now := *p
			now.Content = [32]byte{}
			c.Put = append(c.Put, &now)
		}
		return c, nil
	}))
}

func TestAddComputesDigests(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 10, 1)
	w.add(a, dir)
	w.digested(a, w.root)
	for _, check := range []bool{false, true} {
		w.forgetDigests(a)
		if r := NewRecords(a.Find(parse(t, ""), false), func([32]byte) []uint32 { return nil }); r.Lacking != 10 || r.Unindexed != 0 {
			t.Errorf("%+v", r)
		}
		sum, err := a.Add(t.Context(), []string{dir}, AddOptions{Check: check})
		must(t, err)
		if sum.Unchanged != 10 || sum.Photos+sum.Versions+sum.Thumbnails > 0 || !check && sum.Digests != 10 {
			t.Errorf("added %+v", sum)
		}
		w.digested(a, w.root)
	}
	if sum := w.add(a, dir); sum.Digests > 0 || sum.Sent > 0 {
		t.Errorf("added %+v", sum)
	}
	// Other edits keep digests, and a changed photo gets another one.
	l := NewLive(a)
	_, err := l.Tag(t.Context(), l.photos("photos/2020/IMG_0000.jpg"), []string{"cat"}, nil)
	must(t, err)
	b, err := os.ReadFile(filepath.Join(dir, "2020/IMG_0003.jpg"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "2020/IMG_0003.jpg"), append(b, "more"...), 0o644))
	w.add(a, dir)
	w.digested(a, w.root)
}

func TestRecordsMatchPhotos(t *testing.T) {
	photo := func(name string, content byte) *catalogue.Photo {
		return &catalogue.Photo{Name: name, Content: [32]byte{content}}
	}
	photos := []*catalogue.Photo{photo("a", 1), photo("copy of a", 1), photo("b", 2), photo("not in the index", 3), photo("older", 0)}
	records := map[[32]byte][]uint32{{1}: {7}, {2}: {4, 9}, {5}: {5}}
	r := NewRecords(photos, func(content [32]byte) []uint32 { return records[content] })
	if r.Lacking != 1 || r.Unindexed != 1 {
		t.Errorf("%+v", r)
	}
	var names []string
	for _, m := range r.Matches([]user.Hit{{Record: 9, Similarity: 0.9}, {Record: 5}, {Record: 7, Similarity: 0.5}, {Record: 4}}) {
		names = append(names, m.Name)
		if m.Name == "b" && m.Similarity != 0.9 {
			t.Errorf("b has similarity %g, want that of its most similar record", m.Similarity)
		}
	}
	if want := []string{"b", "a", "copy of a"}; !slices.Equal(names, want) {
		t.Errorf("found %v, want %v", names, want)
	}
}
