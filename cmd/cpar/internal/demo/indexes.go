package demo

import (
	"context"
	"fmt"
	"time"

	"cpar"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/profile"
)

// times are what the stages took that have no progress of their own.
type times struct {
	setup, encrypt time.Duration
}

// An indexed is the collection as one index: as the owner has it who encrypted it,
// and as a device opens it that has nothing but the key.
type indexed struct {
	name     string // of its folder
	scheme   cpar.Scheme
	profile  profile.Kind
	builder  *user.Builder
	twin     *user.Twin
	manifest *cpar.Manifest
	opened   *device.Index
	// fetched is how many bytes the device fetched, once.
	fetched uint64
}

// indexOf is the scheme of the index that is searched.
func indexOf(s cpar.Scheme) cpar.Scheme {
	if s == cpar.SchemeCAPIA {
		return cpar.SchemeCPAR
	}
	return s
}

const trees = 10

// build makes a key and the indexes of the schemes. The key stays in memory unless
// everything is kept.
func (s *session) build(ctx context.Context) error {
	s.key = user.NewKey(cpar.Schemes()...)
	if s.Keep != "" {
		if err := s.key.WriteFile(s.path("key"), ""); err != nil {
			return err
		}
	}
	for _, x := range []*indexed{
		{name: "index", scheme: cpar.SchemeCPAR},
		{name: "ivf", scheme: cpar.SchemeIVF},
		{name: "sealed", scheme: cpar.SchemeSealed},
		{name: "local", scheme: cpar.SchemeLocal},
	} {
		s.indexes[x.scheme] = x
		build := s.encrypt
		if x.scheme == cpar.SchemeCPAR {
			build = s.encryptTimed
		}
		if err := build(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// encryptTimed builds the index of scheme cpar, whose costs are put beside the
// paper's.
func (s *session) encryptTimed(ctx context.Context, x *indexed) (err error) {
	s.took.setup, err = s.step(func() string {
		return fmt.Sprintf("make a key, learn PCA-32, grow %d trees", trees)
	}, func() error {
		return s.setUp(ctx, x, s.tell)
	})
	if err != nil {
		return err
	}
	s.took.encrypt, err = s.step(func() string {
		return fmt.Sprintf("encrypt %d records and %d planes", x.manifest.Records, x.manifest.Planes)
	}, func() error {
		return s.write(ctx, x)
	})
	return err
}

// encrypt builds the index of another scheme. Its stages are not timed.
func (s *session) encrypt(ctx context.Context, x *indexed) error {
	_, err := s.step(func() string {
		return fmt.Sprintf("set up and encrypt the same %d records, scheme %v", x.manifest.Records, x.scheme)
	}, func() error {
		if err := s.setUp(ctx, x, nil); err != nil {
			return err
		}
		return s.write(ctx, x)
	})
	return err
}

func (s *session) setUp(ctx context.Context, x *indexed, tell user.Progress) (err error) {
	images := make([]user.Image, len(s.records))
	for i, it := range s.records {
		images[i] = user.Image{Vectors: it.vectors, Keywords: it.Keywords}
	}
	x.builder, err = user.Setup(ctx, s.key, images, user.Options{Scheme: x.scheme, Profile: x.profile, Trees: trees, Progress: tell})
	return err
}

func (s *session) write(ctx context.Context, x *indexed) (err error) {
	if x.manifest, err = x.builder.Encrypt(ctx, s.path(x.name)); err != nil {
		return err
	}
	x.twin, err = x.builder.Twin()
	return err
}

// push sends the indexes to the cloud, and opens each on another device.
func (s *session) push(ctx context.Context) error {
	all := []*indexed{s.indexes[cpar.SchemeCPAR], s.indexes[cpar.SchemeIVF], s.indexes[cpar.SchemeSealed], s.indexes[cpar.SchemeLocal]}
	all = append(all, s.profiles[1:]...)
	for _, x := range all {
		if _, err := s.step(func() string {
			return fmt.Sprintf("push the encrypted index, %s, %s", x.what(), Bytes(float64(x.manifest.Bytes())))
		}, func() error {
			_, err := s.client.Push(ctx, s.path(x.name), func(done, total int64) {
				s.tell("push, kB", int(done/1000), int(total/1000))
			})
			return err
		}); err != nil {
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

// what tells an index from the others.
func (x *indexed) what() string {
	if x.profile == profile.Paper {
		return fmt.Sprintf("scheme %v", x.scheme)
	}
	return fmt.Sprintf("profile %v", x.profile)
}

// open does what a device does that has nothing but the key.
func (s *session) open(ctx context.Context, x *indexed) (err error) {
	d := device.Device{State: s.path("device")}
	if x.opened, err = d.Open(ctx, s.client, s.key, device.OpenOptions{Index: x.manifest.ID}); err != nil {
		return err
	}
	ledger, _ := x.manifest.Segment(cpar.SegmentLedger)
	x.fetched = ledger.Bytes + x.opened.Fetched
	return x.opened.Use(s.Network)
}
