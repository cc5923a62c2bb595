package device

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/user"
)

// named opens an index by a name from the user.
func (w *world) named(d *Device, c Cloud, key *user.Key, name string) (*Index, error) {
	return d.Open(w.t.Context(), c, key, OpenOptions{Name: name})
}

func (w *world) listing(d *Device, c Cloud, key *user.Key) []ListedIndex {
	w.t.Helper()
	list, err := d.List(w.t.Context(), c, key, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func TestListShowsIndexesOfEveryKey(t *testing.T) {
	w := newWorld(t, 8)
	d, key, other := w.device("one"), user.NewKey(cpar.SchemeCAPIA), user.NewKey()
	c := w.cloud(t.TempDir())
	family := w.push(d, c, w.build(d, key, "family", user.Options{Name: "family"}), PushOptions{}).ID
	weak := w.push(d, c, w.build(d, key, "weak", user.Options{Scheme: cpar.SchemeCAPIA}), PushOptions{}).ID
	foreign := w.push(d, c, w.build(d, other, "foreign", user.Options{Name: "secret"}), PushOptions{}).ID
	list := w.listing(d, c, key.Restricted(user.DefaultPolicy()))
	if len(list) != 3 || list[0].ID != weak || list[1].ID != family || list[2].ID != foreign {
		t.Fatalf("%+v", list)
	}
	if x := list[1]; x.Name != "family" || !x.InUse || !x.Opens || x.Problem != "" || x.Photos != 8 || x.Generation != 1 || x.Bytes == 0 || x.Scheme != "sealed" {
		t.Errorf("family: %+v", x)
	}
	if x := list[0]; x.InUse || !x.Opens || !strings.Contains(x.Problem, "capia") {
		t.Errorf("one of a scheme that the key does not allow: %+v", x)
	}
	if x := list[2]; x.Opens || x.Name != "" || x.Problem != "of another key" {
		t.Errorf("another's: %+v", x)
	}
	// No ledger is fetched twice.
	c.asked = nil
	w.listing(d, c, key)
	for _, a := range c.asked {
		if strings.Contains(a, "/segments/") {
			t.Errorf("listing again: %s", a)
		}
	}
	known, err := d.Known(key)
	if err != nil || len(known) != 2 || known[1].Name != "family" || !known[1].InUse || known[1].Photos != 8 {
		t.Errorf("known: %+v, %v", known, err)
	}
	if b, err := os.ReadFile(d.memoryFile(key.Fingerprint())); err != nil || strings.Contains(string(b), "family") {
		t.Errorf("the memory, which is not encrypted, has the name (%v)", err)
	}
}

// many is a cloud with a very long listing.
type many struct {
	Cloud
	ids int
}

func (m many) List(ctx context.Context) ([]cparhttp.IndexInfo, error) {
	list, err := m.Cloud.List(ctx)
	for i := range m.ids {
		x := list[0]
		x.ID = cpar.IndexID{byte(i >> 8), byte(i), 1}
		list = append(list, x)
	}
	return append(list, list[0]), err
}

// List reads indexes seen before even if the listing exceeds the bounds.
func TestListIsBounded(t *testing.T) {
	w := newWorld(t, 8)
	d, key := w.device("one"), user.NewKey()
	c := w.cloud(t.TempDir())
	id := w.push(d, c, w.build(d, key, "family", user.Options{Name: "family"}), PushOptions{}).ID
	c.asked = nil
	list := w.listing(d, many{c, 2 * maxLookedAt}, key)
	if len(list) != 2*maxLookedAt+1 || list[0].ID != id || !list[0].InUse {
		t.Errorf("%d rows, the first %+v", len(list), list[0])
	}
	if n := len(c.asked); n > maxLookedAt+2 {
		t.Errorf("%d requests", n)
	}
	if !slices.ContainsFunc(list, func(x ListedIndex) bool { return strings.Contains(x.Problem, "lists more than") }) {
		t.Error("skipped indexes are not mentioned")
	}
}

// A cloud that hides an index, or shows another under its name, is refused.
func TestOpenByNameRejectsSubstitutedIndex(t *testing.T) {
	w := newWorld(t, 8)
	d, key := w.device("one"), user.NewKey(cpar.SchemeCAPIA)
	build := func(name, called string, s cpar.Scheme) string {
		return w.build(d, key, name, user.Options{Scheme: s, Name: called})
	}
	first := build("first", "family", cpar.SchemeSealed)
	c := w.cloud(t.TempDir())
	a := w.push(d, c, first, PushOptions{}).ID
	if x, err := w.named(d, c, key, "family"); err != nil || x.ID() != a {
		t.Fatal(err)
	}
	asked := w.device("asked") // has not built it
	if err := w.annotate(asked, c, key, none); err != nil {
		t.Fatal(err)
	}
	if known, err := asked.Known(key); err != nil || len(known) != 1 || known[0].Name != "family" {
		t.Errorf("not known on the device that annotated: %+v, %v", known, err)
	}
	for _, name := range []string{"nobody", "Family"} {
		if _, err := w.named(d, c, key, name); !errors.Is(err, cpar.ErrInput) || hint.Of(err) != "there are: family" {
			t.Errorf("%s: %v; %s", name, err, hint.Of(err))
		}
	}
	// Another index of the same name at a cloud that hides the first.
	elsewhere := w.cloud(t.TempDir())
	b := w.push(w.device("two"), elsewhere, build("second", "family", cpar.SchemeLocal), PushOptions{}).ID
	_, err := w.named(d, elsewhere, key, "family")
	w.refused("another of the name", err, elsewhere, 0, "by its id")
	// An index that shows distances, on a device that has not seen it.
	weakly := w.cloud(t.TempDir())
	w.push(w.device("two"), weakly, build("third", "family", cpar.SchemeCAPIA), PushOptions{})
	_, err = w.named(w.device("three"), weakly, key, "family")
	w.refused("a weak one of the name", err, weakly, 0, "by its id")
	// The index was renamed, and the cloud shows the previous generation.
	before := c.before()
	if _, err := user.Rename(t.Context(), key, first, "holidays", user.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := d.Made(key, first, w.manifest(c, a)); err != nil {
		t.Fatal(err)
	}
	w.push(d, c, first, PushOptions{})
	if _, err := w.named(d, c, key, "holidays"); err != nil {
		t.Error(err)
	}
	_, err = w.named(d, before, key, "family")
	w.refused("an older state's name", err, before, 0, "old state")
	// Named by id, the other index replaces the first. Then its name suffices.
	if err := w.annotate(d, elsewhere, key, b); err != nil {
		t.Fatal(err)
	}
	if x, err := w.named(d, elsewhere, key, "family"); err != nil || x.ID() != b {
		t.Error(err)
	}
}

func (w *world) manifest(c Cloud, id cpar.IndexID) *cpar.Manifest {
	w.t.Helper()
	m, err := c.Manifest(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func TestFindRejectsAmbiguousName(t *testing.T) {
	w := newWorld(t, 8)
	d, key := w.device("one"), user.NewKey()
	c := w.cloud(t.TempDir())
	a := w.push(d, c, w.build(d, key, "first", user.Options{Name: "family"}), PushOptions{}).ID
	b := w.push(d, c, w.build(d, key, "second", user.Options{Name: "family"}), PushOptions{}).ID
	_, err := w.named(d, c, key, "family")
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), a.String()) || !strings.Contains(err.Error(), b.String()) {
		t.Errorf("%v", err)
	}
	x, err := d.Find(t.Context(), c, key, "family", nil, a)
	if err != nil || x.ID != b {
		t.Errorf("all but the first: %v, %v", x.ID, err)
	}
}

// After a deletion the next index becomes the default, and a cloud that kept
// the deleted one is refused.
func TestOpenRejectsDeletedIndex(t *testing.T) {
	w := newWorld(t, 8)
	d, key := w.device("one"), user.NewKey()
	first := w.build(d, key, "first", user.Options{Scheme: cpar.SchemeLocal, Name: "family"})
	second := w.build(d, key, "second", user.Options{})
	c := w.cloud(t.TempDir())
	a := w.push(d, c, first, PushOptions{}).ID
	if err := w.annotate(d, c, key, none); err != nil {
		t.Fatal(err)
	}
	kept := c.before()
	was, err := d.Delete(t.Context(), c, key, w.listing(d, c, key)[0])
	if err != nil || !was {
		t.Fatalf("in use: %v, %v", was, err)
	}
	if _, err := os.Stat(filepath.Join(d.Cache, "held", a.String())); !os.IsNotExist(err) {
		t.Errorf("a copy was left: %v", err)
	}
	if list, err := d.Known(key); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if ids := d.SeenIndexes(); len(ids) != 0 {
		t.Errorf("completed: %v", ids)
	}
	w.refused("kept", w.annotate(d, kept, key, none), kept, 0, "--index")
	_, err = w.named(d, kept, key, "family")
	w.refused("kept, by name", err, kept, 0, "--index")
	b := w.push(d, c, second, PushOptions{}).ID
	if err := w.annotate(d, c, key, none); err != nil {
		t.Errorf("the next one: %v", err)
	}
	// After another push, the index is available again.
	w.push(d, c, first, PushOptions{})
	if err := w.annotate(d, c, key, a); err != nil {
		t.Error(err)
	}
	if list, err := d.Known(key); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	// Deleting an index already gone from the cloud succeeds.
	if err := c.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if was, err := d.Delete(t.Context(), c, key, ListedIndex{ID: a}); err != nil || !was {
		t.Errorf("gone already: %v, %v", was, err)
	}
	if err := w.annotate(d, c, key, b); err != nil {
		t.Error(err)
	}
}

func TestDeletingCompactedPredecessorKeepsDefault(t *testing.T) {
	w := newWorld(t, 8)
	d, key := w.device("one"), user.NewKey()
	folder := w.build(d, key, "index", user.Options{Scheme: cpar.SchemeLocal, Name: "family"})
	c := w.cloud(t.TempDir())
	old := w.push(d, c, folder, PushOptions{}).ID
	before := w.manifest(c, old)
	if _, err := user.Compact(t.Context(), key, folder, user.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := d.Made(key, folder, before); err != nil {
		t.Fatal(err)
	}
	now := w.push(d, c, folder, PushOptions{}).ID
	i := slices.IndexFunc(w.listing(d, c, key), func(x ListedIndex) bool { return x.ID == old })
	x := w.listing(d, c, key)[i]
	if x.InUse || !strings.Contains(x.Problem, "taken its place") {
		t.Errorf("%+v", x)
	}
	if was, err := d.Delete(t.Context(), c, key, x); err != nil || was {
		t.Errorf("in use: %v, %v", was, err)
	}
	if s, ok, err := d.InUse(key); err != nil || !ok || s.ID != now {
		t.Errorf("%+v, %v, %v", s, ok, err)
	}
	if err := w.annotate(d, c, key, none); err != nil {
		t.Error(err)
	}
}
