package user

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/parallel"
	"cpar/internal/wire"
	"cpar/user/combined"
	"cpar/user/feature"
	"cpar/user/learn"
	"cpar/user/rank"
	"cpar/user/vector"
)

const (
	// embeddedScale is how many units of z a length of 1 is, in schemes cpar and
	// capia: F is a million. Rounding then moves a distance d by about
	// √(2d/3)/1000, the noise by less.
	embeddedScale = 1000
	// learnLeast photos can be divided into the folds of package learn.
	learnLeast = 5
	// MaxEmbedded bounds the dimensions of a learnt vector.
	MaxEmbedded = 128
)

// embeddedFront is profiles `learned` and `network`: vectors of length 1 whose
// squared Euclidean distance was learnt from the collection's keywords.
type embeddedFront struct {
	profile    ProfileKind
	projection *learn.Projection
	// dim is what vectors are filled up to with zeros: how many directions there
	// are would tell how many keywords, where those are few.
	dim int
	// network is the digest of the network, and embedding the length of what it
	// gives; of profile `network` only.
	network   [sha256.Size]byte
	embedding int
}

// fitEmbedded learns the projection and the ranker, whose options it chooses by
// cross-validation on the collection alone.
func fitEmbedded(ctx context.Context, images []Image, opt Options) (*fitted, error) {
	f := &embeddedFront{profile: opt.Profile}
	if opt.Profile == ProfileNetwork {
		if len(images) == 0 || images[0].Vectors.Embedding == nil {
			return nil, hint.Add(fmt.Errorf("%w: profile network needs embeddings, and the images have none", cpar.ErrInput), "name an image network (--model FILE)")
		}
		f.network, f.embedding = images[0].Vectors.Embedding.Network, len(images[0].Vectors.Embedding.Values)
	}
	if len(images) < learnLeast {
		return nil, hint.Add(fmt.Errorf("%w: %d photos are too few to learn from; %d are the least", cpar.ErrInput, len(images), learnLeast), "profile paper learns nothing from keywords")
	}
	rows := make([][]float32, len(images))
	keywords := make([][]string, len(images))
	for i, im := range images {
		var err error
		if rows[i], err = f.row(im.Vectors); err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
		keywords[i] = im.Keywords
	}
	choice, numbers, err := f.choose(ctx, rows, keywords, opt)
	if err != nil {
		return nil, hint.Add(fmt.Errorf("learning from the collection's keywords: %w", err), "profile paper needs no keywords to learn from")
	}
	choice.Options.Progress = func(done, total int) { opt.Progress.Report("fit", done, total) }
	if f.projection, err = learn.Fit(rows, numbers, choice.Options); err != nil {
		return nil, err
	}
	f.dim = choice.Options.Dim
	fit := &fitted{front: f, ranker: choice.ranker, samples: choice.Samples, words: make([][]string, len(numbers))}
	for i, list := range numbers { // named as package learn names them
		for _, n := range list {
			fit.words[i] = append(fit.words[i], strconv.Itoa(n))
		}
	}
	return fit, nil
}

// A chosen is what cross-validation chose.
type chosen struct {
	*learn.Choice
	ranker *rank.Calibrated
}

// choose chooses the options of the projection, and a ranker for the words.
func (f *embeddedFront) choose(ctx context.Context, rows [][]float32, keywords [][]string, opt Options) (*chosen, [][]int, error) {
	words, numbers := numberWords(keywords)
	space := f.space()
	space.Most = opt.asked
	space.Base.Progress = func(done, total int) { opt.Progress.Report("learn", done, total) }
	choice, err := learn.Choose(ctx, rows, numbers, space)
	if err != nil {
		return nil, nil, err
	}
	ranker, err := choice.Ranker.Renamed(words)
	if err != nil {
		return nil, nil, err
	}
	return &chosen{Choice: choice, ranker: ranker}, numbers, nil
}

// numberWords numbers words in order of first occurrence.
func numberWords(keywords [][]string) (words []string, numbers [][]int) {
	seen := map[string]int{}
	numbers = make([][]int, len(keywords))
	for i, list := range keywords {
		numbers[i] = make([]int, len(list))
		for j, w := range list {
			n, ok := seen[w]
			if !ok {
				n = len(words)
				seen[w] = n
				words = append(words, w)
			}
			numbers[i][j] = n
		}
	}
	return words, numbers
}

// space is what the projection is chosen from.
func (f *embeddedFront) space() learn.Space {
	if f.profile == ProfileLearned {
		return learn.FeatureSpace()
	}
	return learn.EmbeddingSpace(f.embedding, true)
}

// row is what the projection takes. It refuses another network's embedding.
func (f *embeddedFront) row(photo *feature.Vectors) ([]float32, error) {
	if err := checkHaar(photo); err != nil {
		return nil, err
	}
	if f.profile == ProfileLearned {
		return learn.Row(photo), nil
	}
	e := photo.Embedding
	switch {
	case e == nil:
		return nil, f.noNetwork()
	case e.Network != f.network:
		return nil, f.otherNetwork(e.Network)
	case len(e.Values) != f.embedding:
		return nil, fmt.Errorf("%w: an embedding of %d values, want %d", cpar.ErrInput, len(e.Values), f.embedding)
	}
	return learn.EmbeddingRow(e.Values, photo), nil
}

func (f *embeddedFront) noNetwork() error {
	return hint.Add(fmt.Errorf("%w: the index was built with profile network, and no image network was named", cpar.ErrInput), "pass the model file that it was built with (--model FILE)")
}

// otherNetwork refuses an embedding whose distances would mean nothing.
func (f *embeddedFront) otherNetwork(digest [sha256.Size]byte) error {
	return hint.Add(fmt.Errorf("%w: the index was built with network %x…, this one is %x…", cpar.ErrInput, f.network[:6], digest[:6]),
		"pass the model file and the preprocessing that the index was built with, or build the index again with this one")
}

func (f *embeddedFront) kind() ProfileKind { return f.profile }

func (f *embeddedFront) shape() shape {
	return shape{plain: combined.SquaredL2(f.dim, embeddedScale), levels: f.dim}
}

func (f *embeddedFront) vector(photo *feature.Vectors) (*vector.Vector, error) {
	row, err := f.row(photo)
	if err != nil {
		return nil, err
	}
	x, err := f.projection.Apply(row)
	if err != nil {
		return nil, err
	}
	return vector.Embedded(x, f.dim)
}

func (f *embeddedFront) vectors(photos []*feature.Vectors) ([]*vector.Vector, error) {
	rows := make([][]float32, len(photos))
	for i, photo := range photos {
		var err error
		if rows[i], err = f.row(photo); err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
	}
	all, err := f.projection.ApplyAll(rows)
	if err != nil {
		return nil, err
	}
	out := make([]*vector.Vector, len(photos))
	for i, x := range all {
		if out[i], err = vector.Embedded(x, f.dim); err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
	}
	return out, nil
}

func (f *embeddedFront) appendBinary(b []byte) ([]byte, error) {
	le := binary.LittleEndian
	b = le.AppendUint16(b, uint16(f.dim))
	if f.profile == ProfileNetwork {
		b = append(b, f.network[:]...)
		b = le.AppendUint32(b, uint32(f.embedding))
	}
	enc, err := f.projection.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return append(le.AppendUint32(b, uint32(len(enc))), enc...), nil
}

func readEmbedded(r *wire.Reader, kind ProfileKind) (*embeddedFront, error) {
	f := &embeddedFront{profile: kind, dim: int(r.U16("dimensions"))}
	if kind == ProfileNetwork {
		copy(f.network[:], r.Bytes(len(f.network), "digest of the network"))
		f.embedding = int(r.U32("length of embeddings"))
	}
	enc := r.Bytes(r.Count(1, "bytes of a projection"), "projection")
	if r.Err() != nil {
		return nil, r.Err()
	}
	f.projection = new(learn.Projection)
	return f, f.projection.UnmarshalBinary(enc)
}

func (f *embeddedFront) validate() error {
	if f.dim < 1 || f.dim > MaxEmbedded || f.projection.Dim() > f.dim {
		return fmt.Errorf("%d directions in %d dimensions", f.projection.Dim(), f.dim)
	}
	want := 0
	for _, n := range f.space().Base.Blocks {
		want += n
	}
	if f.projection.In() != want {
		return fmt.Errorf("a projection of %d values, not %d", f.projection.In(), want)
	}
	return nil
}

// roundCoder is z of profiles `learned` and `network`: the vector, rounded.
type roundCoder struct{ dim int }

func (c roundCoder) embed(v *vector.Vector) ([]int32, error) {
	if len(v.X) != c.dim {
		return nil, fmt.Errorf("%w: a vector of %d dimensions, want %d", cpar.ErrInput, len(v.X), c.dim)
	}
	z := make([]int32, c.dim)
	for i, x := range v.X {
		z[i] = int32(math.RoundToEven(float64(x) * embeddedScale))
	}
	return z, nil
}

func (c roundCoder) embedAll(v []*vector.Vector) ([][]int16, error) {
	out := make([][]int16, len(v))
	errs := make([]error, len(v))
	parallel.For(len(v), func(i int) {
		var z []int32
		if z, errs[i] = c.embed(v[i]); errs[i] != nil {
			return
		}
		out[i] = make([]int16, len(z)) // lengths are at most 1: z is within ±1000
		for j, x := range z {
			out[i][j] = int16(x)
		}
	})
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("vector %d: %w", i, err)
		}
	}
	return out, nil
}
