package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"cpar"
	"cpar/cloud/sealed"
	"cpar/internal/indexdir"
	"cpar/kdforest"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user"
)

// Sealed says what schemes sealed and local find and cost.
type Sealed struct {
	Records  int `json:"records"`
	Requests int `json:"requests"`
	// Top10Equal is the share of the requests whose ten nearest by scheme sealed are the
	// same, at the same ranks, as those of the quantised vectors in the clear; LocalEqual
	// is that for scheme local.
	Top10Equal float64 `json:"top10_equal"`
	LocalEqual float64 `json:"local_top10_equal"`
	// Quality compares the profile in the clear, not quantised (plain-jl), with sealed,
	// through one projection.
	Quality []QualityRow `json:"quality"`
	// Cost is for one index of this size, Growth for larger and larger ones, with fitted exponents.
	Cost   *SealedCost  `json:"cost,omitempty"`
	Growth []SealedGrowthRow `json:"growth,omitempty"`
	Fits   []Fit        `json:"fits,omitempty"`
	// Homes compares sealed with local and cpar by number of records and requests.
	Transfers []TransferRow `json:"homes,omitempty"`
}

// sealedSteps has three steps, since each takes a while.
func SealedSteps(ctx context.Context, r *Run, m Measurement) (Result, error) {
	out, err := RunStep(ctx, r, m.Name, nil, withCorpus(r, MeasureSealed))
	if err != nil {
		return nil, err
	}
	cost, err := RunStep(ctx, r, m.Name+"-cost", r.N, func(ctx context.Context) (*SealedCost, error) { return MeasureSealedCost(ctx, r.Lab, r.N) })
	sizes := SealedGrowthSizes
	if r.N < sizes[0] {
		sizes = []int{r.N, 2 * r.N}
	}
	growth, failed := RunStep(ctx, r, m.Name+"-growth", sizes, func(ctx context.Context) (*[]SealedGrowthRow, error) {
		rows, err := MeasureSealedGrowth(ctx, r.Lab, sizes)
		return &rows, err
	})
	if growth == nil {
		growth = new([]SealedGrowthRow)
	}
	out.with(cost, *growth)
	return out, errors.Join(err, failed)
}

// with adds the measurements of other steps.
func (s *Sealed) with(c *SealedCost, growth []SealedGrowthRow) {
	s.Cost, s.Growth, s.Fits = c, growth, fitSealed(growth)
	if c != nil {
		s.Transfers = c.homes()
	}
}

// A sealedSession is an index with scheme sealed or local, both sides of it.
type sealedSession struct {
	owner *user.Owner
	// cloud is nil for scheme local.
	cloud    *sealed.Index
	manifest *cpar.Manifest
	files    *indexdir.Index
	folder   string
	key      *user.Key
}

// openSealed builds an index in its own folder.
func openSealed(ctx context.Context, images []user.Photo, opt user.Options) (*sealedSession, *user.Builder, error) {
	folder, err := os.MkdirTemp("", "cpar-eval-")
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for the index: %w: %w", cpar.ErrStorage, err)
	}
	s := &sealedSession{folder: folder, key: user.NewKey()}
	b, err := user.Setup(ctx, s.key, images, opt)
	if err == nil {
		_, err = b.Encrypt(ctx, s.path())
	}
	if err == nil {
		err = s.open()
	}
	if err != nil {
		s.close()
		return nil, nil, err
	}
	return s, b, nil
}

func (s *sealedSession) path() string { return filepath.Join(s.folder, "index") }

// open loads the folder as the cloud and a second device do.
func (s *sealedSession) open() (err error) {
	if s.files != nil {
		s.files.Release()
	}
	if s.files, err = indexdir.Open(s.path()); err != nil {
		return err
	}
	s.manifest = s.files.Manifest()
	if s.owner, err = user.Open(s.key, s.manifest, s.files.Read); err != nil {
		return err
	}
	held := map[cpar.Digest][]byte{}
	for i, segment := range s.manifest.Segments {
		if slices.Contains(s.owner.Needs(s.manifest), segment) {
			held[segment.Digest] = slices.Clone(s.files.Segments()[i]) // fetched, not mapped
		}
	}
	if err := s.owner.Hold(s.manifest, held); err != nil {
		return err
	}
	if s.manifest.Scheme == cpar.SchemeSealed {
		s.cloud, err = sealed.Load(s.manifest, s.files.Segments())
	}
	return err
}

func (s *sealedSession) close() {
	if s.files != nil {
		s.files.Release()
	}
	os.RemoveAll(s.folder)
}

// nearest searches for the l nearest of a photo.
func (s *sealedSession) nearest(ctx context.Context, v *vector.Vector, l int) ([]rank.Neighbour, error) {
	pending, q, err := s.owner.RequestVector(v, s.params(l))
	if err != nil {
		return nil, err
	}
	if q == nil {
		return pending.Neighbours(nil)
	}
	replies, err := s.cloud.Annotate(ctx, 1, []*cpar.Request{q})
	if err != nil {
		return nil, err
	}
	return pending.Neighbours(replies[0])
}

func (s *sealedSession) params(l int) cpar.Params {
	p := s.owner.DefaultParams()
	p.L = uint16(l)
	return p
}

// MeasureSealed measures what schemes sealed and local find on the untouched collection.
func MeasureSealed(ctx context.Context, c *Corpus, progress user.Progress) (*Sealed, error) {
	out := &Sealed{Records: len(c.Train), Requests: len(c.Test)}
	for _, scheme := range []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal} {
		if err := out.measure(ctx, c, scheme, progress); err != nil {
			return nil, fmt.Errorf("scheme %v: %w", scheme, err)
		}
	}
	return out, nil
}

func (out *Sealed) measure(ctx context.Context, c *Corpus, scheme cpar.Scheme, progress user.Progress) error {
	s, b, err := openSealed(ctx, c.Train, user.Options{Scheme: scheme, Progress: progress})
	if err != nil {
		return err
	}
	defer s.close()
	plain := &Session{corpus: c, Builder: b}
	if plain.Twin, err = b.Twin(); err != nil {
		return err
	}
	twin, _ := plain.Twin.Rows()
	for i, im := range c.Test {
		v, err := b.Vector(im.Vectors)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		plain.Requests = append(plain.Requests, v)
	}
	train, truth := plain.keywords(), Keywords(c.Test)
	unquantised, err := plain.projectedDistances(ctx)
	if err != nil {
		return err
	}
	var equal, done atomic.Int64
	found := map[int][][]string{5: make([][]string, len(truth)), 10: make([][]string, len(truth))}
	if err := plain.eachRequest(ctx, func(i int, v *vector.Vector) error {
		near, err := s.nearest(ctx, v, 10)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		same, err := sameAsTwin(twin, v, near)
		if err != nil {
			return fmt.Errorf("request %d in the clear: %w", i, err)
		}
		if same {
			equal.Add(1)
		}
		for k := range found {
			found[k][i] = keywordStrings(rank.Keywords(near[:min(k, len(near))], standardKeywords))
		}
		if progress != nil {
			progress(scheme.String(), int(done.Add(1)), len(truth))
		}
		return nil
	}); err != nil {
		return err
	}
	share := float64(equal.Load()) / float64(len(truth))
	if scheme == cpar.SchemeLocal {
		out.LocalEqual = share
		return nil
	}
	out.Top10Equal = share
	for _, k := range []int{5, 10} {
		out.Quality = append(out.Quality,
			QualityRow{Scheme: "plain-jl", Neighbours: k, Quality: MeasureQuality(annotatePlain(unquantised, train, k, standardKeywords), truth)},
			QualityRow{Scheme: scheme.String(), Neighbours: k, Quality: MeasureQuality(found[k], truth)})
	}
	return nil
}

// sameAsTwin reports whether near are the ten records of least score by the plain
// integers, ties by record.
func sameAsTwin(twin *user.RowsTwin, v *vector.Vector, near []rank.Neighbour) (bool, error) {
	scores, err := twin.Scores(v)
	if err != nil {
		return false, err
	}
	queue := kdforest.NewQueue(10)
	for record, score := range scores {
		queue.Push(kdforest.Hit{Record: uint32(record), Score: score})
	}
	return slices.EqualFunc(near, queue.Hits(), func(n rank.Neighbour, h kdforest.Hit) bool { return n.Record == h.Record }), nil
}
