package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"cpar"
	"cpar/internal/scene"
	"cpar/photo/dataset"
)

func TestWriteScenes(t *testing.T) {
	const n = 13
	dir := filepath.Join(t.TempDir(), "new", "scenes")
	var told atomic.Int64
	if err := writeScenes(t.Context(), dir, n, func(done int) { told.Add(int64(done)) }); err != nil {
		t.Fatal(err)
	}
	if told.Load() != n*(n+1)/2 {
		t.Errorf("progress of %d in all", told.Load())
	}
	c, err := dataset.Open(t.Context(), dir, dataset.Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Photos) != n {
		t.Fatalf("%d items", len(c.Photos))
	}
	for i, it := range c.Photos {
		jpg, keywords, err := scene.RenderJPEG(sceneSeed, i)
		if err != nil {
			t.Fatal(err)
		}
		onDisk, err := os.ReadFile(it.Path)
		if err != nil || !bytes.Equal(onDisk, jpg) || !slices.Equal(it.Keywords, keywords) {
			t.Errorf("%s: %q on disk, %q rendered, %v", it.Name, it.Keywords, keywords, err)
		}
	}
	if err := writeScenes(t.Context(), c.Photos[0].Path, 1, func(int) {}); !errors.Is(err, cpar.ErrStorage) {
		t.Errorf("into a file: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	elsewhere := t.TempDir()
	if err := writeScenes(stopped, elsewhere, n, func(int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, dataset.ManifestName)); err == nil {
		t.Error("stopped, and the folder has a manifest")
	}
}
