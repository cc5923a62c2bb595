package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cpar"
	"cpar/cloud/blob"
	"cpar/internal/testing/buckettest"
)

func TestBuckets(t *testing.T) {
	for name, serve := range map[string]func(t *testing.T) buckettest.Endpoint{
		"s3 in memory":     func(t *testing.T) buckettest.Endpoint { return (&buckettest.Memory{Page: 3}).Serve(t) },
		"google in memory": func(t *testing.T) buckettest.Endpoint { return (&buckettest.Memory{Page: 3, Google: true}).Serve(t) },
		"versitygw":        func(t *testing.T) buckettest.Endpoint { return buckettest.Versity(t).Endpoint },
		"azurite": func(t *testing.T) buckettest.Endpoint {
			p := buckettest.Azurite(t).Endpoint
			makeContainer(t, p)
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t)
			t.Run("whole objects", func(t *testing.T) { wholeObjects(t, open(t, p)) })
			t.Run("ranges", func(t *testing.T) { ranges(t, open(t, p)) })
			t.Run("conditional", func(t *testing.T) { conditional(t, open(t, p)) })
			t.Run("listing", func(t *testing.T) { listing(t, open(t, p)) })
			t.Run("refusals", func(t *testing.T) { refusals(t, p) })
		})
	}
}

func open(t *testing.T, p buckettest.Endpoint) *blob.Bucket {
	t.Helper()
	b, err := blob.Open(p.Address, blob.Options{Credential: p.Credential})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7) + byte(i>>9) + seed
	}
	return b
}

func put(ctx context.Context, b *blob.Bucket, name string, data []byte) error {
	return b.Put(ctx, name, bytes.NewReader(data), int64(len(data)), sha256.Sum256(data))
}

func wholeObjects(t *testing.T, b *blob.Bucket) {
	for _, size := range []int{0, 1, 70_000, 9 << 20} {
		name, data := fmt.Sprintf("whole/%d", size), pattern(size, 1)
		if _, _, err := b.Get(t.Context(), name); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("%s before: %v", name, err)
		}
		for range 2 {
			if err := put(t.Context(), b, name, data); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := b.Read(t.Context(), name, int64(size)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if _, err := b.Read(t.Context(), name, int64(size)-1); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s, longer than allowed: %v", name, err)
		}
		for range 2 {
			if err := b.Delete(t.Context(), name); err != nil {
				t.Error(err)
			}
		}
		if _, err := b.Read(t.Context(), name, 0); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("%s after: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := put(ctx, b, "whole/never", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("broken off: %v", err)
	}
}

func ranges(t *testing.T, b *blob.Bucket) {
	data := pattern(100_000, 2)
	if err := put(t.Context(), b, "ranges", data); err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{0, 1, 12_345, 50_000, 99_999} {
		r, size, err := b.GetFrom(t.Context(), "ranges", from)
		if err != nil {
			t.Fatal(from, err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || size != int64(len(data)) || !bytes.Equal(got, data[from:]) {
			t.Errorf("from %d: %d bytes of %d, %v", from, len(got), size, err)
		}
	}
	for _, x := range [][2]int64{{0, 1}, {5, 20_000}, {99_999, 1}, {99_990, 100}, {7, 0}} {
		r, _, err := b.GetRange(t.Context(), "ranges", x[0], x[1])
		if err != nil {
			t.Fatal(x, err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if want := data[x[0]:min(x[0]+x[1], int64(len(data)))]; err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: %d bytes, want %d, %v", x, len(got), len(want), err)
		}
	}
	for range 20 {
		r, _, err := b.Get(t.Context(), "ranges")
		if err != nil {
			t.Fatal(err)
		}
		io.CopyN(io.Discard, r, 10)
		r.Close()
		if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("read after Close: %d, %v", n, err)
		}
	}
}

func conditional(t *testing.T, b *blob.Bucket) {
	for _, first := range [][]byte{[]byte("first"), {}} {
		name := fmt.Sprintf("v/%d", len(first))
		if err := b.PutIfAbsent(t.Context(), name, first); err != nil {
			t.Fatal(err)
		}
		if err := b.PutIfAbsent(t.Context(), name, first); err != nil {
			t.Errorf("the same bytes: %v", err)
		}
		for _, other := range []string{"other", "another", "firs"} {
			if err := b.PutIfAbsent(t.Context(), name, []byte(other)); !errors.Is(err, blob.ErrExists) {
				t.Errorf("other bytes: %v", err)
			}
		}
		if got, err := b.Read(t.Context(), name, 100); err != nil || !bytes.Equal(got, first) {
			t.Errorf("%q, %v", got, err)
		}
	}
	for round := range 10 {
		var won atomic.Int64
		var winner atomic.Value
		var group sync.WaitGroup
		name := fmt.Sprintf("v/race-%d", round)
		for i := range 8 {
			group.Go(func() {
				text := fmt.Sprint("writer ", i)
				switch err := b.PutIfAbsent(t.Context(), name, []byte(text)); {
				case err == nil:
					won.Add(1)
					winner.Store(text)
				case !errors.Is(err, blob.ErrExists):
					t.Error(err)
				}
			})
		}
		group.Wait()
		if got, err := b.Read(t.Context(), name, 100); won.Load() != 1 || err != nil || string(got) != winner.Load() {
			t.Errorf("%d writers won, %v says it did, %q is there, %v", won.Load(), winner.Load(), got, err)
		}
	}
}

func listing(t *testing.T, b *blob.Bucket) {
	var want []string
	for _, name := range []string{"l/a/1", "l/a/2", "l/a/3", "l/b/1", "l/b/x/1", "l/c", "l/d/00000000000000000009", "l/d/00000000000000000010"} {
		if err := put(t.Context(), b, name, []byte(name)); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	if err := put(t.Context(), b, "l2", nil); err != nil {
		t.Fatal(err)
	}
	names := func(prefix string) (out []string) {
		for o, err := range b.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			if o.Bytes != int64(len(o.Name)) || o.Modified.IsZero() {
				t.Errorf("%+v", o)
			}
			out = append(out, o.Name)
		}
		return out
	}
	folders := func(prefix string) (out []string) {
		for name, err := range b.Folders(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, name)
		}
		return out
	}
	if got := names("l/"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := names("l/a/"); !slices.Equal(got, want[:3]) {
		t.Errorf("%q", got)
	}
	if got := names("nowhere/"); got != nil {
		t.Errorf("%q", got)
	}
	if got := folders("l/"); !slices.Equal(got, []string{"a", "b", "d"}) {
		t.Errorf("%q", got)
	}
	if got := folders("l/b/"); !slices.Equal(got, []string{"x"}) {
		t.Errorf("%q", got)
	}
	for range b.List(t.Context(), "l/") {
		break
	}
}

func refusals(t *testing.T, p buckettest.Endpoint) {
	for what, place := range map[string]buckettest.Endpoint{
		"another bucket": {Address: strings.Replace(p.Address, "//photos/", "//other/", 1), Credential: p.Credential},
		"another key": {Address: p.Address, Credential: func(name string) string {
			if v := p.Credential(name); name == "AWS_SECRET_ACCESS_KEY" || name == "GS_SECRET_ACCESS_KEY" {
				return v + "x"
			} else if name == "AZURE_STORAGE_KEY" && v != "" {
				return "AAAA"
			} else {
				return v
			}
		}},
	} {
		if what == "another key" && strings.Contains(t.Name(), "memory") {
			continue // it checks only the form of a signature
		}
		b := open(t, place)
		for doing, err := range map[string]error{
			"put":    put(t.Context(), b, "refused", []byte("x")),
			"commit": b.PutIfAbsent(t.Context(), "refused", []byte("x")),
			"read":   func() error { _, err := b.Read(t.Context(), "refused", 9); return err }(),
			"list": func() error {
				for _, err := range b.List(t.Context(), "") {
					return err
				}
				return nil
			}(),
		} {
			if !errors.Is(err, blob.ErrRefused) || !errors.Is(err, cpar.ErrStorage) || strings.Contains(err.Error(), "Signature=") {
				t.Errorf("%s, %s: %v", what, doing, err)
			}
		}
	}
}
