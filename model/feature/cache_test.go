package feature

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"cpar"
	"cpar/user/localstore"
)

func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	c, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	key, want := sha256.Sum256([]byte("a photo")), extract(t, synthetic(50, 70))
	computed := 0
	get := func(note string, wantComputed int) {
		t.Helper()
		v, err := c.vectors(key, func() (*Vectors, error) { computed++; return want, nil })
		if err != nil || !reflect.DeepEqual(v, want) {
			t.Fatalf("%s: other vectors, %v", note, err)
		}
		if computed != wantComputed {
			t.Fatalf("%s: computed %d times, want %d", note, computed, wantComputed)
		}
	}
	get("first", 1)
	get("again", 1)
	e := c.store.(dirStore).entry(vectorsKind, key[:])
	good, err := os.ReadFile(e.path)
	if err != nil || len(good) != len(cacheMagic)+4+len(vectorsKind)+4+32+vectorsSize+4 {
		t.Fatal(len(good), err)
	}
	for path, mode := range map[string]os.FileMode{e.path: 0o600, filepath.Dir(e.path): 0o700, dir: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, want %v", path, info.Mode().Perm(), mode)
		}
	}
	for i, bad := range [][]byte{nil, good[:len(good)-1], append(bytes.Clone(good), 0), make([]byte, len(good)), e.encode(good[:99])} {
		os.WriteFile(e.path, bad, 0o600)
		get("damaged", i+2)
		get("mended", i+2)
	}
	for i := range good {
		good[i] ^= 4
		if _, ok := e.decode(good); ok {
			t.Fatalf("byte %d changed, and nobody noticed", i)
		}
		good[i] ^= 4
	}
	other := sha256.Sum256(nil)
	if _, ok := c.store.(dirStore).entry(vectorsKind, other[:]).decode(good); ok {
		t.Error("the entry of one image is taken for another's")
	}
	for range 2 {
		if _, err := NewExtractor().Photo([]byte("nothing"), Options{Cache: c}); !errors.Is(err, cpar.ErrInput) {
			t.Error(err)
		}
	}
}

func TestCacheStorage(t *testing.T) {
	if _, err := OpenCache(""); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	os.WriteFile(file, nil, 0o600)
	if _, err := OpenCache(file); !errors.Is(err, cpar.ErrStorage) {
		t.Error(err)
	}
	if v, err := NewExtractor().Photo(encodePNG(t, synthetic(9, 9)), Options{Cache: NewCache(dirStore{file})}); err != nil || v == nil {
		t.Error(err)
	}
}

func FuzzEntry(f *testing.F) {
	var store dirStore
	vectors, embedding := store.entry(vectorsKind, make([]byte, 32)), store.entry(embeddingKind, make([]byte, 64))
	body := encodeVectors(extract(f, synthetic(20, 20)))
	f.Add(body)
	f.Add(vectors.encode(body))
	f.Add(embedding.encode(appendFloats(nil, []float32{1, -2, 0.5})))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, e := range []entry{vectors, embedding} {
			if body, ok := e.decode(b); ok && !bytes.Equal(e.encode(body), b) {
				t.Fatal("another file from the same body")
			}
			if body, ok := e.decode(e.encode(b)); !ok || !bytes.Equal(body, b) {
				t.Fatal("another body from the same file")
			}
		}
		if v, ok := decodeVectors(b); ok && !bytes.Equal(encodeVectors(v), b) {
			t.Fatal("other vectors")
		}
	})
}

func TestExtractAll(t *testing.T) {
	const n = 23
	images := make([][]byte, n)
	for i := range images {
		images[i] = encodePNG(t, synthetic(20+i, 30))
	}
	images[4] = []byte("not an image")
	load := func(i int) ([]byte, error) {
		if i == 9 {
			return nil, fmt.Errorf("file nine: %w", os.ErrNotExist)
		}
		return images[i], nil
	}
	cache, err := OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range []Options{{}, {Cache: cache}, {Cache: cache}} {
		var ticks []int
		opts.Progress = func(done, total int) {
			if total != n {
				t.Errorf("total %d", total)
			}
			ticks = append(ticks, done)
		}
		results, errs, err := ExtractAll(context.Background(), n, load, opts)
		if err != nil || len(results) != n {
			t.Fatal(len(results), err)
		}
		for i, r := range results {
			switch i {
			case 4:
				if !errors.Is(errs[i], cpar.ErrInput) || r.Vectors != nil {
					t.Errorf("image 4: %v", errs[i])
				}
			case 9:
				if !errors.Is(errs[i], os.ErrNotExist) || r.Vectors != nil {
					t.Errorf("image 9: %v", errs[i])
				}
			default:
				if want := extract(t, synthetic(20+i, 30)); errs[i] != nil || !reflect.DeepEqual(r.Vectors, want) {
					t.Errorf("image %d: other vectors, %v", i, errs[i])
				}
			}
		}
		for i, done := range ticks {
			if done != i+1 {
				t.Fatalf("progress %v", ticks)
			}
		}
		if len(ticks) != n {
			t.Errorf("%d calls of progress", len(ticks))
		}
	}
}

func TestExtractAllStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	image := encodePNG(t, synthetic(20, 30))
	var loads atomic.Int32
	reason := errors.New("the owner pressed stop")
	results, errs, err := ExtractAll(ctx, 1000, func(int) ([]byte, error) {
		if loads.Add(1) == 5 {
			cancel(reason)
		}
		return image, nil
	}, Options{})
	if !errors.Is(err, reason) || len(results) != 1000 {
		t.Fatal(len(results), err)
	}
	if got := int(loads.Load()); got >= 5+runtime.GOMAXPROCS(0) {
		t.Errorf("%d images loaded after the end", got)
	}
	if errs[0] != nil || results[0].Vectors == nil || !errors.Is(errs[999], reason) {
		t.Error(errs[0], errs[999])
	}
	if r, _, err := ExtractAll(context.Background(), 0, func(int) ([]byte, error) { return nil, nil }, Options{}); err != nil || len(r) != 0 {
		t.Error(r, err)
	}
}

func TestCacheShared(t *testing.T) {
	cache, err := OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := extract(t, synthetic(20, 30))
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			v, err := cache.vectors([32]byte{7}, func() (*Vectors, error) { return want, nil })
			if err != nil || !reflect.DeepEqual(v, want) {
				t.Errorf("other vectors, %v", err)
			}
		})
	}
	group.Wait()
	left, _ := filepath.Glob(filepath.Join(cache.store.(dirStore).dir, "*", "*"))
	if len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// A cache in a localstore.Store serves only the same key and survives renaming.
func TestCacheInStoreSurvivesRename(t *testing.T) {
	dir := t.TempDir()
	open := func(secret byte) *Cache {
		t.Helper()
		v, err := localstore.Open(dir, [32]byte{secret}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return NewCache(v)
	}
	want, computed := extract(t, synthetic(50, 70)), 0
	get := func(note string, c *Cache, wantComputed int) {
		t.Helper()
		v, err := c.vectors([32]byte{1}, func() (*Vectors, error) { computed++; return want, nil })
		if err != nil || !reflect.DeepEqual(v, want) || computed != wantComputed {
			t.Errorf("%s: computed %d times, want %d; %v", note, computed, wantComputed, err)
		}
	}
	get("read only", open(1).ReadOnly(), 1)
	get("which keeps nothing", open(1), 2)
	get("again", open(1), 2)
	get("read only, and there", open(1).ReadOnly(), 2)
	get("another key", open(2), 3)
	get("none", (*Cache)(nil).ReadOnly(), 4)
}
