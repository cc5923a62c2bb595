package album

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/user/album/blobs"
)

// A gated store calls a function before it reads from a pack.
type gated struct {
	blobs.Store
	before func(ctx context.Context) error
}

func (g gated) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if strings.HasPrefix(name, "p") {
		if err := g.before(ctx); err != nil {
			return nil, err
		}
	}
	return g.Store.Get(ctx, name, offset, length)
}

// Get reads several files at once: no read returns before all readers wait.
func TestGetReadsAhead(t *testing.T) {
	w := newWorld(t)
	dir, to := w.photos("photos", readers, 1), t.TempDir()
	w.add(w.open("one"), dir)
	var waiting atomic.Int32
	all := make(chan struct{})
	a := w.over("one", gated{w.store, func(ctx context.Context) error {
		if waiting.Add(1) == readers {
			close(all)
		}
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a failing Get
	defer cancel()
	got, err := a.Get(ctx, a.Find(parse(t, ""), false), to, nil)
	must(t, err)
	if want := tree(t, dir); got.Files != len(want) || !maps.Equal(want, tree(t, filepath.Join(to, "photos"))) {
		t.Errorf("got %+v", got)
	}
}

// An interrupted Get leaves whole files alone, and continues.
func TestInterruptedGetContinues(t *testing.T) {
	w := newWorld(t)
	dir, to := w.photos("photos", 20, 2), t.TempDir()
	w.add(w.open("one"), dir)
	ctx, cancel := context.WithCancel(t.Context())
	var reads atomic.Int32
	a := w.over("one", gated{w.store, func(ctx context.Context) error {
		if reads.Add(1) > 10 {
			cancel()
			<-ctx.Done()
		}
		return ctx.Err()
	}})
	photos := a.Find(parse(t, ""), false)
	first, err := a.Get(ctx, photos, to, nil)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("it was interrupted, and says %v", err)
	}
	want, got := tree(t, dir), tree(t, filepath.Join(to, "photos"))
	for name, b := range got {
		if want[name] != b {
			t.Errorf("%s is left behind", name)
		}
	}
	if len(got) != first.Files || len(got) == 0 || len(got) == len(want) {
		t.Errorf("%d files were written, it says %d", len(got), first.Files)
	}
	a = w.open("one")
	second, err := a.Get(t.Context(), photos, to, nil)
	must(t, err)
	if second.There != first.Files || !maps.Equal(want, tree(t, filepath.Join(to, "photos"))) {
		t.Errorf("the second time it got %+v", second)
	}
}

// A sidecar that two photos share is written once.
func TestGetWritesSharedSidecarOnce(t *testing.T) {
	w := newWorld(t)
	dir, to := w.photos("photos", 2, 3), t.TempDir()
	file := filepath.Join(dir, "2021", "IMG_0001")
	b, err := os.ReadFile(file + ".jpg")
	must(t, err)
	must(t, os.WriteFile(file+".jpeg", b, 0o600))
	must(t, os.WriteFile(file+".xmp", sidecar("dog"), 0o600))
	a := w.open("one")
	w.add(a, dir)
	got, err := a.Get(t.Context(), a.Find(parse(t, ""), false), to, nil)
	must(t, err)
	if want := tree(t, dir); got.Files != len(want) || got.Photos != 3 || !maps.Equal(want, tree(t, filepath.Join(to, "photos"))) {
		t.Errorf("got %+v of %d files", got, len(want))
	}
}

// Photos that were added at different times may share a sidecar in two versions.
// Get writes the newer version, and finds it the next time.
func TestGetWritesNewerSharedSidecar(t *testing.T) {
	w := newWorld(t)
	dir, to := w.photos("photos", 2, 3), t.TempDir()
	file := filepath.Join(dir, "2021", "IMG_0001")
	b, err := os.ReadFile(file + ".jpg")
	must(t, err)
	must(t, os.WriteFile(file+".jpeg", b, 0o600))
	must(t, os.WriteFile(file+".xmp", sidecar("dog"), 0o600))
	a := w.open("one")
	w.add(a, dir)
	must(t, os.WriteFile(file+".xmp", sidecar("dog", "newer"), 0o600))
	later := time.Now().Add(time.Hour)
	must(t, os.Chtimes(file+".xmp", later, later))
	_, err = a.Add(t.Context(), []string{file + ".jpeg"}, AddOptions{Into: "photos/2021"})
	must(t, err)
	for _, there := range []int{0, len(tree(t, dir))} {
		got, err := a.Get(t.Context(), a.Find(parse(t, ""), false), to, nil)
		must(t, err)
		if got.There != there || !maps.Equal(tree(t, dir), tree(t, filepath.Join(to, "photos"))) {
			t.Errorf("got %+v", got)
		}
	}
}

// Fetched photos are private, and are removed after use or, after a kill, when the
// album is opened. No other process removes them earlier.
func TestFetchedPhotosAreRemoved(t *testing.T) {
	w := newWorld(t)
	a, dir := w.open("one"), w.photos("photos", 3, 1)
	w.add(a, dir)
	folder, remove, err := a.Fetch(t.Context(), a.Find(parse(t, ""), false))
	must(t, err)
	w.open("one")
	if info, err := os.Stat(folder); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 || !maps.Equal(tree(t, dir), tree(t, filepath.Join(folder, "photos"))) {
		t.Errorf("fetched into %s: %v", folder, err)
	}
	if rel, err := filepath.Rel(filepath.Join(w.root, "device one"), folder); err != nil || !filepath.IsLocal(rel) {
		t.Errorf("they are in %s", folder)
	}
	if _, _, err := a.Fetch(t.Context(), nil); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("a second time: %v", err)
	}
	remove()
	if _, err := os.Stat(folder); err == nil {
		t.Error("they stay after they have been read")
	}
	must(t, os.Mkdir(folder, 0o700)) // as a killed process leaves it
	must(t, os.WriteFile(filepath.Join(folder, "a.jpg"), []byte("a"), 0o600))
	w.open("one")
	if _, err := os.Stat(folder); err == nil {
		t.Error("they stay after a kill")
	}
}
