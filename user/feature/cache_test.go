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
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
)

func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	c, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := encodePNG(t, synthetic(50, 70))
	path := filepath.Join(t.TempDir(), "photo.png")
	os.WriteFile(path, data, 0o600)
	want, err := FromBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	computed := 0
	compute := func(d []byte) (*Vectors, error) {
		computed++
		return FromBytes(d)
	}
	get := func(note string, wantComputed int) {
		t.Helper()
		v, err := c.fromBytes(data, compute)
		if err != nil || !reflect.DeepEqual(v, want) {
			t.Fatalf("%s: other vectors, %v", note, err)
		}
		if computed != wantComputed {
			t.Fatalf("%s: computed %d times, want %d", note, computed, wantComputed)
		}
	}
	get("first", 1)
	get("again", 1)
	if v, err := c.FromFile(path); err != nil || !reflect.DeepEqual(v, want) {
		t.Fatal("by file: other vectors", err)
	}
	entry := c.path(sha256.Sum256(data))
	good, err := os.ReadFile(entry)
	if err != nil || len(good) != cacheSize || cacheSize != 19312 {
		t.Fatal(len(good), cacheSize, err)
	}
	for path, mode := range map[string]os.FileMode{entry: 0o600, filepath.Dir(entry): 0o700, dir: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, want %v", path, info.Mode().Perm(), mode)
		}
	}
	// Damage of any kind is noticed and mended.
	for i, bad := range [][]byte{nil, good[:len(good)-1], append(bytes.Clone(good), 0), make([]byte, cacheSize)} {
		os.WriteFile(entry, bad, 0o600)
		get("damaged", i+2)
		get("mended", i+2)
	}
	for i := 0; i < cacheSize; i += 97 {
		bad := bytes.Clone(good)
		bad[i] ^= 4
		if _, err := decodeEntry(bad, sha256.Sum256(data)); !errors.Is(err, cpar.ErrCorrupt) && !errors.Is(err, cpar.ErrVersion) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	if _, err := decodeEntry(good, sha256.Sum256(nil)); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("the entry of another image: %v", err)
	}
	// A bad image is not cached and keeps its error.
	if _, err := c.FromBytes([]byte("nothing")); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
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
	// A cache that cannot be written still answers.
	if v, err := (&Cache{dir: file}).FromBytes(encodePNG(t, synthetic(9, 9))); err != nil || v == nil {
		t.Error(err)
	}
	if err := (&Cache{dir: file}).store([32]byte{}, newVectors()); !errors.Is(err, cpar.ErrStorage) {
		t.Error(err)
	}
	// What a killed process left goes once it is old, and only then.
	odd := filepath.Join(dir, "odd[1]*")
	old, young := filepath.Join(odd, "ab", cacheTemp+"1"), filepath.Join(odd, "ab", cacheTemp+"2")
	os.MkdirAll(filepath.Dir(old), 0o700)
	os.WriteFile(old, []byte("x"), 0o600)
	os.WriteFile(young, []byte("x"), 0o600)
	os.Chtimes(old, time.Time{}, time.Now().Add(-2*staleAfter))
	if _, err := OpenCache(odd); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the old temporary file is still there")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("the young temporary file is gone")
	}
}

func FuzzEntry(f *testing.F) {
	v, err := FromBytes(encodePNG(f, synthetic(20, 20)))
	if err != nil {
		f.Fatal(err)
	}
	good, err := encodeEntry([32]byte{1}, v)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:100])
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decodeEntry(b, [32]byte{1})
		if err != nil {
			return
		}
		back, err := encodeEntry([32]byte{1}, v)
		if err != nil || !bytes.Equal(back, b) {
			t.Fatalf("encoding again gives other bytes: %v", err)
		}
	})
}

func TestAll(t *testing.T) {
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
	for _, opts := range []Options{{}, {Workers: 1}, {Workers: 5, Cache: cache}, {Workers: 3, Cache: cache}} {
		var ticks []int
		opts.Progress = func(done, total int) {
			if total != n {
				t.Errorf("total %d", total)
			}
			ticks = append(ticks, done)
		}
		results, err := All(context.Background(), n, load, opts)
		if err != nil || len(results) != n {
			t.Fatal(len(results), err)
		}
		for i, r := range results {
			switch i {
			case 4:
				if !errors.Is(r.Err, cpar.ErrInput) || r.Vectors != nil {
					t.Errorf("image 4: %v", r.Err)
				}
			case 9:
				if !errors.Is(r.Err, os.ErrNotExist) || r.Vectors != nil {
					t.Errorf("image 9: %v", r.Err)
				}
			default:
				want, _ := FromBytes(images[i])
				if r.Err != nil || !reflect.DeepEqual(r.Vectors, want) {
					t.Errorf("image %d: other vectors, %v", i, r.Err)
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

func TestAllCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	image := encodePNG(t, synthetic(20, 30))
	var loads atomic.Int32
	reason := errors.New("the owner pressed stop")
	results, err := All(ctx, 1000, func(int) ([]byte, error) {
		if loads.Add(1) == 5 {
			cancel(reason)
		}
		return image, nil
	}, Options{Workers: 2})
	if !errors.Is(err, reason) || len(results) != 1000 {
		t.Fatal(len(results), err)
	}
	if got := loads.Load(); got > 7 {
		t.Errorf("%d images loaded after the end", got)
	}
	if results[0].Err != nil || results[0].Vectors == nil || !errors.Is(results[999].Err, reason) {
		t.Error(results[0].Err, results[999].Err)
	}
	if _, err := All(context.Background(), -1, nil, Options{}); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
	if r, err := All(context.Background(), 0, func(int) ([]byte, error) { return nil, nil }, Options{}); err != nil || len(r) != 0 {
		t.Error(r, err)
	}
}

// A hundred goroutines on one cold cache and one image.
func TestCacheShared(t *testing.T) {
	cache, err := OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	image := encodePNG(t, synthetic(20, 30))
	results, err := All(context.Background(), 100, func(int) ([]byte, error) { return image, nil }, Options{Workers: 100, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil || !reflect.DeepEqual(r.Vectors, results[0].Vectors) {
			t.Fatalf("result %d: %v", i, r.Err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(cache.dir, "*", "*"))
	if len(left) != 1 || strings.Contains(left[0], cacheTemp) {
		t.Errorf("left behind: %v", left)
	}
}

// TestOpenCacheRemovesItsOwnOnly: a folder that holds other things loses none.
func TestOpenCacheRemovesItsOwnOnly(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * staleAfter)
	kept := []string{"project/tmp-results.csv", "tmp-notes", "ab/notes"}
	ours := filepath.Join(dir, "ab", cacheTemp+"123")
	for _, name := range append(kept, "ab/"+cacheTemp+"123") {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenCache(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range kept {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
	if _, err := os.Stat(ours); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a stale file of ours is still there: %v", err)
	}
}
