package device

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
)

// A fork is an index whose copies two devices have updated differently.
type fork struct {
	*world
	key          *user.Key
	one, two     *Device
	mine, others string // folders
	c, its       *site  // clouds with these indexes
}

// newFork makes a fork: device one has pushed generation 2, device two another
// generation 3.
func newFork(t *testing.T) *fork {
	t.Helper()
	w := newWorld(t, 6)
	f := &fork{world: w, key: user.NewKey(), one: w.device("one"), two: w.device("two"), others: filepath.Join(w.dir, "others")}
	f.mine = w.build(f.one, f.key, "mine", user.Options{Scheme: cpar.SchemeLocal})
	if err := os.CopyFS(f.others, os.DirFS(f.mine)); err != nil {
		t.Fatal(err)
	}
	w.update(f.one, f.key, f.mine)
	f.c, f.its = w.cloud(t.TempDir()), w.cloud(t.TempDir())
	w.push(f.one, f.c, f.mine, PushOptions{})
	w.update(f.two, f.key, f.others)
	w.update(f.two, f.key, f.others)
	w.push(f.two, f.its, f.others, PushOptions{})
	return f
}

func TestOpenRejectsFork(t *testing.T) {
	f := newFork(t)
	f.refused("device one", f.annotate(f.one, f.its, f.key, none), f.its, 0, "cpar card")
	if _, _, err := f.one.ToUpdate(f.key, f.others); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
		t.Errorf("updating the other folder: %v", err)
	}
	// A third device that has seen the first branch refuses the second.
	third := f.device("three")
	if err := f.annotate(third, f.c, f.key, none); err != nil {
		t.Fatal(err)
	}
	f.refused("a third device", f.annotate(third, f.its, f.key, none), f.its, 0, "cpar card")

	// Forced onto the second branch, it refuses the first.
	s, ok, err := f.two.InUse(f.key)
	if err != nil || !ok || s.Generation != 3 {
		t.Fatalf("%+v, %v, %v", s, ok, err)
	}
	if err := f.one.AcceptCard(f.key, s, true); err != nil {
		t.Fatal(err)
	}
	if err := f.annotate(f.one, f.its, f.key, none); err != nil {
		t.Errorf("with the card of the other: %v", err)
	}
	f.refused("the one that was left", f.annotate(f.one, f.c, f.key, none), f.c, 0, "old state")
}

// A branch of any length is distinguished from a successor.
func TestOpenRejectsLongFork(t *testing.T) {
	f := newFork(t)
	third := f.device("three")
	if err := f.annotate(third, f.c, f.key, none); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		f.update(f.one, f.key, f.mine)
		f.update(f.two, f.key, f.others)
	}
	f.push(f.one, f.c, f.mine, PushOptions{})
	f.push(f.two, f.its, f.others, PushOptions{})
	f.refused("a branch of 41 updates", f.annotate(third, f.its, f.key, none), f.its, 0, "cpar card")
	if err := f.annotate(third, f.c, f.key, none); err != nil {
		t.Errorf("a successor after 40 updates: %v", err)
	}
}

// A forced push counts as seen. The cloud has no index that could be lost.
func TestPushRejectsFork(t *testing.T) {
	f := newFork(t)
	back := filepath.Join(f.dir, "back")
	if err := os.CopyFS(back, os.DirFS(f.mine)); err != nil {
		t.Fatal(err)
	}
	f.update(f.one, f.key, f.mine)
	f.push(f.one, f.c, f.mine, PushOptions{})
	empty := f.cloud(t.TempDir())
	if _, err := f.one.Push(t.Context(), empty.Client, back, PushOptions{}); !errors.Is(err, cpar.ErrCloud) || !strings.Contains(hint.Of(err), "--force") {
		t.Errorf("an old folder: %v; hint %q", err, hint.Of(err))
	}
	if list, err := empty.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("sent nevertheless: %v, %v", list, err)
	}
	p, err := f.one.Push(t.Context(), empty.Client, back, PushOptions{Force: true})
	if err != nil || !p.Remembered || p.InUse == nil || *p.InUse != p.Origin {
		t.Fatalf("forced: %+v, %v", p, err)
	}
	if err := f.annotate(f.one, empty, f.key, none); err != nil {
		t.Errorf("forced, then asked: %v", err)
	}
	// Without a key, a folder made elsewhere cannot be attributed and is not
	// remembered.
	if p, err := f.one.Push(t.Context(), f.cloud(t.TempDir()).Client, f.others, PushOptions{}); err != nil || p.Remembered || p.InUse != nil {
		t.Errorf("made elsewhere: %+v, %v", p, err)
	}
}

func TestPushReportsUnreadableRecordBeforeSending(t *testing.T) {
	f := newFork(t)
	made, err := filepath.Glob(filepath.Join(f.one.State, "made", "*"))
	if err != nil || len(made) == 0 {
		t.Fatalf("%d records, %v", len(made), err)
	}
	for _, path := range made {
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	empty := f.cloud(t.TempDir())
	if _, err := f.one.Push(t.Context(), empty.Client, f.mine, PushOptions{}); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("%v", err)
	}
	if list, err := empty.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("sent nevertheless: %v, %v", list, err)
	}
}

// swapped is a cloud that returns the manifest of another index.
type swapped struct {
	Cloud
	other cpar.IndexID
}

func (c swapped) Manifest(ctx context.Context, _ cpar.IndexID) (*cpar.Manifest, error) {
	return c.Cloud.Manifest(ctx, c.other)
}

func TestOpenRejectsManifestOfAnotherIndex(t *testing.T) {
	w := newWorld(t, 6)
	d, key := w.device("one"), user.NewKey(cpar.SchemeCAPIA)
	c := w.cloud(t.TempDir())
	good := w.push(d, c, w.build(d, key, "good", user.Options{}), PushOptions{}).ID
	weak := w.push(d, c, w.build(d, key, "weak", user.Options{Scheme: cpar.SchemeCAPIA}), PushOptions{}).ID
	if err := w.annotate(d, swapped{c, weak}, key, good); !errors.Is(err, cpar.ErrCloud) || c.sent() != 0 {
		t.Errorf("%v, %d requests", err, c.sent())
	}
}

func TestCardTransfersGenerationToAnotherDevice(t *testing.T) {
	w := newWorld(t, 8)
	d, key := w.device("one"), user.NewKey()
	folder := w.build(d, key, "index", user.Options{})
	c := w.cloud(t.TempDir())
	w.push(d, c, folder, PushOptions{})
	before := c.before()
	w.update(d, key, folder)
	w.push(d, c, folder, PushOptions{})
	s, ok, err := d.InUse(key)
	if err != nil || !ok || s.Generation != 2 {
		t.Fatalf("%+v, %v, %v", s, ok, err)
	}
	card, err := ParseCard(s.Card())
	if err != nil {
		t.Fatal(err)
	}
	// Without the card, a new device accepts an old generation (SECURITY.md).
	if err := w.annotate(w.device("trusting"), before, key, none); err != nil {
		t.Errorf("at first sight: %v", err)
	}
	second := w.device("two")
	if err := second.AcceptCard(key, card, false); err != nil {
		t.Fatal(err)
	}
	w.refused("with the card", w.annotate(second, before, key, none), before, 1, "old state")
	if err := w.annotate(second, c, key, none); err != nil {
		t.Errorf("the state of the card: %v", err)
	}
	old := card
	old.Generation--
	if err := second.AcceptCard(key, old, false); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("an older card: %v", err)
	}
	if err := second.AcceptCard(key, old, true); err != nil {
		t.Errorf("an older card, forced: %v", err)
	}
	for _, bad := range []string{"", "x", s.Card() + " ", s.Card()[1:], strings.Replace(s.Card(), "@2:", "@02:", 1), strings.Replace(s.Card(), "@2:", "@0:", 1), strings.ToUpper(s.Card())} {
		if _, err := ParseCard(bad); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A card of a higher generation does not replace what this device has seen
// until a state that descends from both is opened.
func TestCardOfForkNeedsForce(t *testing.T) {
	f := newFork(t)
	seen, _, err := f.one.InUse(f.key)
	if err != nil {
		t.Fatal(err)
	}
	its, _, err := f.two.InUse(f.key)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.one.AcceptCard(f.key, its, false); err != nil {
		t.Fatal(err) // it may be a descendant
	}
	f.refused("a fork with its card", f.annotate(f.one, f.its, f.key, none), f.its, 0, "--force")
	f.refused("a state older than the card", f.annotate(f.one, f.c, f.key, none), f.c, 0, "--force")
	if now, _, err := f.one.InUse(f.key); err != nil || now != seen {
		t.Errorf("the seen generation is gone: %+v, want %+v (%v)", now, seen, err)
	}
	if _, _, err := f.one.ToUpdate(f.key, f.mine); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("updating a folder older than the card: %v", err)
	}
	if _, err := f.one.Push(t.Context(), f.cloud(t.TempDir()).Client, f.mine, PushOptions{}); !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("pushing a folder older than the card: %v", err)
	}
	if err := f.one.AcceptCard(f.key, seen, true); err != nil { // back to its own branch
		t.Fatal(err)
	}
	if err := f.annotate(f.one, f.c, f.key, none); err != nil {
		t.Errorf("without the card: %v", err)
	}
	if err := f.one.AcceptCard(f.key, its, true); err != nil {
		t.Fatal(err)
	}
	if err := f.annotate(f.one, f.its, f.key, none); err != nil {
		t.Errorf("forced: %v", err)
	}
}

func TestCardOfDescendantIsConfirmedByOpening(t *testing.T) {
	f := newFork(t)
	second := f.device("second")
	if err := f.annotate(second, f.c, f.key, none); err != nil {
		t.Fatal(err)
	}
	older := f.c.before()
	f.update(f.one, f.key, f.mine)
	f.push(f.one, f.c, f.mine, PushOptions{})
	card, _, err := f.one.InUse(f.key)
	if err != nil || second.AcceptCard(f.key, card, false) != nil {
		t.Fatal(err)
	}
	f.refused("the state before the card", f.annotate(second, older, f.key, none), older, 0, "--force")
	if err := f.annotate(second, f.c, f.key, none); err != nil {
		t.Errorf("the state of the card: %v", err)
	}
	if now, _, err := second.InUse(f.key); err != nil || now != card {
		t.Errorf("%+v, want %+v (%v)", now, card, err)
	}
	f.refused("the state before, seen by now", f.annotate(second, older, f.key, none), older, 0, "old state")
}

// The card does not contain the id at the cloud.
func TestCardOfKnownGenerationKeepsID(t *testing.T) {
	w := newWorld(t, 6)
	d, key := w.device("one"), user.NewKey()
	folder := w.build(d, key, "index", user.Options{Scheme: cpar.SchemeLocal})
	_, before, err := d.ToUpdate(key, folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.Compact(t.Context(), key, folder, user.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := d.Made(key, folder, before); err != nil {
		t.Fatal(err)
	}
	c := w.cloud(t.TempDir())
	id := w.push(d, c, folder, PushOptions{}).ID
	s, _, err := d.InUse(key)
	if err != nil || s.ID != id || s.Origin == id {
		t.Fatalf("%+v, %v", s, err)
	}
	card, err := ParseCard(s.Card())
	if err != nil || d.AcceptCard(key, card, false) != nil {
		t.Fatal(err)
	}
	if again, _, err := d.InUse(key); err != nil || again != s {
		t.Errorf("%+v, then %+v, %v", s, again, err)
	}
}
