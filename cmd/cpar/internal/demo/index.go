package demo

import (
	"context"
	"fmt"
	"time"

	"cpar"
	"cpar/user"
)

// times are what the stages took that have no progress of their own.
type times struct {
	setup, encrypt time.Duration
}

// build makes a key, learns the index from the collection and encrypts it.
// The key stays in memory unless everything is kept.
func (s *session) build(ctx context.Context) error {
	key := user.NewKey()
	if s.Keep != "" {
		if err := key.WriteFile(s.path("key"), ""); err != nil {
			return err
		}
	}
	images := make([]user.Image, len(s.records))
	for i, it := range s.records {
		images[i] = user.Image{Vectors: it.vectors, Keywords: it.Keywords}
	}
	var err error
	s.took.setup, err = s.step(func() string {
		return fmt.Sprintf("make a key, learn PCA-32, grow %d trees, sort into lists", trees)
	}, func() error {
		s.builder, err = user.Setup(ctx, key, images, user.Options{Trees: trees, Progress: s.tell})
		return err
	})
	if err != nil {
		return err
	}
	var m *cpar.Manifest
	s.took.encrypt, err = s.step(func() string {
		return fmt.Sprintf("encrypt %d records, %d planes and %d centroids", m.Records, m.Planes, m.Lists)
	}, func() error {
		m, err = s.builder.Encrypt(ctx, s.path("index"))
		return err
	})
	if err != nil {
		return err
	}
	s.twin, err = s.builder.Twin()
	return err
}

const trees = 10

// push sends the index to the cloud.
func (s *session) push(ctx context.Context) error {
	var m *cpar.Manifest
	_, err := s.step(func() string {
		return fmt.Sprintf("push the encrypted index, %s", Bytes(float64(m.Bytes())))
	}, func() (err error) {
		m, err = s.client.Push(ctx, s.path("index"), func(done, total int64) {
			s.tell("push, kB", int(done/1000), int(total/1000))
		})
		return err
	})
	return err
}
