package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/scene"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/user"
)

type item struct {
	dataset.Photo
	vectors *feature.Vectors
	Picture picture // a thumbnail
}

// spare is the number of additional new photos to read, in case some cannot be
// decoded.
const spare = 4

// openCollection opens or paints the collection. It chooses the photos to index
// and the new photos.
func (s *session) openCollection(ctx context.Context) error {
	train, fresh, err := s.divide(ctx)
	if err != nil {
		return err
	}
	s.result.Available, s.result.HeldOut = len(train), len(fresh)
	for _, p := range spread(train, s.Photos) {
		s.train = append(s.train, item{Photo: p})
	}
	for _, p := range spread(fresh, shown+spare) {
		s.fresh = append(s.fresh, item{Photo: p})
	}
	return nil
}

func (s *session) divide(ctx context.Context) (train, fresh []dataset.Photo, err error) {
	if s.Data == "" {
		return s.paint(ctx)
	}
	s.result.Collection = filepath.Base(s.Data)
	c, err := dataset.Open(ctx, s.Data, dataset.Options{})
	if err != nil {
		return nil, nil, err
	}
	s.result.People, s.result.Warnings = c.People, c.Warnings
	train, fresh, ok, err := c.Split()
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		train, fresh = dataset.HeldOut(c, 10)
	}
	if len(train) == 0 || len(fresh) == 0 {
		return nil, nil, hint.Add(fmt.Errorf("reading the collection: %w: it has %d annotated images; at least one to index and one to annotate are needed", cpar.ErrInput, len(c.Photos)),
			"leave out --data to see painted pictures")
	}
	return train, fresh, nil
}

// spread returns at most n evenly spaced elements of a list, in order.
func spread[T any](list []T, n int) []T {
	n = min(n, len(list))
	out := make([]T, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}

// readPhotos extracts features and drops duplicates and photos that cannot be
// decoded.
func (s *session) readPhotos(ctx context.Context) error {
	return s.step(func() string {
		return fmt.Sprintf("extract the features of %d photos", len(s.train)+len(s.fresh))
	}, func() (err error) {
		if s.train, err = s.extract(ctx, s.train); err != nil {
			return err
		}
		s.fresh, err = s.extract(ctx, s.fresh)
		s.fresh = spread(s.fresh, shown)
		return err
	})
}

func (s *session) extract(ctx context.Context, items []item) (read []item, err error) {
	photos := make([]dataset.Photo, len(items))
	for i, it := range items {
		photos[i] = it.Photo
	}
	images, duplicates, skipped, err := user.ReadDistinctPhotos(ctx, photos, user.ReadOptions{Cache: s.Cache, Warnings: &s.result.Warnings, Network: s.Network, Progress: s.Progress})
	if err != nil {
		return nil, err
	}
	for _, d := range duplicates {
		skipped = append(skipped, user.Skipped{Name: d.Name})
	}
	s.result.LeftOut += len(skipped)
	for _, it := range items {
		if !slices.ContainsFunc(skipped, func(x user.Skipped) bool { return x.Name == it.Name }) {
			it.vectors, it.Keywords = images[len(read)].Vectors, images[len(read)].Keywords
			read = append(read, it)
		}
	}
	return read, nil
}

const (
	// sceneSeed is arbitrary but fixed, so that every run shows the same
	// images.
	sceneSeed  = 1
	sceneCount = 360
)

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

// writeScenes writes images 0 to n-1 as dir/images/0000.jpg and so on. It
// writes manifest.csv last, because that file's presence marks a complete
// folder. Several goroutines call function `progress`.
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
