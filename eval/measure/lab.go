package measure

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

// A Lab holds the collection and the index that the measurements of a run
// share. It creates both on first use, so that a run whose results are stored
// opens nothing. Only one goroutine may use a Lab.
type Lab struct {
	// Data is the folder of the collection. Cache is a folder for features.
	Data, Cache string
	// Model is the file of an image network that adds embeddings to the corpus,
	// or "".
	Model        string
	ModelOptions encoder.OpenOptions
	Progress     user.Progress
	// Draw selects a random order of the training images. The value 0 keeps the
	// collection's own order.
	Draw int

	corpus  *Corpus
	network *encoder.Encoder
	digest  string
	session *Session
}

func LabOf(c *Corpus, digest string) *Lab { return &Lab{corpus: c, digest: digest} }

func (l *Lab) SetNetwork(n *encoder.Encoder) { l.network = n }

// Digest returns a hash of every photo's name, keywords and bytes, and of the
// division into training and test images.
func (l *Lab) Digest(ctx context.Context) (string, error) {
	if l.digest != "" {
		return l.digest, nil
	}
	train, test, err := itemsOf(ctx, l.Data)
	if err != nil {
		return "", err
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

// Corpus returns the real collection with features, in the order of Lab.Draw.
func (l *Lab) Corpus(ctx context.Context) (*Corpus, error) {
	c, err := l.ReadCorpus(ctx)
	if err != nil {
		return nil, err
	}
	return c.InOrderOf(l.Draw), nil
}

func (l *Lab) ReadCorpus(ctx context.Context) (*Corpus, error) {
	if l.corpus == nil {
		network, err := l.Network()
		if err != nil {
			return nil, err
		}
		train, test, err := itemsOf(ctx, l.Data)
		if err != nil {
			return nil, err
		}
		if l.corpus, err = ReadCorpus(ctx, train, test, l.Cache, network, l.Progress); err != nil {
			return nil, err
		}
	}
	return l.corpus, nil
}

// Session returns an index of the real training images, with a forest, an
// inverted file and a plaintext twin.
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

// Collection returns a corpus with n training images (see Corpus.Mixed) and the
// real test images.
func (l *Lab) Collection(ctx context.Context, n int) (*Corpus, error) {
	c, err := l.Corpus(ctx)
	if err != nil {
		return nil, err
	}
	return c.Mixed(ctx, n, l.Progress)
}

// Kind describes the origin of the n training images of a Collection.
func (c *Corpus) Kind(n int) string {
	if n <= len(c.Train) {
		return "real"
	}
	return "real and mixed"
}

type Built struct {
	*Session
	Kind string // origin of the images (see Corpus.Kind)
	Cost BuildCost
}

// BuildCost is the cost of building an index. Times are wall-clock seconds on
// all cores.
type BuildCost struct {
	PCA     float64 `json:"pca_s"`
	Vectors float64 `json:"vectors_s"`
	Project float64 `json:"project_s"`
	Lists   float64 `json:"lists_s"`
	Forest  float64 `json:"forest_s"`
	Encrypt float64 `json:"encrypt_s"`
	// Whole is the time from raw features to the index on disk.
	Whole float64 `json:"whole_s"`
	// PeakMB is the peak memory of the process in 2²⁰ bytes. It includes RawMB,
	// the size of the raw features.
	PeakMB     float64 `json:"peak_rss_mb"`
	RawMB      float64 `json:"raw_features_mb"`
	IndexBytes uint64  `json:"index_bytes"`
	// Fields is the number of split fields (dimensions of the feature vectors).
	// Planes is the number of splits of the forest.
	Fields uint32 `json:"split_fields"`
	Planes uint32 `json:"planes"`
}

// Build builds an index of n images, with a forest and an inverted file. The
// caller must close it.
func (l *Lab) Build(ctx context.Context, n int) (*Built, error) {
	own, err := l.Corpus(ctx)
	if err != nil {
		return nil, err
	}
	c, err := own.Mixed(ctx, n, l.Progress)
	if err != nil {
		return nil, err
	}
	clock := StageClock{Report: l.Progress, Spans: map[string]time.Duration{}}
	ResetPeakMemory()
	s, err := OpenSession(ctx, c, user.Options{WithLists: true, Progress: clock.Progress})
	if err != nil {
		return nil, err
	}
	m := s.Cloud.Manifest
	return &Built{Session: s, Kind: own.Kind(n), Cost: BuildCost{
		PCA:     clock.Spans["pca"].Seconds(),
		Vectors: clock.Spans["vectors"].Seconds(),
		Project: clock.Spans["project"].Seconds(),
		Lists:   clock.Spans["lists"].Seconds(),
		Forest:  clock.Spans["forest"].Seconds(),
		Encrypt: s.EncryptTime.Seconds(),
		Whole:   s.BuildTime.Seconds(),
		PeakMB:  PeakMB(),
		RawMB:   float64(n) * 4 * (3*feature.ColorDim + 2*feature.GaborDim + 2*feature.HaarDim + feature.PatchDim) / (1 << 20),

		IndexBytes: m.Bytes(), Fields: m.Fields, Planes: m.Planes,
	}}, nil
}

// A StageClock times the stages of a build. A stage begins at its first report,
// or at the previous report if the first already counts completed work.
type StageClock struct {
	Report user.Progress

	mu          sync.Mutex // needed because several goroutines report stages
	Spans       map[string]time.Duration
	stage       string
	begun, last time.Time
}

func (s *StageClock) Progress(stage string, done, total int) {
	s.mu.Lock()
	now := time.Now()
	if stage != s.stage {
		s.stage, s.begun = stage, now
		if done > 0 && !s.last.IsZero() {
			s.begun = s.last
		}
	}
	s.last = now
	s.Spans[stage] = now.Sub(s.begun)
	s.mu.Unlock()
	s.Report.Report(stage, done, total)
}

func (l *Lab) dropSession() {
	if l.session != nil {
		l.session.Close()
		l.session = nil
	}
}

func (l *Lab) Close() { l.dropSession() }
