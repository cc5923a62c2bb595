package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/cloud/sealed"
	"cpar/model/feature"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user"
)

// A SealedSession holds the owner and the server of an index in scheme sealed
// or local.
type SealedSession struct {
	*Index
	Owner *user.Owner
	// Cloud is nil for scheme local, which has no server.
	Cloud *sealed.Index
}

func OpenSealed(ctx context.Context, images []user.Photo, opt user.Options) (*SealedSession, *user.Builder, error) {
	x, b, err := BuildIndex(ctx, user.NewKey(), images, opt)
	if err != nil {
		return nil, nil, err
	}
	s := &SealedSession{Index: x}
	if err := s.load(); err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, b, nil
}

// load opens the index once as the server does and once as a second device
// does.
func (s *SealedSession) load() (err error) {
	if s.Owner, err = s.Device(); err == nil && s.Manifest.Scheme == cpar.SchemeSealed {
		s.Cloud, err = sealed.Load(s.Manifest, s.Files.Segments())
	}
	return err
}

// Grow adds copies of photos until the index has n records. It adds at most
// `step` copies at a time.
func (s *SealedSession) Grow(ctx context.Context, photos []user.Photo, n, step int, progress user.Progress) error {
	for at := int(s.Manifest.Records); at < n; at = int(s.Manifest.Records) {
		some := make([]user.Photo, min(step, n-at))
		for i := range some {
			some[i] = photos[i%len(photos)]
		}
		if err := s.Add(ctx, some, progress); err != nil {
			return fmt.Errorf("adding to %d records: %w", at, err)
		}
	}
	return nil
}

// Add adds photos as cpar add does, and opens the new generation (version) of
// the index.
func (s *SealedSession) Add(ctx context.Context, photos []user.Photo, progress user.Progress) error {
	if _, err := user.Add(ctx, s.Key, s.Path(), photos, progress); err != nil {
		return err
	}
	if err := s.Reopen(); err != nil {
		return err
	}
	return s.load()
}

func (s *SealedSession) Nearest(ctx context.Context, v *vector.Vector, l int) ([]rank.Neighbour, error) {
	pending, q, err := s.Owner.RequestVector(v, s.Params(l))
	if err != nil {
		return nil, err
	}
	if q == nil {
		return pending.Neighbours(nil)
	}
	replies, err := s.Cloud.Annotate(ctx, 1, []*cpar.Request{q})
	if err != nil {
		return nil, err
	}
	return pending.Neighbours(replies[0])
}

func (s *SealedSession) Params(l int) cpar.Params {
	p := s.Owner.DefaultParams()
	p.L = uint16(l)
	return p
}

func SegmentBytes(m *cpar.Manifest, kinds ...cpar.SegmentKind) (n uint64) {
	for _, s := range m.Segments {
		if slices.Contains(kinds, s.Kind) {
			n += s.Bytes
		}
	}
	return n
}

// VectorsOf returns the vectors of the first n test images. It omits images for
// which no vector can be computed.
func VectorsOf(o *user.Owner, c *Corpus, n int) []*vector.Vector {
	var out []*vector.Vector
	for _, im := range c.Test[:min(n, len(c.Test))] {
		if v, err := o.Vector(im.Vectors); err == nil {
			out = append(out, v)
		}
	}
	return out
}

// sealedTimes holds medians in milliseconds and sizes in bytes.
type sealedTimes struct {
	Cloud, Beside, Encrypt, Read float64
	Request, Reply               int
}

// Time answers requests one after the other. After each request it calls
// `beside` if it is not nil, so that slow periods of the machine affect both.
func (s *SealedSession) Time(ctx context.Context, requests []*vector.Vector, beside func(i int) (time.Duration, error)) (m sealedTimes, err error) {
	var cloud, other, encrypt, read []float64
	err = WithoutGC(func() error {
		for i := range len(requests) + 1 { // the first round warms up
			begun := time.Now()
			lap := func(to *[]float64) {
				if i > 0 {
					*to = append(*to, time.Since(begun).Seconds()*1e3)
				}
				begun = time.Now()
			}
			pending, q, err := s.Owner.RequestVector(requests[i%len(requests)], s.Params(10))
			if err != nil {
				return err
			}
			lap(&encrypt)
			replies, err := s.Cloud.Annotate(ctx, 1, []*cpar.Request{q})
			if err != nil {
				return err
			}
			lap(&cloud)
			if _, err := ReadReply(s.Owner, pending, replies[0]); err != nil {
				return err
			}
			lap(&read)
			m.Request, m.Reply = len(q.Opaque), len(replies[0].Opaque)
			if beside != nil {
				took, err := beside(i)
				if err != nil {
					return err
				}
				other = append(other, took.Seconds()*1e3)
			}
		}
		return nil
	})
	m.Cloud, m.Encrypt, m.Read = RoundTo(Median(cloud), 3), RoundTo(Median(encrypt), 3), RoundTo(Median(read), 3)
	if beside != nil {
		m.Beside = RoundTo(Median(other), 3)
	}
	return m, err
}

func FeaturesOf(images []user.Photo) []*feature.Vectors {
	return Map(images, func(im user.Photo) *feature.Vectors { return im.Vectors })
}

// Since returns the bytes transferred to replace an earlier generation, whose
// manifest is `before`: `pushed` to the server, and `fetched` by another
// device. Manifests are sent whole, segments only if new.
func (s *SealedSession) Since(before *cpar.Manifest) (pushed, fetched uint64, err error) {
	b, err := s.Manifest.MarshalBinary()
	if err != nil {
		return 0, 0, err
	}
	pushed, fetched = uint64(len(b)), uint64(len(b))
	needs := s.Owner.Needs(s.Manifest)
	for _, x := range s.Manifest.Segments {
		if slices.Contains(before.Segments, x) {
			continue
		}
		pushed += x.Bytes
		if x.Kind == cpar.SegmentLedger || x.Kind == cpar.SegmentProfile || slices.Contains(needs, x) {
			fetched += x.Bytes
		}
	}
	return pushed, fetched, nil
}
