package profile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/parallel"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/feature"
	"cpar/model/learn"
	"cpar/model/vector"
	"cpar/model/vectorlayout"
)

const (
	// unitsPerLength is the length of z, the encrypted integers, for a vector
	// of length 1. F, the squared units of z per unit of distance, is therefore
	// a million. Rounding changes a distance d by about √(2d/3)/1000, less than
	// the schemes' noise.
	unitsPerLength = 1000
	// minPhotos is the minimum that package learn can divide into folds.
	minPhotos = 5
	// MaxLearnedDim bounds the dimensions of a learnt vector.
	MaxLearnedDim = 128
)

// LearnedProfile implements profiles "learned" and "network". They give vectors
// of length 1, whose squared Euclidean distance was learnt from the
// collection's keywords.
type LearnedProfile struct {
	kind       Kind
	projection *learn.Projection
	// ridge replaces the projection's keyword guesses in small collections.
	// Otherwise it is nil.
	ridge *learn.KernelRidge
	// text is the prior of the ridge regression, nil without a text half.
	text *TextPrior
	// saturates is false for profiles of earlier versions, whose prior grows
	// linearly with the probability of a word's classes.
	saturates bool
	// dim is the length to which vectors are zero-padded, because the number of
	// directions would reveal a small number of keywords.
	dim int
	// network is the digest of the image network, for profile "network" only.
	network [sha256.Size]byte
	// embedding is the length of the network's embeddings.
	embedding int
}

// fitLearned learns the projection and the ranker. It chooses their options by
// cross-validation on the collection alone.
func fitLearned(ctx context.Context, kind Kind, photos []*feature.Vectors, keywords [][]string, opt Options) (*Fitted, error) {
	p := &LearnedProfile{kind: kind}
	if kind == Network {
		if len(photos) == 0 || photos[0].Embedding == nil {
			return nil, hint.Add(fmt.Errorf("%w: profile network needs embeddings, and the images have none", cpar.ErrInput), "name an image network (--model FILE)")
		}
		first, err := photos[0].Load()
		if err != nil {
			return nil, err
		}
		p.network, p.embedding = first.Embedding.Network, len(first.Embedding.Values)
	}
	if len(photos) < minPhotos {
		return nil, hint.Add(fmt.Errorf("%w: %d photos are too few to learn from, want at least %d", cpar.ErrInput, len(photos), minPhotos), "profile paper learns nothing from keywords")
	}
	rows := learn.Rows{N: len(photos), At: func(i int) ([]float32, error) {
		row, err := p.row(photos[i])
		if err != nil {
			err = fmt.Errorf("image %d: %w", i, err)
		}
		return row, err
	}}
	space := p.grid()
	space.MaxPhotos = opt.MaxValidationPhotos
	space.Base.Progress = func(done, total int) { opt.Progress.Report("learn", done, total) }
	choice, err := learn.Choose(ctx, rows, keywords, space)
	if err != nil {
		return nil, hint.Add(fmt.Errorf("learning from the collection's keywords: %w", err), "profile paper needs no keywords to learn from")
	}
	if kind == Network && len(choice.Samples) == len(photos) && len(photos) <= learn.MaxRidgePhotos {
		if err := p.fitFewTags(ctx, photos, keywords, opt.Text, choice); err != nil {
			return nil, err
		}
	}
	choice.Options.Progress = func(done, total int) { opt.Progress.Report("fit", done, total) }
	if p.projection, err = choice.Fit(ctx, rows, keywords); err != nil {
		return nil, err
	}
	p.dim = choice.Options.Dim
	return &Fitted{Profile: p, Ranker: choice.Ranker, Samples: choice.Samples}, nil
}

func (p *LearnedProfile) grid() learn.Grid {
	if p.kind == Learned {
		return learn.FeatureGrid()
	}
	return learn.EmbeddingGrid(p.embedding, true)
}

// row returns the projection's input for a photo. It rejects embeddings of
// other networks.
func (p *LearnedProfile) row(photo *feature.Vectors) ([]float32, error) {
	photo, err := photo.Load()
	if err != nil {
		return nil, err
	}
	if err := checkHaar(photo); err != nil {
		return nil, err
	}
	if p.kind == Learned {
		return learn.Row(photo), nil
	}
	e := photo.Embedding
	switch {
	case e == nil:
		return nil, NoNetwork()
	case e.Network != p.network:
		return nil, OtherNetwork(p.network, e.Network)
	case len(e.Values) != p.embedding:
		return nil, fmt.Errorf("%w: an embedding of %d values, want %d", cpar.ErrInput, len(e.Values), p.embedding)
	}
	return learn.EmbeddingRow(e.Values, photo), nil
}

// NoNetwork returns the error for an index that needs an image network.
func NoNetwork() error {
	return hint.Add(fmt.Errorf("%w: the index was built with profile network, and no image network was named", cpar.ErrInput), "pass the model file that it was built with (--model FILE)")
}

// OtherNetwork returns the error for an index built with another image network,
// because distances between embeddings of different networks are meaningless.
func OtherNetwork(want, got [sha256.Size]byte) error {
	return hint.Add(fmt.Errorf("%w: the index was built with network %x…, but this one is %x…", cpar.ErrInput, want[:6], got[:6]),
		"pass the model file and the preprocessing that the index was built with, or build the index again with this one")
}

func (p *LearnedProfile) Kind() Kind { return p.kind }

func (p *LearnedProfile) Dimensions() int { return p.dim }

func (p *LearnedProfile) Layout() vectorlayout.Params {
	return vectorlayout.SquaredL2(p.dim, unitsPerLength)
}

func (p *LearnedProfile) Network() (digest [32]byte, ok bool) { return p.network, p.kind == Network }

func (p *LearnedProfile) Vector(photo *feature.Vectors) (*vector.Vector, error) {
	row, err := p.row(photo)
	if err != nil {
		return nil, err
	}
	x, guess, err := p.projection.ApplyWithGuess(row)
	if err != nil {
		return nil, err
	}
	v, err := vector.Embedded(x, p.dim)
	if err != nil {
		return nil, err
	}
	v.Guess = guess
	if p.ridge == nil {
		return v, nil
	}
	row, prior, err := p.ridgeRow(photo)
	if err != nil {
		return nil, err
	}
	v.Guess, err = p.ridge.Guess(row, prior)
	return v, err
}

func (p *LearnedProfile) Vectors(photos []*feature.Vectors) ([]*vector.Vector, error) {
	rows, err := parallel.Map("image", len(photos), func(i int) ([]float32, error) { return p.row(photos[i]) })
	if err != nil {
		return nil, err
	}
	all, err := p.projection.ApplyAll(rows)
	if err != nil {
		return nil, err
	}
	return parallel.Map("image", len(all), func(i int) (*vector.Vector, error) { return vector.Embedded(all[i], p.dim) })
}

// ForCollection returns p, because no state of it depends on an index.
func (p *LearnedProfile) ForCollection([]*vector.Vector) (Profile, error) { return p, nil }

// Projector returns a projector that only scales and rounds, because these
// vectors are short enough to be encrypted directly.
func (p *LearnedProfile) Projector(seed.Secret) (Projector, error) {
	return roundingProjector{p.dim}, nil
}

type roundingProjector struct{ dim int }

func (r roundingProjector) Project(v *vector.Vector) ([]int16, error) {
	if len(v.X) != r.dim {
		return nil, fmt.Errorf("%w: a vector of %d dimensions, want %d", cpar.ErrInput, len(v.X), r.dim)
	}
	z := make([]int16, r.dim) // lengths are at most 1, so z is within ±1000
	for i, x := range v.X {
		z[i] = int16(math.RoundToEven(float64(x) * unitsPerLength))
	}
	return z, nil
}

func (r roundingProjector) ProjectAll(v []*vector.Vector) ([][]int16, error) {
	return parallel.Map("vector", len(v), func(i int) ([]int16, error) { return r.Project(v[i]) })
}

// Flags in the encoded dimensions, for a kernel ridge regression, for its text
// prior, and for a prior that saturates.
const hasRidge, hasText, hasSaturation = 1 << 15, 1 << 14, 1 << 13

// AppendBinary appends the dimensions, the network if any, the projection, and
// the kernel ridge regression and its text prior if any.
func (p *LearnedProfile) AppendBinary(b []byte) ([]byte, error) {
	le := binary.LittleEndian
	dim := uint16(p.dim)
	if p.ridge != nil {
		dim |= hasRidge
	}
	if p.text != nil {
		dim |= hasText
	}
	if p.saturates {
		dim |= hasSaturation
	}
	b = le.AppendUint16(b, dim)
	if p.kind == Network {
		b = append(b, p.network[:]...)
		b = le.AppendUint32(b, uint32(p.embedding))
	}
	b, err := wire.AppendEncoded(b, p.projection)
	if err != nil || p.ridge == nil {
		return b, err
	}
	if b, err = wire.AppendEncoded(b, p.ridge); err != nil || p.text == nil {
		return b, err
	}
	return wire.AppendEncoded(b, p.text)
}

func readLearned(r *wire.Reader, kind Kind) (*LearnedProfile, error) {
	dim := r.U16("dimensions")
	p := &LearnedProfile{kind: kind, dim: int(dim &^ (hasRidge | hasText | hasSaturation)), saturates: dim&hasSaturation != 0, projection: new(learn.Projection)}
	if kind == Network {
		copy(p.network[:], r.Bytes(len(p.network), "digest of the network"))
		p.embedding = int(r.U32("length of embeddings"))
	}
	err := r.Encoded("projection", p.projection)
	if err == nil && dim&hasRidge != 0 {
		p.ridge = new(learn.KernelRidge)
		err = r.Encoded("kernel ridge regression", p.ridge)
	}
	if err == nil && dim&hasText != 0 {
		p.text = new(TextPrior)
		err = r.Encoded("text prior", p.text)
	}
	return p, err
}

func (p *LearnedProfile) Validate() error {
	if p.dim < 1 || p.dim > MaxLearnedDim || p.projection.Dim() > p.dim {
		return fmt.Errorf("%d directions in %d dimensions", p.projection.Dim(), p.dim)
	}
	want := 0
	for _, n := range p.grid().Base.Blocks {
		want += n
	}
	if p.projection.In() != want {
		return fmt.Errorf("a projection of %d values, not %d", p.projection.In(), want)
	}
	if p.text != nil && (p.ridge == nil || len(p.text.mean) != p.embedding) {
		return fmt.Errorf("a text prior of %d values for embeddings of %d", len(p.text.mean), p.embedding)
	}
	if p.saturates && (p.ridge == nil || !p.classifies()) {
		return fmt.Errorf("a prior of classes without a regression or without known classes")
	}
	if p.ridge != nil && (p.kind != Network || p.ridge.In() != p.ridgeIn()) {
		return fmt.Errorf("a kernel ridge regression of %d values, not %d, for profile %v", p.ridge.In(), p.ridgeIn(), p.kind)
	}
	return nil
}
