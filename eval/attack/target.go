package attack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"cpar"
	"cpar/eval/measure"
	"cpar/model/feature"
	"cpar/user"
)

type Collection struct {
	// Train is indexed in an order that the cloud does not know. Test holds the
	// photos of requests, which are also the attacker's candidates.
	Train, Test []user.Photo
	// Changed returns test photo i after cropping and recompression. It may be
	// nil.
	Changed func(i int) (*feature.Vectors, error)
	// Files are the paths of the photos in Train and then in Test. Without them
	// no album is attacked.
	Files []string
}

type Owner interface {
	// Request returns the bytes of a request for a photo, and the state for
	// reading the reply. The state serves only to judge the attack and may be
	// nil. If planes is set and the scheme has planes (splits of the forest),
	// the request reveals the photo's distances from them.
	Request(f *feature.Vectors, planes bool) ([]byte, *user.Pending, error)
}

// A Target is a scheme under attack: its owner and its cloud. TrainIndex[i] is
// the index in Collection.Train of the photo that is record i. It serves only
// to judge attacks.
type Target struct {
	Owner      Owner
	Cloud      Cloud
	TrainIndex []int
}

func (t *Target) view(ctx context.Context, photos []*feature.Vectors, planes bool) (*View, []*user.Pending, error) {
	v := &View{Scheme: t.Cloud.Scheme(), StoredIndex: t.Cloud.Stored(), Observations: make([]*Observation, len(photos))}
	pending := make([]*user.Pending, len(photos))
	err := measure.Each(ctx, len(photos), func(i int) error {
		b, p, err := t.Owner.Request(photos[i], planes)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		pending[i] = p
		v.Observations[i], err = t.Cloud.Observe(b)
		return err
	})
	return v, pending, err
}

type built struct {
	*measure.Index
	builder    *user.Builder
	trainIndex []int
}

func build(ctx context.Context, images []user.Photo, opt user.Options) (*built, error) {
	x, b, err := measure.BuildIndex(ctx, user.NewKey(cpar.Schemes()...), images, opt)
	if err != nil {
		return nil, err
	}
	out := &built{Index: x, builder: b, trainIndex: make([]int, len(images))}
	for record := range out.trainIndex {
		out.trainIndex[record] = b.PhotoOf(uint32(record))
	}
	return out, nil
}

func (b *built) target(scheme cpar.Scheme) (*Target, error) {
	c, err := openCloud(b.Files, scheme)
	if err != nil {
		return nil, err
	}
	p := cpar.Params{Scheme: scheme, Search: scheme.Searches()[0], L: 10, Approx: 100}
	if scheme == cpar.SchemeCPAR {
		p.Search = cpar.SearchByRank // all searches of the forest reveal the same
	}
	if scheme == cpar.SchemeCAPIA {
		p.Approx = 1000
	}
	return &Target{Owner: &indexOwner{b.builder.Owner, p}, Cloud: c, TrainIndex: b.trainIndex}, nil
}

type indexOwner struct {
	*user.Owner
	params cpar.Params
}

func (a *indexOwner) Request(f *feature.Vectors, planes bool) ([]byte, *user.Pending, error) {
	p := a.params
	if planes && p.Scheme == cpar.SchemeCPAR {
		p.Search, p.Prune = cpar.SearchDepthFirst, true
	}
	pending, q, err := a.Owner.Request(f, p)
	if err != nil {
		return nil, nil, err
	}
	b, err := q.MarshalBinary()
	return b, pending, err
}

// complement returns the numbers from 0 to n−1 that are not in `at`, a sorted
// slice.
func complement(n int, at []int) (out []int) {
	for i := range n {
		if _, found := slices.BinarySearch(at, i); !found {
			out = append(out, i)
		}
	}
	return out
}

// sample returns at most k of the numbers from 0 to n−1, drawn with the given
// seed, in ascending order.
func sample(n, k int, seed uint64) []int {
	list := rand.New(rand.NewPCG(seed, 0x6b6e6f77)).Perm(n)[:min(k, n)] // "know"
	slices.Sort(list)
	return list
}
