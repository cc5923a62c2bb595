package demo

import (
	"bytes"
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

// An indexed is the collection as an index of one scheme. The builder knows the
// collection in the clear; the owner has the key and what the cloud sends, as on
// another device.
type indexed struct {
	builder  *user.Builder
	twin     *user.Twin
	manifest *cpar.Manifest
	owner    *user.Owner
	// fetched is how many bytes the owner fetched once.
	fetched uint64
}

// folders of the indexes, by scheme.
var folders = map[cpar.Scheme]string{cpar.SchemeCPAR: "index", cpar.SchemeSealed: "sealed", cpar.SchemeLocal: "local"}

// indexOf is the scheme of the index that is searched.
func indexOf(s cpar.Scheme) cpar.Scheme {
	if s == cpar.SchemeCAPIA {
		return cpar.SchemeCPAR
	}
	return s
}

const trees = 10

// build makes a key, learns the indexes from the collection and encrypts them.
// The key stays in memory unless everything is kept.
func (s *session) build(ctx context.Context) error {
	s.key = user.NewKey()
	if s.Keep != "" {
		if err := s.key.WriteFile(s.path("key"), ""); err != nil {
			return err
		}
	}
	images := s.images()
	var err error
	x := &indexed{}
	s.indexes[cpar.SchemeCPAR] = x
	s.took.setup, err = s.step(func() string {
		return fmt.Sprintf("make a key, learn PCA-32, grow %d trees, sort into lists", trees)
	}, func() error {
		x.builder, err = user.Setup(ctx, s.key, images, user.Options{Trees: trees, Progress: s.tell})
		return err
	})
	if err != nil {
		return err
	}
	s.took.encrypt, err = s.step(func() string {
		return fmt.Sprintf("encrypt %d records, %d planes and %d centroids", x.manifest.Records, x.manifest.Planes, x.manifest.Lists)
	}, func() error {
		return x.encrypt(ctx, s.path(folders[cpar.SchemeCPAR]))
	})
	if err != nil {
		return err
	}
	for _, scheme := range []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal} {
		x := &indexed{}
		s.indexes[scheme] = x
		if _, err := s.step(func() string {
			return fmt.Sprintf("set up and encrypt the same %d records, scheme %v", x.manifest.Records, scheme)
		}, func() error {
			// Not timed as a stage: the costs are those of scheme cpar.
			if x.builder, err = user.Setup(ctx, s.key, images, user.Options{Scheme: scheme}); err != nil {
				return err
			}
			return x.encrypt(ctx, s.path(folders[scheme]))
		}); err != nil {
			return err
		}
	}
	return nil
}

// images are the records as Setup takes them.
func (s *session) images() []user.Image {
	images := make([]user.Image, len(s.records))
	for i, it := range s.records {
		images[i] = user.Image{Vectors: it.vectors, Keywords: it.Keywords}
	}
	return images
}

func (x *indexed) encrypt(ctx context.Context, folder string) (err error) {
	if x.manifest, err = x.builder.Encrypt(ctx, folder); err != nil {
		return err
	}
	x.twin, err = x.builder.Twin()
	return err
}

// push sends the indexes to the cloud, and opens each with the key and what the
// cloud has of it.
func (s *session) push(ctx context.Context) error {
	var all []*indexed
	send := func(x *indexed, folder, what string) error {
		all = append(all, x)
		_, err := s.step(func() string {
			return fmt.Sprintf("push the encrypted index, %s, %s", what, Bytes(float64(x.manifest.Bytes())))
		}, func() error {
			_, err := s.client.Push(ctx, s.path(folder), func(done, total int64) {
				s.tell("push, kB", int(done/1000), int(total/1000))
			})
			return err
		})
		return err
	}
	for _, scheme := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeSealed, cpar.SchemeLocal} {
		if err := send(s.indexes[scheme], folders[scheme], fmt.Sprintf("scheme %v", scheme)); err != nil {
			return err
		}
	}
	for _, x := range s.profiles[1:] {
		if err := send(x.indexed, x.folder, fmt.Sprintf("profile %v", x.kind)); err != nil {
			return err
		}
	}
	_, err := s.step(func() string {
		n := uint64(0)
		for _, x := range all {
			n += x.fetched
		}
		return fmt.Sprintf("open them with the key: fetch %s, once", Bytes(float64(n)))
	}, func() error {
		for _, x := range all {
			if err := s.open(ctx, x); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// open does what a device does that has nothing but the key.
func (s *session) open(ctx context.Context, x *indexed) error {
	m, err := s.client.Manifest(ctx, x.manifest.ID)
	if err != nil {
		return err
	}
	fetch := func(segment cpar.Segment) ([]byte, error) {
		var b bytes.Buffer
		err := s.client.Segment(ctx, m.ID, segment, &b)
		x.fetched += uint64(b.Len())
		return b.Bytes(), err
	}
	profile, _ := m.Segment(cpar.SegmentLedger)
	b, err := fetch(profile)
	if err != nil {
		return err
	}
	if x.owner, err = user.Open(s.key, m, b); err != nil {
		return err
	}
	held := map[cpar.Digest][]byte{}
	for _, segment := range x.owner.Needs(m) {
		if held[segment.Digest], err = fetch(segment); err != nil {
			return err
		}
	}
	if len(held) == 0 {
		return nil
	}
	return x.owner.Hold(m, held)
}
