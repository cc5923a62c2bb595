package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

func ownCache(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(v, dir)
	}
}

var errOlder = errors.New("older")

func at(generation uint64, state byte) sight {
	s := sight{generation: generation}
	s.state[0] = state
	return s
}

// TestGenerations: what is remembered only grows, another state of one generation
// is refused, and a file that cannot be read is not taken for none.
func TestGenerations(t *testing.T) {
	ownCache(t)
	id := cpar.IndexID{1}
	older := func(uint64) error { return errOlder }
	for i, c := range []struct {
		now, want sight
		err       error
	}{
		{at(0, 0), at(0, 0), nil},
		{at(3, 1), at(3, 1), nil},
		{at(3, 1), at(3, 1), nil},
		{at(2, 9), at(3, 1), errOlder},
		{at(3, 2), at(3, 1), cpar.ErrCloud},
		{at(4, 2), at(4, 2), nil},
		{at(3, 1), at(4, 2), errOlder},
	} {
		if err := see(id, c.now, older); !errors.Is(err, c.err) {
			t.Errorf("%d: %v, want %v", i, err, c.err)
		}
		if got, err := lastSeen(id); err != nil || got != c.want {
			t.Errorf("%d: remembered %v, want %v; %v", i, got, c.want, err)
		}
	}
	if got, err := lastSeen(cpar.IndexID{2}); err != nil || got != at(0, 0) {
		t.Errorf("another index: %v, %v", got, err)
	}
	path := sightsFile(id)
	good := at(4, 2).String()
	for _, bad := range []string{"", "-1", "4", good + "\n", "0" + good, good[:len(good)-2], at(0, 1).String(), "18446744073709551616" + good[1:]} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := lastSeen(id); !errors.Is(err, cpar.ErrCorrupt) || hint.Of(err) == "" {
			t.Errorf("%q: %v", bad, err)
		}
		if err := see(id, at(7, 1), older); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%q: remembered over it: %v", bad, err)
		}
	}
}

// TestGenerationsOfTwoCommands: of commands at the same time the greatest stays.
func TestGenerationsOfTwoCommands(t *testing.T) {
	ownCache(t)
	const most = 40
	for round := range byte(5) {
		id := cpar.IndexID{round}
		var wait sync.WaitGroup
		for g := range uint64(most) {
			wait.Go(func() {
				if err := see(id, at(g+1, 1), func(uint64) error { return errOlder }); err != nil && err != errOlder {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if got, err := lastSeen(id); err != nil || got.generation != most {
			t.Errorf("remembered %d of %d: %v", got.generation, most, err)
		}
	}
}

// TestSchemeIsNotWeakened: once a cloud has served an index that hides distances,
// one that shows them is refused until it is named, and that changes nothing.
func TestSchemeIsNotWeakened(t *testing.T) {
	ownCache(t)
	path := schemesFile("http://a:1", []byte("key"))
	for i, c := range []struct {
		scheme cpar.Scheme
		named  bool
		err    error
	}{
		{cpar.SchemeCAPIA, false, nil},
		{cpar.SchemeCPAR, false, nil},
		{cpar.SchemeSealed, false, nil},
		{cpar.SchemeCAPIA, false, cpar.ErrCloud},
		{cpar.SchemeCPAR, false, cpar.ErrCloud},
		{cpar.SchemeCAPIA, true, nil},
		{cpar.SchemeCAPIA, false, cpar.ErrCloud},
		{cpar.SchemeLocal, false, nil},
		{cpar.SchemeCPAR, false, cpar.ErrCloud},
		{cpar.SchemeSealed, false, nil},
	} {
		if err := checkScheme(path, c.scheme, c.named); !errors.Is(err, c.err) || c.err != nil && hint.Of(err) == "" {
			t.Errorf("%d, %v: %v, want %v", i, c.scheme, err, c.err)
		}
	}
	for _, other := range []string{schemesFile("http://b:1", []byte("key")), schemesFile("http://a:1", []byte("other"))} {
		if err := checkScheme(other, cpar.SchemeCPAR, false); err != nil {
			t.Errorf("another cloud or key: %v", err)
		}
	}
	if schemesFile("http://a:1/", []byte("key")) != path {
		t.Error("the same cloud has two files")
	}
	for _, bad := range []string{"", "plain"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkScheme(path, cpar.SchemeSealed, false); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestMadeOf: a state descends from those that it was made of, by any number of
// steps, and from no other.
func TestMadeOf(t *testing.T) {
	ownCache(t)
	d := func(i byte) cpar.Digest { return cpar.Digest{i} }
	for child, parent := range map[byte]byte{2: 1, 3: 2, 12: 1, 13: 12} {
		if err := remember(lineageFile(d(child)), d(parent).String()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		now, old byte
		want     bool
	}{{1, 1, true}, {2, 1, true}, {3, 1, true}, {3, 2, true}, {13, 1, true}, {3, 12, false}, {13, 3, false}, {1, 2, false}, {9, 1, false}} {
		if got, err := madeOf(d(c.now), d(c.old)); err != nil || got != c.want {
			t.Errorf("%d of %d: %v, %v", c.now, c.old, got, err)
		}
	}
	for _, bad := range []string{"", "3", d(3).String()} { // the last one leads round
		if err := os.WriteFile(lineageFile(d(2)), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := madeOf(d(3), d(1)); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestRetired: what is kept of an index that was replaced goes.
func TestRetired(t *testing.T) {
	ownCache(t)
	id := cpar.IndexID{1}
	folder := cacheFile("held", id.String())
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := retire(id); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", filepath.Base(folder), err)
	}
	if text, err := remembered(cacheFile("retired", id.String())); err != nil || text == "" {
		t.Errorf("%q, %v", text, err)
	}
}
