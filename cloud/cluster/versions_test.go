package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"

	"cpar"
	"cpar/cloud/store"
)

type stored struct {
	b      []byte
	err    error
	before func()
	asked  int
}

func (s *stored) ManifestBytes(context.Context, store.IndexRef) ([]byte, error) {
	s.asked++
	b, err := s.b, s.err
	if s.before != nil {
		s.before()
	}
	if err == nil && b == nil {
		err = store.ErrNotFound
	}
	return b, err
}

type history struct {
	*testing.T
	k             store.IndexRef
	one, two      []byte
	first, second cpar.Digest
	pointers      *table
	storage       *stored
	v             *versions
}

func newHistory(t *testing.T) *history {
	h := &history{T: t, k: store.IndexRef{Index: cpar.IndexID{1}}, pointers: &table{of: map[store.IndexRef]pointer{}}, storage: new(stored)}
	h.one, h.two = scanned(1, 1, 2).manifest(t), scanned(1, 2, 2).manifest(t)
	h.first, h.second = sha256.Sum256(h.one), sha256.Sum256(h.two)
	h.v = newVersions(h.pointers, h.storage.ManifestBytes, 1)
	return h
}

func (h *history) push(b []byte) {
	h.Helper()
	if err := h.v.beginChange(h.Context(), h.k); err != nil {
		h.Fatal(err)
	}
	h.storage.b = b
	if err := h.v.endChange(h.Context(), h.k); err != nil {
		h.Fatal(err)
	}
}

func (h *history) is(v *versions, want, pointed cpar.Digest, what string) {
	h.Helper()
	s, err := v.active(h.Context(), h.k)
	switch {
	case want == (cpar.Digest{}):
		if !errors.Is(err, store.ErrNotFound) {
			h.Errorf("%s: %+v, %v", what, s, err)
		}
	case err != nil:
		h.Errorf("%s: %v", what, err)
	case s.version != want:
		h.Errorf("%s: another state is active", what)
	}
	if p := h.pointers.of[h.k]; p.digest != pointed {
		h.Errorf("%s: the pointer is to %v", what, p.digest)
	}
}

var none cpar.Digest

func TestPointersFollowAcknowledgedGeneration(t *testing.T) {
	h := newHistory(t)
	h.is(h.v, none, none, "nothing is there")
	h.push(h.one)
	other := newVersions(h.pointers, h.storage.ManifestBytes, 1)
	h.is(h.v, h.first, h.first, "pushed")
	h.is(other, h.first, h.first, "at another router")
	asked := h.storage.asked
	h.is(other, h.first, h.first, "once more")
	if h.storage.asked != asked {
		t.Error("the storage is asked although the pointer suffices")
	}
	h.push(h.two)
	h.is(other, h.second, h.second, "an update")

	clear(h.pointers.of)
	h.is(other, h.second, h.second, "the pointer is lost, and the state is known")
	h.is(newVersions(h.pointers, h.storage.ManifestBytes, 1), h.second, h.second, "the pointer is lost")

	h.storage.b = h.one // as if pointer and writer had been lost
	h.pointers.of[h.k] = pointer{digest: cpar.Digest{9}, revision: h.pointers.last}
	h.is(h.v, h.first, h.first, "the pointer is behind")

	h.storage.b = nil
	h.is(newVersions(h.pointers, h.storage.ManifestBytes, 1), none, none, "deleted, and the pointer is left")
	if len(h.pointers.of) != 0 {
		t.Error("a pointer to nothing is kept")
	}
}

func TestKnownGenerationServesWithoutPointers(t *testing.T) {
	h := newHistory(t)
	h.push(h.one)
	h.is(h.v, h.first, h.first, "before")
	gone := errors.New("no leader")
	h.pointers.before = func(string) error { return gone }
	h.storage.err = store.ErrAway
	h.is(h.v, h.first, h.first, "both are away")
	if _, err := newVersions(h.pointers, h.storage.ManifestBytes, 1).active(t.Context(), h.k); !errors.Is(err, store.ErrAway) {
		t.Errorf("a router without known generations: %v", err)
	}
	h.storage.err = nil
	h.is(newVersions(h.pointers, h.storage.ManifestBytes, 1), h.first, h.first, "the pointers are away")
	if err := h.v.beginChange(t.Context(), h.k); !errors.Is(err, store.ErrAway) || !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("something changes while the pointers are away: %v", err)
	}
	h.storage.b = []byte("damaged")
	if _, err := newVersions(h.pointers, h.storage.ManifestBytes, 1).active(t.Context(), h.k); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a damaged manifest: %v", err)
	}
}

func TestInterruptedChangesSettle(t *testing.T) {
	for what, left := range map[string][]byte{"before the storage has it": {}, "after that": nil, "a deletion": nil} {
		h := newHistory(t)
		h.push(h.one)
		h.is(h.v, h.first, h.first, what)
		if err := h.v.beginChange(t.Context(), h.k); err != nil {
			t.Fatal(err)
		}
		want := h.first
		switch {
		case what == "a deletion":
			h.storage.b, want = nil, none
		case left == nil:
			h.storage.b, want = h.two, h.second
		}
		h.is(h.v, h.first, h.first, what+": nothing is acknowledged")
		h.pointers.age(2 * stopped)
		h.storage.err = store.ErrAway
		h.is(h.v, h.first, h.first, what+": while the storage is away")
		h.storage.err = nil
		h.is(h.v, want, want, what+": after a while")
		h.is(newVersions(h.pointers, h.storage.ManifestBytes, 1), want, want, what+": for all")
		if h.pointers.of[h.k].changing {
			t.Errorf("%s: the change never ends", what)
		}
	}
}

func TestLateReadersDoNotResetPointers(t *testing.T) {
	h := newHistory(t)
	h.push(h.one)
	clear(h.pointers.of)
	late := newVersions(h.pointers, h.storage.ManifestBytes, 1)
	once := false
	h.storage.before = func() {
		if !once {
			once = true
			h.push(h.two)
		}
	}
	if _, err := late.active(t.Context(), h.k); err != nil {
		t.Fatal(err)
	}
	h.is(late, h.second, h.second, "after it")
}

func TestConcurrentActivationsAgree(t *testing.T) {
	h := newHistory(t)
	a, b := h.v, newVersions(h.pointers, h.storage.ManifestBytes, 1)
	for _, v := range []*versions{a, b} {
		if err := v.beginChange(t.Context(), h.k); err != nil {
			t.Fatal(err)
		}
	}
	h.storage.b = h.one
	once := false
	h.storage.before = func() {
		if !once {
			once = true
			h.storage.b = h.two
			if err := b.endChange(t.Context(), h.k); err != nil {
				t.Error(err)
			}
		}
	}
	if err := a.endChange(t.Context(), h.k); err != nil {
		t.Fatal(err)
	}
	h.is(a, h.second, h.second, "at the first")
	h.is(b, h.second, h.second, "at the second")
}

// The activation is not acknowledged. After a while all members use the new
// generation.
func TestUnacknowledgedActivationSettles(t *testing.T) {
	f, old, next, k := newFleet(t, 2), scanned(1, 1, 2), scanned(1, 2, 2), store.IndexRef{Index: cpar.IndexID{1}}
	r, c := f.router()
	other, _ := f.router()
	if err := old.push(t, c, k, r.PutManifest); err != nil {
		t.Fatal(err)
	}
	f.check(other, k, old, old.want(t), "before")
	sets := 0
	f.pointers.before = func(what string) error {
		if what == "set" {
			sets++
		}
		if sets > 1 {
			return errors.New("no leader")
		}
		return nil
	}
	if err := next.push(t, c, k, r.PutManifest); !errors.Is(err, store.ErrAway) {
		t.Errorf("pointers fail in the middle: %v", err)
	}
	f.pointers.before = nil
	f.check(other, k, old, old.want(t), "nothing is acknowledged")
	f.pointers.age(2 * stopped)
	f.check(other, k, next, next.want(t), "after a while")
}

func TestDeletionsAreFinal(t *testing.T) {
	f, x, k := newFleet(t, 2), scanned(1, 1, 2), store.IndexRef{Index: cpar.IndexID{1}}
	r, c := f.router()
	other, _ := f.router()
	if err := x.push(t, c, k, r.PutManifest); err != nil {
		t.Fatal(err)
	}
	f.check(other, k, x, x.want(t), "before")
	gone := errors.New("no leader")
	f.pointers.before = func(string) error { return gone }
	if err := r.Delete(t.Context(), k); !errors.Is(err, store.ErrAway) {
		t.Errorf("while pointers are away: %v", err)
	}
	f.pointers.before = nil
	f.check(other, k, x, x.want(t), "after a deletion that did nothing")
	sets := 0
	f.pointers.before = func(what string) error {
		if what == "set" {
			sets++
		}
		if sets > 1 {
			return gone
		}
		return nil
	}
	for range 2 { // the second time the storage is empty
		sets = 0
		if err := r.Delete(t.Context(), k); !errors.Is(err, store.ErrAway) {
			t.Errorf("pointers fail in the middle: %v", err)
		}
	}
	f.pointers.before = nil
	if err := r.Delete(t.Context(), k); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("once more: %v", err)
	}
	for _, r := range []*Routed{r, other} {
		if _, err := r.router.Annotate(t.Context(), k, x.requests); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a deleted index answers: %v", err)
		}
	}
	if err := x.push(t, c, k, r.PutManifest); err != nil {
		t.Fatal(err)
	}
	f.check(other, k, x, x.want(t), "pushed again")
	if err := r.Delete(t.Context(), k); err != nil {
		t.Error(err)
	}
	if _, err := other.router.Annotate(t.Context(), k, x.requests[:1]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a deleted index answers: %v", err)
	}
}
