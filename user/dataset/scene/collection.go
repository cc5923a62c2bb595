package scene

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/user/dataset"
)

// WriteCollection writes pictures 0 to n-1 of a seed into the folder dir, which
// it makes if need be, as images/0000.jpg and so on with a manifest.csv that
// package dataset reads. The manifest comes last: a folder that has one is whole.
// progress may be nil; it is called by several goroutines at once.
func WriteCollection(dir string, seed uint64, n int, progress func(done, total int)) error {
	if n < 1 {
		return fmt.Errorf("writing a collection of %d scenes: %w: it needs at least one", n, cpar.ErrInput)
	}
	if err := os.MkdirAll(filepath.Join(dir, "images"), 0o755); err != nil {
		return fmt.Errorf("writing scenes: %w: %w", cpar.ErrStorage, err)
	}
	items := make([]dataset.Item, n)
	var done atomic.Int64
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			jpg, keywords, err := RenderJPEG(seed, i)
			if err != nil {
				return err
			}
			name := fmt.Sprintf("images/%04d.jpg", i)
			if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), jpg, 0o644); err != nil {
				return fmt.Errorf("writing scene %d: %w: %w", i, cpar.ErrStorage, err)
			}
			items[i] = dataset.Item{Name: name, Keywords: keywords}
			if d := done.Add(1); progress != nil {
				progress(int(d), n)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return dataset.WriteManifestFile(dir, items)
}
