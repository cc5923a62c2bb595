package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"cpar"
	"cpar/encoder"
	"cpar/internal/hint"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/user"
)

// An item is one photo with its keywords and features.
type item struct {
	dataset.Photo
	title   string
	vectors *feature.Vectors
}

// readCollection fills records, held and asked.
func (s *session) readCollection(ctx context.Context) error {
	s.clock = clock{}
	train, test, err := s.divide(ctx)
	if err != nil {
		return err
	}
	s.result.Available = len(train)
	train = spread(train, s.Photos)
	total := len(train) + len(test)
	_, err = s.step(func() string {
		if s.Network != nil {
			return fmt.Sprintf("extract the features of %d pictures, embed %d", total, len(train))
		}
		return fmt.Sprintf("extract the features of %d pictures", total)
	}, func() error {
		if s.records, err = s.extract(ctx, train, s.Network); err != nil {
			return err
		}
		// Held-out photos are embedded and timed when they are annotated.
		s.held, err = s.extract(ctx, test, nil)
		s.held = spread(s.held, heldOut)
		s.asked = spread(s.held, shown)
		return err
	})
	if err != nil {
		return err
	}
	words := map[string]bool{}
	for _, it := range s.records {
		for _, w := range it.Keywords {
			words[w] = true
		}
	}
	s.result.Records, s.result.Words = len(s.records), len(words)
	return nil
}

// divide opens or paints the collection and splits it. test may be larger than
// necessary, in case some photos cannot be decoded.
func (s *session) divide(ctx context.Context) (train, test []dataset.Photo, err error) {
	if s.Data == "" {
		return s.paint(ctx)
	}
	s.result.Collection = filepath.Base(s.Data)
	c, err := dataset.Open(ctx, s.Data, dataset.Options{})
	if err != nil {
		return nil, nil, err
	}
	train, test, ok, err := c.Split()
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		train, test = dataset.HeldOut(c, 10)
	}
	if len(train) == 0 || len(test) == 0 {
		return nil, nil, hint.Add(fmt.Errorf("reading the collection: %w: it has %d annotated image; one to index and one to ask for are the least", cpar.ErrInput, len(c.Photos)),
			"leave --data away to see painted pictures")
	}
	return train, spread(test, heldOut+spare), nil
}

// spare is the number of additional photos that are read.
const spare = 8

// spread chooses at most n evenly spaced elements, in order.
func spread[T any](list []T, n int) []T {
	n = min(n, len(list))
	out := make([]T, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}

// extract returns the photos with features, in order.
func (s *session) extract(ctx context.Context, items []dataset.Photo, encoder *encoder.Encoder) ([]item, error) {
	images, skipped, err := user.ReadPhotos(ctx, items, user.ReadOptions{Cache: s.Cache, Network: encoder, Progress: s.tell})
	if err != nil {
		return nil, err
	}
	out := make([]item, 0, len(images))
	for _, it := range items {
		if slices.ContainsFunc(skipped, func(x user.Skipped) bool { return x.Name == it.Name }) {
			continue
		}
		out = append(out, item{Photo: it, title: s.title(it), vectors: images[len(out)].Vectors})
	}
	return out, nil
}

var telling sync.Mutex // several goroutines report while painting

func (s *session) tell(stage string, done, total int) {
	telling.Lock()
	defer telling.Unlock()
	s.clock.report(stage, done, total)
	if s.Progress != nil {
		s.Progress(stage, done, total)
	}
}
