package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/user"
)

// An item is one photo with its keywords and features.
type item struct {
	dataset.Photo
	vectors *feature.Vectors
	Picture picture // small
}

// spare is the number of additional new photos that are read, in case some
// cannot be decoded.
const spare = 4

// openCollection opens or paints the collection and chooses photos to index and
// new photos.
func (s *session) openCollection(ctx context.Context) error {
	train, fresh, err := s.divide(ctx)
	if err != nil {
		return err
	}
	s.result.Available = len(train)
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
	train, fresh, ok, err := c.Split()
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		train, fresh = dataset.HeldOut(c, 10)
	}
	if len(train) == 0 || len(fresh) == 0 {
		return nil, nil, hint.Add(fmt.Errorf("reading the collection: %w: it has %d annotated image; one to index and one to ask for are the least", cpar.ErrInput, len(c.Photos)),
			"leave --data away to see painted pictures")
	}
	return train, fresh, nil
}

// spread chooses at most n evenly spaced elements, in order.
func spread[T any](list []T, n int) []T {
	n = min(n, len(list))
	out := make([]T, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}

// readPhotos extracts features and drops photos that cannot be decoded.
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
	images, skipped, err := user.ReadPhotos(ctx, photos, user.ReadOptions{Cache: s.Cache, Network: s.Network, Progress: s.Progress})
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		if !slices.ContainsFunc(skipped, func(x user.Skipped) bool { return x.Name == it.Name }) {
			it.vectors = images[len(read)].Vectors
			read = append(read, it)
		}
	}
	return read, nil
}
