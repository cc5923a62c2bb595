package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/scene"
	"cpar/photo/dataset"
)

const (
	// sceneSeed is arbitrary but fixed, so that every run shows the same
	// images.
	sceneSeed = 1
	// sceneCount is the number of painted images in the index.
	sceneCount = 360
)

// paint makes a collection of painted images.
func (s *session) paint(ctx context.Context) (train, test []dataset.Photo, err error) {
	count := min(sceneCount, s.Photos)
	n := count + shown
	s.result.Collection = "painted scenes"
	folder := s.path("pictures")
	err = s.step(func() string {
		return fmt.Sprintf("paint %d photos", n)
	}, func() error {
		return writeScenes(ctx, folder, n, func(done int) { s.Progress.Report("paint", done, n) })
	})
	if err != nil {
		return nil, nil, err
	}
	c, err := dataset.Open(ctx, folder, dataset.Options{Strict: true})
	if err != nil {
		return nil, nil, err
	}
	return c.Photos[:count], c.Photos[count:], nil
}

// writeScenes writes images 0 to n-1 as dir/images/0000.jpg and so on, and then
// manifest.csv, whose presence marks a complete folder. Several goroutines call
// progress.
func writeScenes(ctx context.Context, dir string, n int, progress func(done int)) error {
	if err := os.MkdirAll(filepath.Join(dir, "images"), 0o755); err != nil {
		return fmt.Errorf("writing scenes: %w: %w", cpar.ErrStorage, err)
	}
	items := make([]dataset.Photo, n)
	var done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range items {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			jpg, keywords, err := scene.RenderJPEG(sceneSeed, i)
			if err != nil {
				return err
			}
			items[i] = dataset.Photo{Name: fmt.Sprintf("images/%04d.jpg", i), Keywords: keywords}
			if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(items[i].Name)), jpg, 0o644); err != nil {
				return fmt.Errorf("writing scene %d: %w: %w", i, cpar.ErrStorage, err)
			}
			progress(int(done.Add(1)))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return dataset.WriteManifestFile(dir, items)
}
