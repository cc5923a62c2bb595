// Package eval is the paper's evaluation: it runs the owner's side and the cloud's side
// in one process and compares the encrypted search with its plaintext twin. It links both
// sides of the wall; only its own report and cmd/cpar-eval import it.
//
//	collection   ─▶ Lab (corpus, augmented images, indexes) ─▶ Measure… ─▶ a Result: Tables, Figures
//	Measurements ─▶ Plan: steps that are kept (step) ─▶ Results ─▶ CSV, plots, page (report)
package eval

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cpar"
	"cpar/cloud/score"
	"cpar/cloud/search"
	"cpar/encoder"
	"cpar/internal/indexdir"
	"cpar/model/feature"
	"cpar/model/vector"
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/device"
)

// A Corpus is an annotated collection with its features, divided into images to index and
// test images.
type Corpus struct {
	Train, Test []user.Photo
	// TrainItems and TestItems are the files of the images; empty if the corpus was not
	// read from files.
	TrainItems, TestItems []dataset.Photo
	// Skipped counts images that could not be decoded.
	Skipped int
}

// LoadCorpus reads the collection in dir, divided by its split.csv or with a tenth held
// out. Features are kept in cacheDir, which must not be inside the collection; "" for
// none. network, if not nil, gives every image an embedding, which is kept there too.
// Errors wrap cpar.ErrInput.
func LoadCorpus(ctx context.Context, dir, cacheDir string, network *encoder.Encoder, progress user.Progress) (*Corpus, error) {
	train, test, err := itemsOf(ctx, dir)
	if err != nil {
		return nil, err
	}
	return readCorpus(ctx, train, test, cacheDir, network, progress)
}

// LoadSample is LoadCorpus of at most so many images to index and to test, from all over
// the collection.
func LoadSample(ctx context.Context, dir, cacheDir string, indexed, tested int, progress user.Progress) (*Corpus, error) {
	train, test, err := itemsOf(ctx, dir)
	if err != nil {
		return nil, err
	}
	return readCorpus(ctx, evenlySpaced(train, indexed), evenlySpaced(test, tested), cacheDir, nil, progress)
}

// everySo returns n items at equal distances.
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

// itemsOf returns the divided collection in dir.
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

// Mixed returns c with n images to index, for what costs the same whatever they show: its
// own, then ones that are mixed from their features.
func (c *Corpus) Mixed(ctx context.Context, n int, progress user.Progress) (*Corpus, error) {
	out := *c
	out.TrainItems = nil
	if n <= len(c.Train) {
		out.Train = out.Train[:n]
		return &out, nil
	}
	mixed, err := mixFeatures(ctx, c.Train, n-len(c.Train), progress)
	if err != nil {
		return nil, fmt.Errorf("mixing features: %w", err)
	}
	out.Train = append(append(make([]user.Photo, 0, n), out.Train...), mixed...)
	return &out, nil
}

// corpusOf reads the images of a collection that is divided.
func readCorpus(ctx context.Context, train, test []dataset.Photo, cacheDir string, network *encoder.Encoder, progress user.Progress) (*Corpus, error) {
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
		out.Skipped += len(skipped)
	}
	return out, nil
}

// without returns the items that were not skipped, in the order of the images from ReadPhotos.
func without(items []dataset.Photo, skipped []user.Skipped) []dataset.Photo {
	names := map[string]bool{}
	for _, s := range skipped {
		names[s.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(items), func(it dataset.Photo) bool { return names[it.Name] })
}

// Keywords returns the keywords of images.
func Keywords(images []user.Photo) [][]string {
	out := make([][]string, len(images))
	for i, im := range images {
		out[i] = im.Keywords
	}
	return out
}

// A Session is an index that was built, encrypted, written to a folder and loaded as the
// cloud loads it, together with the owner's plaintext.
type Session struct {
	corpus  *Corpus
	Builder *user.Builder
	Cloud   *score.Index
	// Twin is nil if OpenSession made the session.
	Twin *user.Twin
	// Requests are the plaintext vectors of the test images.
	Requests []*vector.Vector
	files    *indexdir.Index
	folder   string
	// encryption is the time of Encrypt, whole that of Encrypt and Setup.
	encryption, whole time.Duration
}

// NewSession builds an index of the corpus's training images, with scheme cpar by
// default, and its twin.
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

// OpenSession is NewSession without the twin, for large collections.
func OpenSession(ctx context.Context, c *Corpus, opt user.Options) (*Session, error) {
	opt.Scheme = cmp.Or(opt.Scheme, cpar.SchemeCPAR)
	begun := time.Now()
	b, err := user.Setup(ctx, user.NewKey(cpar.Schemes()...), c.Train, opt)
	if err != nil {
		return nil, err
	}
	setup := time.Since(begun)
	folder, err := os.MkdirTemp("", "cpar-eval-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the index: %w: %w", cpar.ErrStorage, err)
	}
	s := &Session{corpus: c, Builder: b, folder: folder}
	if err := s.load(ctx); err != nil {
		s.Close()
		return nil, err
	}
	s.whole = setup + s.encryption
	return s, nil
}

func (s *Session) load(ctx context.Context) error {
	index := filepath.Join(s.folder, "index")
	begun := time.Now()
	if _, err := s.Builder.Encrypt(ctx, index); err != nil {
		return err
	}
	s.encryption = time.Since(begun)
	var err error
	if s.files, err = indexdir.Open(index); err != nil {
		return err
	}
	if s.Cloud, err = score.Load(s.files.Manifest(), s.files.Segments()); err != nil {
		return err
	}
	for i, im := range s.corpus.Test {
		v, err := s.Builder.Vector(im.Vectors)
		if err != nil {
			return fmt.Errorf("test image %d: %w", i, err)
		}
		s.Requests = append(s.Requests, v)
	}
	return nil
}

// opened returns the index as a device sees it.
func (s *Session) deviceIndex() *device.Index {
	cloud := inProcess(func(q *cpar.Request) (*cpar.Reply, error) { return search.Annotate(s.Cloud, q) })
	return device.OpenedByHand(cloud, s.Builder.Owner, s.Cloud.Manifest)
}

// Close removes the index.
func (s *Session) Close() {
	if s.files != nil {
		s.files.Release()
	}
	os.RemoveAll(s.folder)
}
