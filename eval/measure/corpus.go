// Package measure holds the common parts of all measurements: collections,
// indexes built from them, statistics, and a plan that runs measurements and
// stores their results.
//
//	collection   ─▶ Lab: corpus, mixed images, indexes (Session) ─▶ measurement
//	Measurements ─▶ Plan, Run: kept steps (package checkpoint) ─▶ Results: tables, figures
//
// It runs the owner and the server in one process, and compares encrypted
// search with its plaintext twin. It must not import quality, cost, attack or
// report.
package measure

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"cpar"
	"cpar/cloud/score"
	"cpar/cloud/search"
	"cpar/encoder"
	"cpar/model/feature"
	"cpar/model/vector"
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/device"
)

// A Corpus is an annotated collection with its features. It is divided into
// training images, which are indexed, and test images, which are requested.
type Corpus struct {
	Train, Test []user.Photo
	// TrainItems and TestItems are the photo files behind the images. They are
	// empty if the corpus was not read from files.
	TrainItems, TestItems []dataset.Photo
}

// LoadSample reads the collection in folder `dir`. The file split.csv divides
// the collection. Without it, a tenth becomes test images. LoadSample keeps at
// most `indexed` training and `tested` test images, evenly spaced.
func LoadSample(ctx context.Context, dir, cacheDir string, indexed, tested int, progress user.Progress) (*Corpus, error) {
	train, test, err := itemsOf(ctx, dir)
	if err != nil {
		return nil, err
	}
	return ReadCorpus(ctx, evenlySpaced(train, indexed), evenlySpaced(test, tested), cacheDir, nil, progress)
}

func evenlySpaced(items []dataset.Photo, n int) []dataset.Photo {
	if n >= len(items) {
		return items
	}
	out := make([]dataset.Photo, n)
	for i := range out {
		out[i] = items[i*len(items)/n]
	}
	return out
}

func itemsOf(ctx context.Context, dir string) (train, test []dataset.Photo, err error) {
	c, err := dataset.Open(ctx, dir, dataset.Options{})
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
		return nil, nil, fmt.Errorf("reading the collection: %w: %d images to index and %d to test; both are needed", cpar.ErrInput, len(train), len(test))
	}
	return train, test, nil
}

// Mixed returns c with n training images. Its own images come first. Each
// further image mixes the features of two images. Mixed images serve to measure
// costs that do not depend on content.
func (c *Corpus) Mixed(ctx context.Context, n int, progress user.Progress) (*Corpus, error) {
	out := *c
	out.TrainItems = nil
	if n <= len(c.Train) {
		out.Train = out.Train[:n]
		return &out, nil
	}
	mixed, err := MixFeatures(ctx, c.Train, n-len(c.Train), progress)
	if err != nil {
		return nil, fmt.Errorf("mixing features: %w", err)
	}
	out.Train = append(append(make([]user.Photo, 0, n), out.Train...), mixed...)
	return &out, nil
}

// ReadCorpus reads the images of a divided collection. It caches features in
// `cacheDir`, which must be outside the collection, unless it is "". If
// `network` is not nil, it adds an embedding to every image.
func ReadCorpus(ctx context.Context, train, test []dataset.Photo, cacheDir string, network *encoder.Encoder, progress user.Progress) (*Corpus, error) {
	var err error
	opt := user.ReadOptions{Progress: progress, Network: network}
	if cacheDir != "" {
		if opt.Cache, err = feature.OpenCache(cacheDir); err != nil {
			return nil, err
		}
	}
	out := new(Corpus)
	for _, part := range []struct {
		items []dataset.Photo
		to    *[]user.Photo
		from  *[]dataset.Photo
	}{{train, &out.Train, &out.TrainItems}, {test, &out.Test, &out.TestItems}} {
		images, skipped, err := user.ReadPhotos(ctx, part.items, opt)
		if err != nil {
			return nil, err
		}
		*part.to, *part.from = images, without(part.items, skipped)
	}
	return out, nil
}

// without returns the items that were not skipped, in the order in which
// user.ReadPhotos returns their photos.
func without(items []dataset.Photo, skipped []user.Skipped) []dataset.Photo {
	names := map[string]bool{}
	for _, s := range skipped {
		names[s.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(items), func(it dataset.Photo) bool { return names[it.Name] })
}

func Keywords(images []user.Photo) [][]string {
	return Map(images, func(im user.Photo) []string { return im.Keywords })
}

// A Session is an index that was built, encrypted, written to a folder and
// loaded by the server, together with the owner's plaintext.
type Session struct {
	*Index
	Corpus  *Corpus
	Builder *user.Builder
	Cloud   *score.Index
	// Twin searches the plaintext. It is nil in sessions made by OpenSession.
	Twin *user.Twin
	// Requests are the plaintext vectors of the test images.
	Requests []*vector.Vector
}

// NewSession builds an index of the training images and its plaintext twin. The
// default scheme is cpar.
func NewSession(ctx context.Context, c *Corpus, opt user.Options) (*Session, error) {
	s, err := OpenSession(ctx, c, opt)
	if err != nil {
		return nil, err
	}
	if s.Twin, err = s.Builder.Twin(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// OpenSession is like NewSession without a twin, which is too expensive for
// large collections.
func OpenSession(ctx context.Context, c *Corpus, opt user.Options) (*Session, error) {
	opt.Scheme = cmp.Or(opt.Scheme, cpar.SchemeCPAR)
	x, b, err := BuildIndex(ctx, user.NewKey(cpar.Schemes()...), c.Train, opt)
	if err != nil {
		return nil, err
	}
	s := &Session{Index: x, Corpus: c, Builder: b}
	if err := s.load(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Session) load() (err error) {
	if s.Cloud, err = score.Load(s.Manifest, s.Files.Segments()); err != nil {
		return err
	}
	s.Requests, err = s.Corpus.TestVectors(s.Builder.Owner)
	return err
}

func (s *Session) DeviceIndex() *device.Index {
	cloud := InProcess(func(q *cpar.Request) (*cpar.Reply, error) { return search.Annotate(s.Cloud, q) })
	return device.OpenedByHand(cloud, s.Builder.Owner, s.Cloud.Manifest)
}

// InOrderOf returns the corpus with its training images in the random order
// with number `draw`. Number 0 keeps their order.
func (c *Corpus) InOrderOf(draw int) *Corpus {
	if draw == 0 {
		return c
	}
	out := *c
	out.Train, out.TrainItems = slices.Clone(c.Train), slices.Clone(c.TrainItems)
	rng := rand.New(rand.NewPCG(uint64(draw), 0x64726177)) // "draw"
	rng.Shuffle(len(out.Train), func(i, j int) {
		out.Train[i], out.Train[j] = out.Train[j], out.Train[i]
		if len(out.TrainItems) > 0 {
			out.TrainItems[i], out.TrainItems[j] = out.TrainItems[j], out.TrainItems[i]
		}
	})
	return &out
}

func (c *Corpus) TestVectors(o *user.Owner) ([]*vector.Vector, error) {
	out := make([]*vector.Vector, len(c.Test))
	return out, Each(context.Background(), len(out), func(i int) (err error) {
		if out[i], err = o.Vector(c.Test[i].Vectors); err != nil {
			return fmt.Errorf("test image %d: %w", i, err)
		}
		return nil
	})
}

func (c *Corpus) TestName(i int) string {
	if i < len(c.TestItems) {
		return c.TestItems[i].Name
	}
	return fmt.Sprintf("test image %d", i)
}
