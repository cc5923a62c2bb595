package store_test

import (
	"testing"
	"testing/synctest"
	"time"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/indexdir"
)

func (o owner) get(t *testing.T, s *testStore) {
	t.Helper()
	if !o.has(t, s) {
		t.Fatal("not there")
	}
}

func TestLoadedIndexesAreBounded(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{MaxLoaded: 2})
	var all []owner
	for i := range uint64(4) {
		o := built(t, i, i)
		if err := o.push(s); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	all[2].get(t, s)
	loads := s.Stats().Loads
	all[0].get(t, s)
	all[2].get(t, s)
	if st := s.Stats(); st.Loaded != 2 || st.Loads != loads+1 || st.Mapped != 2*int64(all[0].m.Bytes()) {
		t.Errorf("%+v", st)
	}
	h, err := s.Get(t.Context(), all[0].key())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all[1:] {
		o.get(t, s)
	}
	if h.Segments()[0][0] != all[0].segments[0][0] || s.Stats().Loaded != 2 {
		t.Errorf("%+v", s.Stats())
	}
	h.Release()
}

// A larger index is mapped.
func TestCopiesAreBounded(t *testing.T) {
	a, b := ofScheme(t, cpar.SchemeCPAR), ofScheme(t, cpar.SchemeIVF)
	rows := func(o owner) int64 { return int64(indexdir.RowBytes(o.m)) }
	s := open(t, t.TempDir(), store.Options{Memory: indexdir.MemoryHuge, MaxCopied: max(rows(a), rows(b))})
	if err := a.push(s); err != nil {
		t.Fatal(err)
	}
	if s.Stats().Copied == 0 {
		t.Skip("nothing is copied on this machine")
	}
	if err := b.push(s); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Loaded != 1 || st.Copied != rows(b) || st.Mapped != int64(b.m.Bytes())-rows(b) {
		t.Errorf("%+v", st)
	}
	s = open(t, t.TempDir(), store.Options{Memory: indexdir.MemoryHuge, MaxCopied: rows(a) - 1})
	if err := a.push(s); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Loaded != 1 || st.Copied != 0 || !a.has(t, s) {
		t.Errorf("%+v", st)
	}
}

func TestIdleIndexIsUnloaded(t *testing.T) {
	a, b := built(t, 1, 1), built(t, 2, 2)
	data := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, data, store.Options{Idle: time.Hour, ScrubRate: -1})
		defer s.Close()
		for _, o := range []owner{a, b} {
			if err := o.push(s); err != nil {
				t.Fatal(err)
			}
		}
		stop := s.Maintain(t.Context())
		defer stop()
		for range 7 {
			time.Sleep(10 * time.Minute)
			a.get(t, s)
		}
		time.Sleep(10 * time.Minute)
		if st := s.Stats(); st.Loaded != 1 || st.Loads != 2 || st.Unloaded != 1 {
			t.Errorf("%+v", st)
		}
		time.Sleep(2 * time.Hour)
		if st := s.Stats(); st.Loaded != 0 {
			t.Errorf("%+v", st)
		}
		b.get(t, s)
	})
}
