package remote_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/blob"
	"cpar/cloud/store"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/testing/buckettest"
)

func names(m *buckettest.Memory, x index) (out []string) {
	for _, name := range m.Names() {
		if rest, ok := strings.CutPrefix(name, "some/where/_/"+x.key.Index.String()+"/"); ok {
			out = append(out, rest)
		}
	}
	return out
}

func versionsOf(m *buckettest.Memory, x index) (out []string) {
	for _, name := range names(m, x) {
		if strings.HasPrefix(name, "v/") {
			out = append(out, name)
		}
	}
	return out
}

func TestNamesOfObjects(t *testing.T) {
	m := &buckettest.Memory{}
	s := openRemote(t, m.Serve(t), t.TempDir(), 0)
	defer s.Close()
	x, of := newIndex("", 1, 1), newIndex("0123456789abcdef", 1, 1)
	x.push(t, s)
	of.push(t, s)
	want := []string{"v/00000000000000000001"}
	for _, seg := range x.m.Segments {
		want = append(want, "seg/"+seg.Digest.String())
	}
	slices.Sort(want)
	if got := names(m, x); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !slices.Contains(m.Names(), "some/where/0123456789abcdef/"+x.key.Index.String()+"/v/00000000000000000001") {
		t.Errorf("%q", m.Names())
	}
	for _, name := range []string{"x", "_/x", "_/" + x.key.Index.String() + "/x", "_/" + x.key.Index.String() + "/v/1", "_/" + x.key.Index.String() + "/seg/x", "photos/1"} {
		m.Change("some/where/"+name, []byte("mine"))
	}
	if got := active(t, s, x.key, x); got != 0 {
		t.Error(got)
	}
	now := time.Now()
	m.Age(48 * time.Hour)
	if c, err := store.Collect(t.Context(), s, store.Before{Unnamed: now, Broken: now}, false, nil); err != nil || c != (store.Collection{}) {
		t.Errorf("%+v, %v", c, err)
	}
	if !slices.Contains(m.Names(), "some/where/_/x") {
		t.Error("it is gone")
	}
}

func TestOldVersionsAndTombstonesAreRemoved(t *testing.T) {
	m := &buckettest.Memory{}
	s := openRemote(t, m.Serve(t), t.TempDir(), 0)
	defer s.Close()
	first, second := newIndex("", 1, 1), newIndex("", 1, 2)
	for range 2 {
		first.push(t, s)
		second.push(t, s)
	}
	sweep := func(dry bool) store.Swept {
		t.Helper()
		out, err := s.Sweep(t.Context(), time.Now(), dry)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := sweep(false); got.Files != 0 || len(versionsOf(m, first)) != 4 {
		t.Errorf("young ones: %+v, %q", got, versionsOf(m, first))
	}
	m.Age(2 * time.Hour)
	if got := sweep(true); got.Files != 3 || got.Bytes == 0 || len(versionsOf(m, first)) != 4 {
		t.Errorf("dry: %+v, %q", got, versionsOf(m, first))
	}
	if got := sweep(false); got.Files != 3 || !slices.Equal(versionsOf(m, first), []string{"v/00000000000000000004"}) {
		t.Errorf("%+v, %q", got, versionsOf(m, first))
	}
	if got := active(t, s, first.key, first, second); got != 1 {
		t.Errorf("%d is active", got)
	}
	if err := s.Delete(t.Context(), first.key); err != nil {
		t.Fatal(err)
	}
	if got := names(m, first); !slices.Equal(got, []string{"v/00000000000000000005"}) || len(m.Bytes("some/where/_/"+first.key.Index.String()+"/"+got[0])) > 0 {
		t.Errorf("after the deletion: %q", got)
	}
	if got := sweep(false); got.Files != 0 {
		t.Errorf("a young tombstone: %+v", got)
	}
	m.Age(2 * time.Hour)
	if got := sweep(false); got.Files != 1 || len(names(m, first)) > 0 {
		t.Errorf("%+v, %q", got, names(m, first))
	}
	first.push(t, s)
	s.Delete(t.Context(), first.key)
	if err := second.put(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	m.Age(2 * time.Hour)
	if got := sweep(false); got.Files != 0 {
		t.Errorf("%+v, %q", got, names(m, first))
	}
}

func TestRecentTombstoneStays(t *testing.T) {
	m := &buckettest.Memory{}
	s := openRemote(t, m.Serve(t), t.TempDir(), 0)
	defer s.Close()
	x := newIndex("", 1, 1)
	x.push(t, s)
	for range 2 {
		if err := s.Delete(t.Context(), x.key); err != nil {
			t.Fatal(err)
		}
		if got := names(m, x); !slices.Equal(got, []string{"v/00000000000000000002"}) {
			t.Errorf("%q", got)
		}
		if err := x.put(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func TestActivationDuringDeletionKeepsSegments(t *testing.T) {
	m := &buckettest.Memory{}
	place := m.Serve(t)
	s, other := openRemote(t, place, t.TempDir(), 0), openRemote(t, place, t.TempDir(), 0)
	defer s.Close()
	defer other.Close()
	x := newIndex("", 1, 1)
	x.push(t, s)
	var step atomic.Int32
	m.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/v/00000000000000000002"):
			step.CompareAndSwap(0, 1)
		case step.CompareAndSwap(1, 2):
			if err := other.Activate(t.Context(), x.key, x.m); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	if err := s.Delete(t.Context(), x.key); err != nil {
		t.Fatal(err)
	}
	if step.Load() != 2 {
		t.Fatal("nothing was activated meanwhile")
	}
	if x, err := other.Segments(t.Context(), x.key); err != nil || len(x) == 0 {
		t.Errorf("%d segments are left, %v", len(x), err)
	}
	if got := active(t, s, x.key, x); got != 0 {
		t.Errorf("%d is active", got)
	}
}

// The deletion has either happened or not, and its remains are removed.
func TestDeletionCutAtEveryRequest(t *testing.T) {
	m := &buckettest.Memory{}
	s := openRemote(t, m.Serve(t), t.TempDir(), 0)
	defer s.Close()
	x := newIndex("", 1, 1)
	for cut := 0; ; cut++ {
		x.push(t, s)
		requests := 0
		m.Before = func(w http.ResponseWriter, _ *http.Request) bool {
			if requests++; requests > cut {
				http.Error(w, "", http.StatusForbidden)
				return true
			}
			return false
		}
		err := s.Delete(t.Context(), x.key)
		m.Before = nil
		got := active(t, s, x.key, x)
		if err == nil != (got == -1) {
			t.Errorf("cut after %d requests: %v, and %d is active", cut, err, got)
		}
		if requests <= cut {
			break
		}
		if err != nil {
			continue
		}
		now := time.Now()
		m.Age(48 * time.Hour)
		for range 2 {
			if _, err := store.Collect(t.Context(), s, store.Before{Unnamed: now, Broken: now}, false, nil); err != nil {
				t.Fatal(err)
			}
		}
		if left := names(m, x); len(left) > 0 {
			t.Errorf("cut after %d requests: %q are left", cut, left)
		}
	}
}

func TestActivationIsUndone(t *testing.T) {
	for _, before := range []bool{false, true} {
		m := &buckettest.Memory{}
		s := openRemote(t, m.Serve(t), t.TempDir(), 0)
		defer s.Close()
		old, next := newIndex("", 1, 1), newIndex("", 1, 2)
		if before {
			old.push(t, s)
		}
		if err := next.put(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		m.Before = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/v/") {
				m.Change("some/where/_/"+next.key.Index.String()+"/seg/"+next.m.Segments[0].Digest.String(), nil)
			}
			return false
		}
		if err := s.Activate(t.Context(), next.key, next.m); !errors.Is(err, indexdir.ErrMissing) {
			t.Errorf("%v", err)
		}
		m.Before = nil
		if got := active(t, s, old.key, old); got != map[bool]int{false: -1, true: 0}[before] {
			t.Errorf("with one before %v: %d is active", before, got)
		}
		next.push(t, s)
		if got := active(t, s, old.key, old, next); got != 1 {
			t.Errorf("pushed again: %d", got)
		}
	}
}

func TestStorageWithoutConditionsIsRefused(t *testing.T) {
	m := &buckettest.Memory{}
	s := openRemote(t, m.Serve(t), t.TempDir(), 0)
	defer s.Close()
	m.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("If-None-Match")
		return false
	}
	x := newIndex("", 1, 1)
	if err := x.put(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	err := s.Activate(t.Context(), x.key, x.m)
	if !errors.Is(err, blob.ErrRefused) || !errors.Is(err, cpar.ErrStorage) || !strings.Contains(hint.Of(err), "conditional") {
		t.Error(err)
	}
	if v := versionsOf(m, x); len(v) > 0 {
		t.Errorf("%q", v)
	}
}

// Each activation is one version, and the last is active.
func TestSeveralProcesses(t *testing.T) {
	m := &buckettest.Memory{}
	place := m.Serve(t)
	a, b := openRemote(t, place, t.TempDir(), 0), openRemote(t, place, t.TempDir(), 0)
	defer a.Close()
	defer b.Close()
	first, second := newIndex("", 1, 1), newIndex("", 1, 2)
	if err := errors.Join(first.put(t.Context(), a), second.put(t.Context(), b)); err != nil {
		t.Fatal(err)
	}
	once := false
	m.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, fmt.Sprintf("/v/%020d", 1)) && !once {
			once = true
			if err := b.Activate(t.Context(), second.key, second.m); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	if err := a.Activate(t.Context(), first.key, first.m); err != nil {
		t.Fatal(err)
	}
	if v := versionsOf(m, first); !slices.Equal(v, []string{"v/00000000000000000001", "v/00000000000000000002"}) {
		t.Errorf("%q", v)
	}
	for i, s := range []store.Backend{a, b} {
		if got := active(t, s, first.key, first, second); got != 0 {
			t.Errorf("process %d: %d is active", i, got)
		}
	}
}
