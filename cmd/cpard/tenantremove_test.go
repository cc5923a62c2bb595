package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"cpar"
	"cpar/cloud/remote"
	"cpar/cloud/store"
	"cpar/internal/durable"
	"cpar/internal/testing/buckettest"
	"cpar/internal/testing/indexsample"
)

func TestTenantDataIsCountedAndDeleted(t *testing.T) {
	b, err := store.OpenFolder(t.TempDir(), durable.OS)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const anna, berta = "00112233445566aa", "00112233445566bb"
	m := indexsample.Manifest(1)
	kinds, segments := indexsample.Segments(m, 1)
	for i, b := range segments {
		m.Segments = append(m.Segments, cpar.Segment{Kind: kinds[i], Bytes: uint64(len(b)), Digest: sha256.Sum256(b)})
	}
	for _, tenant := range []string{anna, berta} {
		for i, s := range m.Segments {
			if err := b.Put(t.Context(), store.IndexRef{Tenant: tenant, Index: m.ID}, s.Digest, int64(s.Bytes), bytes.NewReader(segments[i])); err != nil {
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

// A data folder with a cache of object storage accepts its first tenant. A
// folder of other data does not.
func TestFirstTenantBesideACache(t *testing.T) {
	place := new(buckettest.Memory).Serve(t)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, place.Credential(name))
	}
	data, photos := t.TempDir(), t.TempDir()
	b, err := remote.OpenAddress(place.Address, "", remote.Options{Data: data, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := os.WriteFile(filepath.Join(photos, "beach.jpg"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]error{data: nil, photos: cpar.ErrInput} {
		root := newRoot()
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		root.SetArgs([]string{"tenant", "add", "anna", "--data", folder, "--config", "none"})
		if err := root.Execute(); !errors.Is(err, want) {
			t.Errorf("%s: %v", folder, err)
		}
	}
}
