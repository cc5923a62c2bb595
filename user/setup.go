package user

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"unicode/utf8"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/kdforest"
	"cpar/user/dataset"
	"cpar/user/embed"
	"cpar/user/feature"
	"cpar/user/internal/keyword"
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
type Progress = progress.Func

// None, as a number of trees or lists, leaves that structure out.
const None = -1

// Options say how an index is built. The zero value is scheme cpar, profile `paper`
// with its own ranker, PCA-32, ten
// trees split along principal components with records in their leaves, dense
// ranks, and an inverted file: the best that was measured. The paper's own
// forest is SplitOriginal with cpar.PlaceNode.
type Options struct {
	Scheme  cpar.Scheme
	Profile ProfileKind
	// Ranker is what keywords are ranked by.
	Ranker RankerKind
	// PCA is of profile `paper`.
	PCA int
	// Like takes what another Builder has fitted, profile and ranker, instead of
	// fitting it again to these images; Profile, Ranker and PCA are then those of
	// Like. It is for measurements: indexes that share a front are not of
	// collections that know nothing of each other.
	Like *Builder
	// Trees of the forest: 0 means ten, None no forest.
	Trees int
	// Split is the space of the forest's planes, Place where records are.
	Split SplitSpace
	Place cpar.Place
	Order OrderScheme
	// Lists of the inverted file: 0 means cluster.DefaultLists, None no
	// inverted file.
	Lists int
	// Block is the block width of scheme sealed: a power of two from 32 to 256. With
	// profile `paper` it is wide enough that a request keeps cpar.MaxRequestBytes
	// (64 at PCA-16 to PCA-128, 128 at PCA-8). 0 means 128 there, and 32 with others.
	Block    int
	Progress Progress

	// fitted is what Tune has fitted on the same images; nil to fit it.
	fitted *fitted
	// asked bounds the photos of a cross-validation; 0 for the default of package
	// learn.
	asked int
	// testOnlyRand replaces crypto/rand, so that a test can pin the bytes of
	// an index. Never set outside tests.
	testOnlyRand io.Reader
}

func (o Options) withDefaults() (Options, error) {
	if o.Scheme == 0 {
		o.Scheme = cpar.SchemeCPAR
	}
	if o.Like != nil {
		o.Profile, o.Ranker, o.PCA = o.Like.opt.Profile, o.Like.opt.Ranker, o.Like.opt.PCA
	}
	if o.PCA == 0 {
		o.PCA = 32
	}
	if o.Trees == 0 {
		o.Trees = 10
	}
	if o.Scheme != cpar.SchemeCPAR {
		o.Trees, o.Lists = None, None
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
	case o.Trees < None || o.Trees > 64:
		return o, fmt.Errorf("%w: %d trees; 1 to 64 are possible", cpar.ErrInput, o.Trees)
	case o.Lists < None:
		return o, fmt.Errorf("%w: %d lists", cpar.ErrInput, o.Lists)
	case o.Scheme == cpar.SchemeCPAR && o.Trees == None && o.Lists == None:
		return o, fmt.Errorf("%w: scheme cpar needs trees or lists; capia is the scheme without either", cpar.ErrInput)
	case o.Split > SplitOriginal || o.Place > cpar.PlaceNode:
		return o, fmt.Errorf("%w: split space %d, place %d", cpar.ErrInput, o.Split, o.Place)
	case o.Scheme > cpar.SchemeLocal:
		return o, fmt.Errorf("%w: %v is not a scheme", cpar.ErrInput, o.Scheme)
	case !slices.Contains(profileKinds, o.Profile) || o.Ranker > RankerCalibrated:
		return o, fmt.Errorf("%w: %v, ranker %d", cpar.ErrInput, o.Profile, o.Ranker)
	case o.Order > OrderOPE:
		return o, fmt.Errorf("%w: order scheme %d", cpar.ErrInput, o.Order)
	}
	return o, o.checkBlock()
}

const minBlock, maxBlock = 32, 256

// checkBlock refuses a block width of which the requests would be more than a
// cloud takes: the index could be built and never be asked.
func (o Options) checkBlock() error {
	if o.Scheme != cpar.SchemeSealed || o.Block == 0 {
		return nil
	}
	if o.Block < minBlock || o.Block > maxBlock || bits.OnesCount(uint(o.Block)) != 1 {
		return hint.Add(fmt.Errorf("%w: blocks of %d", cpar.ErrInput, o.Block), "take a power of two from %d to %d", minBlock, maxBlock)
	}
	if o.Profile != ProfilePaper {
		return nil // a few blocks, whatever their width
	}
	least := 0
	for block := o.Block; block <= maxBlock && least == 0; block *= 2 {
		// Narrow blocks make requests large, and scores less certain.
		if q, err := newQuantiser(paperShape(vector.Dimension(haarDim/o.PCA)), block); err == nil && q.params.RequestSize() <= cpar.MaxRequestBytes {
			least = block
		}
	}
	if least == o.Block {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: at PCA-%d and blocks of %d a score could be wrong, or a request would have more than the %d bytes that a cloud takes", cpar.ErrInput, o.PCA, o.Block, cpar.MaxRequestBytes),
		"take blocks of %d", least)
}

// Setup learns from an annotated collection what its index needs: PCA bases,
// baselines, the forest and its split values, the keyword dictionary, and a
// random id. Nothing is encrypted yet; Encrypt of the result does that.
//
// Record i of the index is image Builder.Image(i): the records of a list of the
// inverted file lie together, and in a list they keep the order of images,
// which Shuffle has made random.
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
	p := &profile{scheme: opt.Scheme, records: uint32(len(images)), order: opt.Order}
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
	fit, err := fitFront(ctx, images, opt)
	if err != nil {
		return nil, fmt.Errorf("setting up an index: %w", err)
	}
	p.use(fit)
	if opt.Scheme == cpar.SchemeSealed || opt.Scheme == cpar.SchemeLocal {
		if err := p.startExact(opt.Block); err != nil {
			return nil, fmt.Errorf("setting up an index: %w", err)
		}
	}
	b := &Builder{opt: opt, keywords: keywords, images: make([]int, len(images)), Validation: fit.validation}
	for i := range b.images {
		b.images[i] = i
	}
	if b.vectors, err = p.vectors(ctx, images, opt.Progress); err != nil {
		return nil, fmt.Errorf("setting up an index: %w", err)
	}
	if err := b.project(key, p); err != nil {
		return nil, fmt.Errorf("setting up an index: %w", err)
	}
	if err := b.calibrate(ctx); err != nil {
		return nil, fmt.Errorf("setting up an index: calibrating its ranker: %w", err)
	}
	if err := b.structure(ctx, key, p); err != nil {
		return nil, fmt.Errorf("setting up an index: %w", err)
	}
	return b, nil
}

// project makes z of every record.
func (b *Builder) project(key *Key, p *profile) (err error) {
	if f, ok := p.front.(*paperFront); ok {
		if f.baselines, err = embed.Baselines(levelsOf(b.vectors), vector.Beta); err != nil {
			return err
		}
	}
	// An owner without planes has the projection and the budget.
	if b.Owner, err = newOwner(key, p); err != nil {
		return err
	}
	b.opt.Progress.Report("project", 0, len(b.vectors))
	b.z, err = b.coder.embedAll(b.vectors)
	b.opt.Progress.Report("project", len(b.vectors), len(b.vectors))
	return err
}

// structure makes what the records are searched by.
func (b *Builder) structure(ctx context.Context, key *Key, p *profile) (err error) {
	if b.opt.Lists != None {
		if err := b.cluster(ctx, key, p); err != nil {
			return err
		}
	}
	if b.opt.Trees == None {
		return nil
	}
	if err := b.plant(key, p, levelsOf(b.vectors)); err != nil {
		return err
	}
	b.Owner, err = newOwner(key, p)
	return err
}

// plant grows the forest over the points of the records.
func (b *Builder) plant(key *Key, p *profile, levels [][]uint16) (err error) {
	opt := b.opt
	opt.Progress.Report("forest", 0, opt.Trees)
	points := levels
	if opt.Split == SplitPCA {
		if p.split, points, err = fitSplitter(levels); err != nil {
			return err
		}
	}
	build := kdforest.BuildOptions{Trees: opt.Trees, Seed: key.derive("forest", p.id)} // split dimensions are drawn from a secret
	if opt.Place == cpar.PlaceLeaf {
		build.Place = kdforest.PlaceLeaf
	}
	if b.forest, p.planes, err = kdforest.Build(points, build); err != nil {
		return err
	}
	p.trees = uint8(opt.Trees)
	p.centres = centres(points, p.fields())
	opt.Progress.Report("forest", opt.Trees, opt.Trees)
	return nil
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

// centres returns the mean value of each field. A mean of vectors that keep
// the budget of package combined keeps it too, a midpoint need not.
func centres(points [][]uint16, fields []int) []uint16 {
	c := make([]uint16, len(fields))
	for i, f := range fields {
		sum := 0
		for _, row := range points {
			sum += int(row[f])
		}
		c[i] = uint16((sum + len(points)/2) / len(points))
	}
	return c
}

// vectors assembles the plaintext vector of every image.
func (p *profile) vectors(ctx context.Context, images []Image, progress Progress) ([]*vector.Vector, error) {
	out := make([]*vector.Vector, len(images))
	const together = 1024 // are projected at once
	for first := 0; first < len(images); first += together {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		progress.Report("vectors", first, len(images))
		some := images[first:min(first+together, len(images))]
		photos := make([]*feature.Vectors, len(some))
		for i, im := range some {
			photos[i] = im.Vectors
		}
		v, err := p.front.vectors(photos)
		if err != nil {
			return nil, fmt.Errorf("of the images from %d: %w", first, err)
		}
		copy(out[first:], v)
	}
	progress.Report("vectors", len(images), len(images))
	return out, nil
}
