package user

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/kdforest"
	"cpar/user/dataset"
	"cpar/user/embed"
	"cpar/user/feature"
	"cpar/user/internal/keyword"
	"cpar/user/pca"
	"cpar/user/vector"
)

// Dimensions of the `paper` profile.
const (
	// haarDim is the length of haar and of haarq before PCA.
	haarDim = 4096
	// colourAndGabor is rgb 48 + hsv 48 + gabor 256 + gaborq 256.
	colourAndGabor = 48 + 48 + 256 + 256
	maxLevel       = vector.Beta
)

// PCAFactors are the X of PCA-X that can be chosen; the paper's choice is 32.
var PCAFactors = []int{8, 16, 32, 64, 128}

// An Image is an annotated image of a collection: its seven raw vectors and
// its keywords, at most 31.
type Image struct {
	Vectors  *feature.Vectors
	Keywords []string
}

// Progress is told how far a stage has come. It may be nil, and is called by
// several goroutines at once.
type Progress func(stage string, done, total int)

func (p Progress) report(stage string, done, total int) {
	if p != nil {
		p(stage, done, total)
	}
}

// Options say how an index is built. The zero value is the paper's: scheme
// cpar, PCA-32, ten trees, dense ranks.
type Options struct {
	Scheme   cpar.Scheme
	PCA      int
	Trees    int
	Order    OrderScheme
	Progress Progress

	// testOnlyRand replaces crypto/rand, so that a test can pin the bytes of
	// an index. Never set outside tests.
	testOnlyRand io.Reader
}

func (o Options) withDefaults() (Options, error) {
	if o.Scheme == 0 {
		o.Scheme = cpar.SchemeCPAR
	}
	if o.PCA == 0 {
		o.PCA = 32
	}
	if o.Trees == 0 {
		o.Trees = 10
	}
	if o.testOnlyRand == nil {
		o.testOnlyRand = rand.Reader
	}
	known := false
	for _, x := range PCAFactors {
		known = known || x == o.PCA
	}
	switch {
	case !known:
		return o, fmt.Errorf("%w: PCA-%d; choose one of %v", cpar.ErrInput, o.PCA, PCAFactors)
	case o.Trees < 1 || o.Trees > 64:
		return o, fmt.Errorf("%w: %d trees; 1 to 64 are possible", cpar.ErrInput, o.Trees)
	case o.Scheme != cpar.SchemeCPAR && o.Scheme != cpar.SchemeCAPIA:
		return o, fmt.Errorf("%w: %v is not a scheme", cpar.ErrInput, o.Scheme)
	case o.Order > OrderOPE:
		return o, fmt.Errorf("%w: order scheme %d", cpar.ErrInput, o.Order)
	}
	return o, nil
}

// Setup learns from an annotated collection what its index needs: PCA bases,
// baselines, the forest and its split values, the keyword dictionary, and a
// random id. Nothing is encrypted yet; Encrypt of the result does that.
//
// Record i of the index is image i: see Shuffle.
//
// It keeps the images' vectors (864 levels and 48 floats an image) until
// Encrypt, but not the raw features.
func Setup(ctx context.Context, key *Key, images []Image, opt Options) (*Builder, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("setting up an index: %w", err)
	}
	if len(images) == 0 || len(images) > cpar.MaxRecords {
		return nil, fmt.Errorf("setting up an index: %w: %d images; 1 to %d are possible", cpar.ErrInput, len(images), cpar.MaxRecords)
	}
	p := &profile{records: uint32(len(images)), pcaFactor: uint16(opt.PCA), order: opt.Order}
	if _, err := io.ReadFull(opt.testOnlyRand, p.id[:]); err != nil {
		return nil, fmt.Errorf("setting up an index: drawing its id: %w", err)
	}
	keywords := make([][]string, len(images))
	for i, im := range images {
		if err := checkKeywords(im.Keywords); err != nil {
			return nil, fmt.Errorf("setting up an index: image %d: %w", i, err)
		}
		keywords[i] = im.Keywords
	}
	if p.dict, err = keyword.NewDictionary(keywords); err != nil {
		return nil, fmt.Errorf("setting up an index: %w", err)
	}
	if err := p.fitPCA(ctx, images, opt); err != nil {
		return nil, fmt.Errorf("setting up an index: %w", err)
	}
	b := &Builder{opt: opt, keywords: keywords}
	if b.vectors, err = p.vectors(ctx, images, opt.Progress); err != nil {
		return nil, fmt.Errorf("setting up an index: %w", err)
	}
	levels := b.levels()
	if p.baselines, err = embed.Baselines(levels, vector.Beta); err != nil {
		return nil, fmt.Errorf("setting up an index: %w", err)
	}
	if opt.Scheme == cpar.SchemeCPAR {
		opt.Progress.report("forest", 0, opt.Trees)
		var err error
		// The split dimensions are drawn from a secret seed.
		b.forest, p.planes, err = kdforest.Build(levels, kdforest.BuildOptions{Trees: opt.Trees, Seed: key.derive("forest", p.id)})
		if err != nil {
			return nil, fmt.Errorf("setting up an index: %w", err)
		}
		p.trees = uint8(opt.Trees)
		p.centres = centres(levels, p.fields())
		opt.Progress.report("forest", opt.Trees, opt.Trees)
	}
	if b.Owner, err = newOwner(key, p); err != nil {
		return nil, fmt.Errorf("setting up an index: %w", err)
	}
	return b, nil
}

// checkKeywords refuses what could be encrypted and never read again.
func checkKeywords(words []string) error {
	if len(words) > keyword.Max {
		return fmt.Errorf("%w: %d keywords; a record holds at most %d", cpar.ErrInput, len(words), keyword.Max)
	}
	for i, w := range words {
		if w == "" || len(w) > dataset.MaxKeywordBytes || !utf8.ValidString(w) {
			return fmt.Errorf("%w: keyword %d is not 1 to %d bytes of UTF-8", cpar.ErrInput, i, dataset.MaxKeywordBytes)
		}
	}
	return nil
}

// fitPCA fits the bases of haar and haarq on the collection.
func (p *profile) fitPCA(ctx context.Context, images []Image, opt Options) error {
	rows := make([][]float32, len(images))
	for i, part := range []struct {
		basis **pca.Basis
		of    func(*feature.Vectors) []float32
		name  string
	}{
		{&p.haar, func(v *feature.Vectors) []float32 { return v.Haar }, "haar"},
		{&p.haarq, func(v *feature.Vectors) []float32 { return v.HaarQ }, "haarq"},
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		opt.Progress.report("pca", i, 2)
		for j, im := range images {
			rows[j] = part.of(im.Vectors)
		}
		basis, err := pca.Fit(rows, haarDim/opt.PCA, 1)
		if err != nil {
			return fmt.Errorf("fitting PCA-%d to %s: %w", opt.PCA, part.name, err)
		}
		*part.basis = basis
	}
	opt.Progress.report("pca", 2, 2)
	return nil
}

// centres returns the mean level of each field. A mean of vectors that keep
// the budget of package combined keeps it too, a midpoint need not.
func centres(levels [][]uint16, fields []int) []uint16 {
	c := make([]uint16, len(fields))
	for i, f := range fields {
		sum := 0
		for _, row := range levels {
			sum += int(row[f])
		}
		c[i] = uint16((sum + len(levels)/2) / len(levels))
	}
	return c
}

// vectors assembles the plaintext vector of every image.
func (p *profile) vectors(ctx context.Context, images []Image, progress Progress) ([]*vector.Vector, error) {
	out := make([]*vector.Vector, len(images))
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, im := range images {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			v, err := p.vector(im.Vectors)
			if err != nil {
				return fmt.Errorf("image %d: %w", i, err)
			}
			out[i] = v
			if n := int(done.Add(1)); n%256 == 0 {
				progress.report("vectors", n, len(images))
			}
			return nil
		})
	}
	err := group.Wait()
	progress.report("vectors", len(images), len(images))
	return out, err
}
