package store_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"cpar/cloud/store"
)

func TestTenantsAreSeparate(t *testing.T) {
	data := t.TempDir()
	s, err := store.Open(data, loader, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := built(t, 7, 1), built(t, 7, 2)
	keys := []store.IndexRef{{Tenant: "00000000000000aa", Index: mine.m.ID}, {Tenant: "00000000000000bb", Index: mine.m.ID}}
	for i, o := range []owner{mine, theirs} {
		for j, seg := range o.m.Segments {
			if err := s.PutSegment(context.Background(), keys[i], seg.Digest, -1, bytes.NewReader(o.segments[j])); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.PutManifest(context.Background(), keys[i], o.bytes); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for i, o := range []owner{mine, theirs} {
			if b, err := s.Manifest(context.Background(), keys[i]); err != nil || !bytes.Equal(b, o.bytes) {
				t.Errorf("tenant %d has another manifest (%v)", i, err)
			}
			if list, err := s.List(context.Background(), keys[i].Tenant); err != nil || len(list) != 1 {
				t.Errorf("tenant %d has %v, %v", i, list, err)
			}
		}
		if list, err := s.List(context.Background(), ""); err != nil || len(list) != 0 {
			t.Errorf("without a tenant there are %v, %v", list, err)
		}
		s.Close()
		if s, err = store.Open(data, loader, store.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	defer s.Close()
	if err := s.Delete(context.Background(), keys[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(context.Background(), keys[0]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a deleted index answers %v", err)
	}
	h, err := s.Get(context.Background(), keys[1])
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
}
