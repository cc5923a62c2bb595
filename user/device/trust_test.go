package device

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
)

var none cpar.IndexID

// anyID matches an id, which hints must not contain because the cloud may have
// chosen it.
var anyID = regexp.MustCompile(`[0-9a-f]{32}`)

// refused checks that a cloud was refused with a hint that contains want, and
// that it got no request for a photo.
func (w *world) refused(what string, err error, c *site, sent int, want string) {
	w.t.Helper()
	if !errors.Is(err, cpar.ErrCloud) || !strings.Contains(hint.Of(err), want) || anyID.MatchString(hint.Of(err)) {
		w.t.Errorf("%s: %v; hint %q", what, err, hint.Of(err))
	}
	if c.sent() != sent {
		w.t.Errorf("%s: %d requests went out", what, c.sent()-sent)
	}
}

// A cloud cannot offer an index that shows distances, under any name or
// passphrase, even if the device's cache is lost.
func TestOpenRejectsWeakerScheme(t *testing.T) {
	w := newWorld(t, 8)
	d, key := w.device("one"), user.NewKey(cpar.SchemeCAPIA)
	weak := w.build(d, key, "weak", user.Options{Scheme: cpar.SchemeCAPIA})
	strong := w.build(d, key, "strong", user.Options{})
	old := w.cloud(t.TempDir())
	id := w.push(d, old, weak, PushOptions{}).ID
	now := w.cloud(t.TempDir())
	m := w.push(d, now, strong, PushOptions{})
	if err := w.annotate(d, now, key, m.ID); err != nil {
		t.Fatal(err)
	}
	w.refused("as it is", w.annotate(d, old, key, none), old, 0, "--index")
	if err := os.RemoveAll(d.Cache); err != nil {
		t.Fatal(err)
	}
	w.refused("with a clean cache", w.annotate(d, old, key, none), old, 0, "--index")
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(old.URL(), "http://"))
	w.refused("under another name", w.annotate(d, w.client("http://localhost:"+port), key, none), old, 0, "--index")

	// The same key from a file with another passphrase and from one without.
	for name, pass := range map[string]string{"open": "", "closed": "a passphrase"} {
		path := filepath.Join(w.dir, name)
		if err := key.WriteFile(path, pass); err != nil {
			t.Fatal(err)
		}
		again, err := d.ReadKey(path, user.Unlock{Passphrase: func() (string, error) { return pass, nil }})
		if err != nil {
			t.Fatal(err)
		}
		w.refused("with the key from file "+name, w.annotate(d, old, again, none), old, 0, "--index")
	}
	// A device that has seen nothing also requires the name.
	w.refused("at first sight", w.annotate(w.device("two"), old, key, none), old, 0, "--index")
	// Once named, the index is used for that call only.
	if err := w.annotate(d, old, key, id); err != nil || old.sent() != 1 {
		t.Errorf("named: %v, %d requests", err, old.sent())
	}
	w.refused("once named", w.annotate(d, old, key, none), old, 1, "--index")
	// A key that forbids the scheme refuses it, and the hint does not suggest
	// allowing it.
	narrow := key.Restricted(user.DefaultPolicy())
	if err := w.annotate(d, old, narrow, id); !errors.Is(err, user.ErrNotAllowed) || old.sent() != 1 {
		t.Errorf("not allowed: %v, %d requests", err, old.sent())
	}
	err := w.annotate(d, old, narrow, none)
	if w.refused("not allowed", err, old, 1, "--index"); strings.Contains(err.Error()+hint.Of(err), "allow") {
		t.Errorf("not allowed and not named: %v; hint %q", err, hint.Of(err))
	}
}

// Pushing an index and opening it both count as having seen it.
func TestOpenRejectsRollback(t *testing.T) {
	w := newWorld(t, 8)
	for _, scheme := range []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal} {
		d, key := w.device(scheme.String()), user.NewKey()
		folder := w.build(d, key, scheme.String()+".index", user.Options{Scheme: scheme})
		c := w.cloud(t.TempDir())
		w.push(d, c, folder, PushOptions{})
		if err := w.annotate(d, c, key, none); err != nil {
			t.Fatal(err)
		}
		before := c.before()
		w.update(d, key, folder)
		w.push(d, c, folder, PushOptions{})
		w.refused(scheme.String()+": after a push", w.annotate(d, before, key, none), before, 0, "old state")
		if err := w.annotate(d, c, key, none); err != nil {
			t.Errorf("%v: the new state: %v", scheme, err)
		}
		second := w.device(scheme.String() + " second")
		if err := w.annotate(second, c, key, none); err != nil {
			t.Fatal(err)
		}
		w.refused(scheme.String()+": another device", w.annotate(second, before, key, none), before, 0, "old state")
		// Another state of the same generation is refused, too.
		fork := filepath.Join(w.dir, scheme.String()+" fork")
		if err := os.CopyFS(fork, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		w.update(d, key, folder)
		w.push(d, c, folder, PushOptions{})
		third := w.device(scheme.String() + " third")
		w.update(third, key, fork)
		w.push(third, before, fork, PushOptions{Force: true})
		w.refused(scheme.String()+": a fork", w.annotate(d, before, key, none), before, 0, "two devices")
	}
}

// Naming another index replaces the default.
func TestOpenRejectsAnotherIndex(t *testing.T) {
	w := newWorld(t, 8)
	d, key := w.device("one"), user.NewKey()
	first := w.build(d, key, "first", user.Options{Scheme: cpar.SchemeLocal})
	second := w.build(d, key, "second", user.Options{})
	both := w.cloud(t.TempDir())
	a := w.push(d, both, first, PushOptions{}).ID
	if err := w.annotate(d, both, key, none); err != nil {
		t.Fatal(err)
	}
	b := w.push(d, both, second, PushOptions{}).ID
	if err := w.annotate(d, both, key, none); err != nil {
		t.Errorf("the one in use, beside another: %v", err)
	}
	other := w.cloud(t.TempDir())
	w.push(d, other, second, PushOptions{})
	w.refused("another alone", w.annotate(d, other, key, none), other, 0, "--index")
	if err := w.annotate(d, other, key, b); err != nil {
		t.Errorf("named: %v", err)
	}
	if err := w.annotate(d, other, key, none); err != nil {
		t.Errorf("named once: %v", err)
	}
	alone := w.cloud(t.TempDir())
	w.push(d, alone, first, PushOptions{})
	w.refused("the one that was retired", w.annotate(d, alone, key, none), alone, 0, "--index")
	// The cloud has several indexes, none of them the default.
	several := w.cloud(t.TempDir())
	for name, o := range map[string]user.Options{"third": {Scheme: cpar.SchemeLocal}, "fourth": {}} {
		w.push(d, several, w.build(d, key, name, o), PushOptions{})
	}
	w.refused("several others", w.annotate(d, several, key, none), several, 0, "--index")
	// Indexes of another key are independent.
	if err := w.annotate(d, both, user.NewKey(), a); !errors.Is(err, cpar.ErrKey) {
		t.Errorf("another key: %v", err)
	}
}

func TestOpenAcceptsCompactedIndex(t *testing.T) {
	w := newWorld(t, 8)
	d, key := w.device("one"), user.NewKey()
	folder := w.build(d, key, "index", user.Options{})
	c := w.cloud(t.TempDir())
	old := w.push(d, c, folder, PushOptions{}).ID
	second := w.device("two")
	if err := w.annotate(second, c, key, none); err != nil {
		t.Fatal(err)
	}
	before := c.before()
	_, m, err := d.ToUpdate(key, folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.Compact(t.Context(), key, folder, user.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := d.Made(key, folder, m); err != nil {
		t.Fatal(err)
	}
	w.push(d, c, folder, PushOptions{Replaces: old})
	for name, dev := range map[string]*Device{"one": d, "two": second} {
		if err := w.annotate(dev, c, key, none); err != nil {
			t.Errorf("device %s: %v", name, err)
		}
		w.refused("device "+name, w.annotate(dev, before, key, none), before, 0, "compacted")
	}
}

// An altered reply fails its own photos only.
func TestAlteredReplyFailsItsPhotosOnly(t *testing.T) {
	w := newWorld(t, 8)
	d, key := w.device("one"), user.NewKey()
	folder := w.build(d, key, "index", user.Options{})
	c := w.cloud(t.TempDir())
	w.push(d, c, folder, PushOptions{})
	var photos []Photo
	for range 3 {
		for _, path := range w.photos {
			photos = append(photos, File(path))
		}
	}
	failed := func() (n int) {
		t.Helper()
		x, err := d.Open(t.Context(), c, key, OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := x.Annotate(t.Context(), photos, AnnotateOptions{Ranking: user.Ranking{MaxKeywords: 3}})
		if err != nil || len(all) != len(photos) {
			t.Fatalf("%d photos, %v", len(all), err)
		}
		for _, a := range all {
			if a.Err != nil {
				n++
				if !errors.Is(a.Err, cpar.ErrCloud) || len(a.Keywords) > 0 {
					t.Errorf("%v, %d keywords", a.Err, len(a.Keywords))
				}
			}
		}
		return n
	}
	if n := failed(); n > 0 { // fetches the segments
		t.Fatalf("%d photos failed", n)
	}
	for name, k := range map[string]struct {
		alter       func(int, []byte)
		least, most int
	}{
		"the first answer": {func(n int, b []byte) {
			if n == 1 {
				b[len(b)-9] ^= 0x10
			}
		}, 1, len(photos) - 1},
		"every answer": {func(_ int, b []byte) { b[len(b)-9] ^= 0x10 }, 2, len(photos)},
	} {
		c.mu.Lock()
		c.alter, c.answers = k.alter, 0
		c.mu.Unlock()
		if n := failed(); n < k.least || n > k.most {
			t.Errorf("%s altered: %d photos of %d failed", name, n, len(photos))
		}
	}
}

func TestOldKeyFileDoesNotWidenPolicy(t *testing.T) {
	w := newWorld(t, 1)
	d := w.device("one")
	allowing := user.NewKey(cpar.SchemeCPAR, cpar.SchemeCAPIA)
	path, copied := filepath.Join(w.dir, "key"), filepath.Join(w.dir, "copy")
	for _, p := range []string{path, copied} {
		if err := allowing.WriteFile(p, ""); err != nil {
			t.Fatal(err)
		}
	}
	policy := func(d *Device, path string) user.Policy {
		t.Helper()
		key, err := d.ReadKey(path, user.Unlock{})
		if err != nil {
			t.Fatal(err)
		}
		return key.Policy()
	}
	if p := policy(d, path); p != allowing.Policy() {
		t.Errorf("at first sight: %v", p)
	}
	if _, err := d.SetPolicy(path, user.Unlock{}, user.DefaultPolicy()); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, copied} {
		if p := policy(d, file); p != user.DefaultPolicy() {
			t.Errorf("narrowed, from %s: %v", filepath.Base(file), p)
		}
	}
	if p := policy(w.device("other"), copied); p != allowing.Policy() {
		t.Errorf("a device that has seen nothing: %v", p)
	}
	// The policy was narrowed on another device, and the file copied here.
	third := w.device("third")
	policy(third, copied)
	if p := policy(third, path); p != user.DefaultPolicy() {
		t.Errorf("narrowed elsewhere: %v", p)
	}
	if p := policy(third, copied); p != user.DefaultPolicy() {
		t.Errorf("widened by an older copy: %v", p)
	}
	if _, err := third.SetPolicy(copied, user.Unlock{}, allowing.Policy()); err != nil {
		t.Fatal(err)
	}
	if p := policy(third, copied); p != allowing.Policy() {
		t.Errorf("widened on purpose: %v", p)
	}
}
