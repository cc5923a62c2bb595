package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"time"

	"cpar"
	"cpar/encoder"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/user"
)

// A Lab is what the measurements of one run share: the collection, enlarged if a
// measurement needs it, and an index of it. Everything is made on first use, so that a
// run whose results exist opens nothing.
//
// It is for one goroutine.
type Lab struct {
	// Data is the folder of the collection, Cache a folder that keeps features.
	Data, Cache string
	// Model is the file of an image network, "" for none; the images of the corpus then
	// have its embeddings. How says how it is read.
	Model    string
	ModelOptions      encoder.OpenOptions
	Progress user.Progress
	// Draw is the order of the images to index: 0 is the collection's own.
	Draw int

	corpus  *Corpus
	network *encoder.Encoder
	digest  string
	session *Session
	extra   []user.Photo // images beyond the real ones, in order
}

// Digest covers the whole collection: every item's name, keywords, half and bytes.
func (l *Lab) Digest(ctx context.Context) (string, error) {
	if l.digest != "" {
		return l.digest, nil
	}
	c, err := dataset.Open(ctx, l.Data, dataset.Options{})
	if err != nil {
		return "", err
	}
	train, test, ok, err := c.Split()
	if err != nil {
		return "", err
	}
	if !ok {
		train, test = dataset.HeldOut(c, 10)
	}
	h := sha256.New()
	for _, half := range [][]dataset.Photo{train, test} {
		fmt.Fprintf(h, "%d items\n", len(half))
		for _, it := range half {
			if err := ctx.Err(); err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%q %q\n", it.Name, it.Keywords)
			if err := hashFile(h, it.Path); err != nil {
				return "", err
			}
		}
	}
	l.digest = hex.EncodeToString(h.Sum(nil))
	return l.digest, nil
}

func hashFile(h hash.Hash, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the collection: %w: %w", cpar.ErrInput, err)
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("reading the collection: %w: %w", cpar.ErrInput, err)
	}
	return nil
}

// Network returns the image network of Model, nil if there is none.
func (l *Lab) Network() (*encoder.Encoder, error) {
	if l.network == nil && l.Model != "" {
		n, err := encoder.Open(l.Model, l.ModelOptions)
		if err != nil {
			return nil, err
		}
		l.network = n
	}
	return l.network, nil
}

// Corpus returns the collection as it is, with features, in the order of the draw.
func (l *Lab) Corpus(ctx context.Context) (*Corpus, error) {
	c, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	return c.inOrderOf(l.Draw), nil
}

// read returns it in its own order.
func (l *Lab) read(ctx context.Context) (*Corpus, error) {
	if l.corpus == nil {
		network, err := l.Network()
		if err != nil {
			return nil, err
		}
		c, err := LoadCorpus(ctx, l.Data, l.Cache, network, l.Progress)
		if err != nil {
			return nil, err
		}
		l.corpus = c
	}
	return l.corpus, nil
}

// Session returns an index of the untouched training images, with forest, lists and its
// twin.
func (l *Lab) Session(ctx context.Context) (*Session, *Corpus, error) {
	c, err := l.Corpus(ctx)
	if err != nil {
		return nil, nil, err
	}
	if l.session == nil {
		if l.session, err = NewSession(ctx, c, user.Options{WithLists: true, Progress: l.Progress}); err != nil {
			return nil, nil, err
		}
	}
	return l.session, c, nil
}

// Collection returns n images to index: the real training images, then augmented ones.
// The test images are untouched.
func (l *Lab) Collection(ctx context.Context, n int) (*Corpus, error) {
	c, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	out := *c.inOrderOf(l.Draw)
	if n <= len(c.Train) {
		out.Train, out.TrainItems = out.Train[:n], nil
		return &out, nil
	}
	if missing := n - len(c.Train); len(l.extra) < missing {
		pixels := min(missing, max(0, pixelLimit-len(c.Train)))
		if len(l.extra) < pixels {
			if l.extra, err = l.augmented(ctx, c, pixels); err != nil {
				return nil, err
			}
			embedAugmented(c, l.extra)
		}
		if rest := missing - pixels; rest > 0 {
			base := append(append([]user.Photo(nil), c.Train...), l.extra[:pixels]...)
			mixed, err := mixFeatures(ctx, base, rest, l.Progress)
			if err != nil {
				return nil, fmt.Errorf("mixing features: %w", err)
			}
			l.extra = append(l.extra[:pixels:pixels], mixed...)
		}
	}
	out.Train = append(append(make([]user.Photo, 0, n), out.Train...), l.extra[:n-len(c.Train)]...)
	out.TrainItems = nil
	return &out, nil
}

// kind says how the n images of a Collection were made.
func (c *Corpus) kind(n int) string {
	switch {
	case n <= len(c.Train):
		return "real"
	case n <= max(pixelLimit, len(c.Train)):
		return "augmented"
	}
	return "augmented and mixed"
}

// A Built is an index with the cost of building it.
type Built struct {
	*Session
	Cost BuildCost
}

// BuildCost is the cost of building an index; times are wall-clock times on all cores.
type BuildCost struct {
	PCA     float64 `json:"pca_s"`
	Vectors float64 `json:"vectors_s"`
	Project float64 `json:"project_s"`
	Lists   float64 `json:"lists_s"`
	Forest  float64 `json:"forest_s"`
	Encrypt float64 `json:"encrypt_s"`
	// Whole is the total from raw features to the index on disk.
	Whole float64 `json:"whole_s"`
	// PeakMB is the peak memory of the process, including the collection's raw features;
	// RawMB is the size of these.
	PeakMB     float64 `json:"peak_rss_mb"`
	RawMB      float64 `json:"raw_features_mb"`
	IndexBytes uint64  `json:"index_bytes"`
	Fields     uint32  `json:"split_fields"`
	Planes     uint32  `json:"planes"`
}

// Build builds an index of n images, with forest and lists; the caller must close it.
func (l *Lab) Build(ctx context.Context, n int) (*Built, error) {
	c, err := l.Collection(ctx, n)
	if err != nil {
		return nil, err
	}
	clock := stageClock{report: l.Progress, spans: map[string]time.Duration{}}
	resetPeakMemory()
	s, err := OpenSession(ctx, c, user.Options{WithLists: true, Progress: clock.progress})
	if err != nil {
		return nil, err
	}
	m := s.Cloud.Manifest
	return &Built{Session: s, Cost: BuildCost{
		PCA:     clock.spans["pca"].Seconds(),
		Vectors: clock.spans["vectors"].Seconds(),
		Project: clock.spans["project"].Seconds(),
		Lists:   clock.spans["lists"].Seconds(),
		Forest:  clock.spans["forest"].Seconds(),
		Encrypt: s.encryption.Seconds(),
		Whole:   s.whole.Seconds(),
		PeakMB:  peakMB(),
		RawMB:   float64(n) * 4 * (3*feature.ColorDim + 2*feature.GaborDim + 2*feature.HaarDim + feature.PatchDim) / (1 << 20),

		IndexBytes: m.Bytes(), Fields: m.Fields, Planes: m.Planes,
	}}, nil
}

// stageClock times the stages that a build reports. A stage begins with its first report
// or, if that reports work already done, with the last report before it.
type stageClock struct {
	report user.Progress

	mu          sync.Mutex // stages report from several goroutines
	spans       map[string]time.Duration
	stage       string
	begun, last time.Time
}

func (s *stageClock) progress(stage string, done, total int) {
	s.mu.Lock()
	now := time.Now()
	if stage != s.stage {
		s.stage, s.begun = stage, now
		if done > 0 && !s.last.IsZero() {
			s.begun = s.last
		}
	}
	s.last = now
	s.spans[stage] = now.Sub(s.begun)
	s.mu.Unlock()
	if s.report != nil {
		s.report(stage, done, total)
	}
}

func (l *Lab) dropSession() {
	if l.session != nil {
		l.session.Close()
		l.session = nil
	}
}

// Close removes the index.
func (l *Lab) Close() { l.dropSession() }
