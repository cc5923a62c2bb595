package main

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"cpar"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/indexdir/sample"
)

// Where indexes lie in object storage, a tenant's are counted and deleted through the backend, and
// no other tenant's.
func TestAllOfATenant(t *testing.T) {
	b, err := store.OpenFolder(t.TempDir(), durable.OS)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const anna, berta = "00112233445566aa", "00112233445566bb"
	m := sample.Manifest(1)
	kinds, segments := sample.Segments(m, 1)
	for i, b := range segments {
		m.Segments = append(m.Segments, cpar.Segment{Kind: kinds[i], Bytes: uint64(len(b)), Digest: sha256.Sum256(b)})
	}
	for _, tenant := range []string{anna, berta} {
		for i, s := range m.Segments {
			if err := b.Put(t.Context(), store.Key{Tenant: tenant, Index: m.ID}, s.Digest, int64(s.Bytes), bytes.NewReader(segments[i])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := deleteAll(t.Context(), b, anna); err != nil {
		t.Error(err)
	}
	for tenant, want := range map[string]int{anna: 0, berta: len(m.Segments)} {
		if n, size, err := countAll(t.Context(), b, tenant); n != want || err != nil || want > 0 && size != int64(m.Bytes()) {
			t.Errorf("%s: %d files, %d bytes, %v; want %d", tenant, n, size, err, want)
		}
	}
}
