package demo

import (
	"context"
	"fmt"
	"time"

	"cpar"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/device"
)

// times are the durations of stages without progress reports.
type times struct {
	setup, encrypt time.Duration
}

// An indexed holds one index of the collection, both as built and as opened by
// a device that has only the key.
type indexed struct {
	name     string // of its folder
	scheme   cpar.Scheme
	profile  profile.Kind
	builder  *user.Builder
	twin     *user.Twin
	manifest *cpar.Manifest
	opened   *device.Index
	// fetched is the number of bytes that the device fetched once.
	fetched uint64
}

// indexOf returns the scheme of the index that serves s.
func indexOf(s cpar.Scheme) cpar.Scheme {
	if s == cpar.SchemeCAPIA {
		return cpar.SchemeCPAR
	}
	return s
}

func (x *indexed) probable() bool { return x.builder.Ranker().Kind() == rank.KindCalibrated }

const trees = 10

// calibrateFrom is the minimum number of photos from which the paper's profile
// can learn probabilities. The other profiles come with theirs.
const calibrateFrom = 100

// makeKey makes a key and writes it only if the run is kept.
func (s *session) makeKey(context.Context) error {
	s.key = user.NewKey(cpar.Schemes()...)
	if s.Keep == "" {
		return nil
	}
	return s.key.WriteFile(s.path("key"), "")
}

// buildSchemes builds the indexes of the other schemes with the chosen profile,
// and the index for the paper's costs.
func (s *session) buildSchemes(ctx context.Context) error {
	fitted := s.indexes[user.DefaultScheme].builder.Fitted()
	for _, scheme := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeIVF, cpar.SchemeLocal} {
		x := &indexed{name: scheme.String(), scheme: scheme, profile: fitted.Profile.Kind()}
		s.indexes[scheme] = x
		if err := s.encrypt(ctx, x, fitted); err != nil {
			return err
		}
	}
	s.paper = &indexed{name: "costs", scheme: cpar.SchemeCPAR, profile: profile.Paper}
	return s.encryptTimed(ctx, s.paper)
}

// encryptTimed builds the index for the paper's costs. It ranks by weights
// because the paper calibrates nothing.
func (s *session) encryptTimed(ctx context.Context, x *indexed) (err error) {
	s.took.setup, err = s.step(func() string {
		return fmt.Sprintf("as the paper: learn PCA-32, grow %d trees", trees)
	}, func() error {
		return s.setUp(ctx, x, user.Options{Progress: s.tell})
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

// encrypt builds the index of another scheme, without timing its stages.
func (s *session) encrypt(ctx context.Context, x *indexed, fitted *profile.Fitted) error {
	_, err := s.step(func() string {
		return fmt.Sprintf("set up and encrypt the same %d records, scheme %v", x.manifest.Records, x.scheme)
	}, func() error {
		o := user.Options{Fitted: fitted}
		if fitted.Ranker != nil {
			o.Ranker = rank.KindCalibrated
		}
		if err := s.setUp(ctx, x, o); err != nil {
			return err
		}
		return s.write(ctx, x)
	})
	return err
}

func (s *session) images() []user.Photo {
	images := make([]user.Photo, len(s.records))
	for i, it := range s.records {
		images[i] = user.Photo{Vectors: it.vectors, Keywords: it.Keywords}
	}
	return images
}

func (s *session) setUp(ctx context.Context, x *indexed, o user.Options) (err error) {
	o.Scheme, o.Profile, o.Trees = x.scheme, x.profile, trees
	x.builder, err = user.Setup(ctx, s.key, s.images(), o)
	return err
}

func (s *session) write(ctx context.Context, x *indexed) (err error) {
	if x.manifest, err = x.builder.Encrypt(ctx, s.path(x.name)); err != nil {
		return err
	}
	x.twin, err = x.builder.Twin()
	return err
}

func (s *session) pushProfiles(ctx context.Context) error { return s.push(ctx, s.profiles...) }

func (s *session) pushSchemes(ctx context.Context) error {
	return s.push(ctx, s.indexes[cpar.SchemeCPAR], s.indexes[cpar.SchemeIVF], s.indexes[cpar.SchemeLocal], s.paper)
}

func (s *session) push(ctx context.Context, all ...*indexed) error {
	for _, x := range all {
		if _, err := s.step(func() string {
			return fmt.Sprintf("push the encrypted index, %v, %v, %s", x.scheme, x.profile, Bytes(float64(x.manifest.Bytes())))
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
		return fmt.Sprintf("open with the key: fetch %s, once", Bytes(float64(n)))
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

// open opens an index the way a device does that has only the key.
func (s *session) open(ctx context.Context, x *indexed) (err error) {
	d := device.Device{State: s.path("device")}
	if x.opened, err = d.Open(ctx, s.client, s.key, device.OpenOptions{Index: x.manifest.ID}); err != nil {
		return err
	}
	ledger, _ := x.manifest.Segment(cpar.SegmentLedger)
	x.fetched = ledger.Bytes + x.opened.Fetched
	return x.opened.SetEncoder(s.Network)
}
