package device

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
)

func TestConcurrentCommandsKeepNewestGeneration(t *testing.T) {
	d, key := &Device{State: t.TempDir()}, user.NewKey()
	const most = 40
	for round := range byte(5) {
		origin := cpar.IndexID{round + 1}
		var wait sync.WaitGroup
		for g := range uint64(most) {
			wait.Go(func() {
				err := d.withMemory(key.Fingerprint(), func(m *memory) error {
					m.pushed(made{Scheme: cpar.SchemeLocal, IndexGeneration: IndexGeneration{Origin: origin, ID: origin, Generation: g + 1}}, false)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		err := d.withMemory(key.Fingerprint(), func(m *memory) error {
			if got := m.Seen[origin.String()].Generation; got != most {
				t.Errorf("remembered %d of %d", got, most)
			}
			if *m.InUse != (cpar.IndexID{1}) {
				t.Errorf("%v is in use", *m.InUse)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenRejectsUnreadableMemory(t *testing.T) {
	d, key := &Device{State: t.TempDir()}, user.NewKey()
	if _, ok, err := d.InUse(key); ok || err != nil {
		t.Fatalf("of nothing: %v, %v", ok, err)
	}
	path := d.memoryFile(key.Fingerprint())
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "no JSON", string(good[:len(good)-1]), `{"in_use":"x"}`, `{"allows":"everything"}`, `{"seen":{"a":{"state":"00"}}}`} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.InUse(key); !errors.Is(err, cpar.ErrCorrupt) || hint.Of(err) == "" {
			t.Errorf("%q: %v; hint %q", bad, err, hint.Of(err))
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != bad {
			t.Errorf("%q: written over: %q, %v", bad, now, err)
		}
	}
}

func TestDescendsFollowsParents(t *testing.T) {
	d := &Device{State: t.TempDir()}
	name := func(i byte) cpar.Digest { return cpar.Digest{i} }
	for child, parent := range map[byte]byte{2: 1, 3: 2, 12: 1, 13: 12} {
		text := `{"key":"k","parent":"` + name(parent).String() + `"}`
		if err := writeSmall(d.madeFile(name(child)), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		now, old byte
		want     bool
	}{{1, 1, true}, {2, 1, true}, {3, 1, true}, {3, 2, true}, {13, 1, true}, {3, 12, false}, {13, 3, false}, {1, 2, false}, {9, 1, false}} {
		if got, err := d.descends(name(c.now), name(c.old)); err != nil || got != c.want {
			t.Errorf("%d of %d: %v, %v", c.now, c.old, got, err)
		}
	}
	for _, bad := range []string{"", "3", `{"parent":"` + name(3).String() + `"}`} { // the last one is a cycle
		if err := os.WriteFile(d.madeFile(name(2)), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.descends(name(3), name(1)); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestDropOthersKeepsUnknownFiles(t *testing.T) {
	d, id := &Device{Cache: t.TempDir()}, cpar.IndexID{1}
	dir := d.cached("held", id.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stays, old := cpar.Digest{1}, cpar.Digest{2}
	for _, name := range []string{stays.String(), old.String(), "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.dropOthers(id, map[cpar.Digest][]byte{stays: {}})
	for name, want := range map[string]bool{stays.String(): true, old.String(): false, "notes.txt": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.forget(id)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("kept about a replaced index: %v", err)
	}
}
