package profile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"cpar"
	"cpar/encoder/zeroshot"
	"cpar/internal/hint"
	"cpar/internal/parallel"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/feature"
	"cpar/model/pca"
	"cpar/model/vector"
	"cpar/model/vectorlayout"
)

// ClipDims are the possible dimensions of profile "clip", the default first.
var ClipDims = []int{128, 256, 512}

// ClipProfile implements profile "clip". Let x be the embedding of a photo and
// t the vector of a text by the two halves of a CLIP-like network, both scaled
// to length 1. Let P be the first d principal components of the photos, which
// are orthonormal. Vectors are scaled to length 1, too:
//
//	photo  P(x − mean of the photos)     text  P(t − mean of the texts)
//
// Inner products survive up to the components that P leaves out. Images and
// texts fill different parts of the space (Liang et al., "Mind the gap", NeurIPS
// 2022). Each side is therefore centred by its own mean.
type ClipProfile struct {
	network [sha256.Size]byte
	basis   *pca.Basis
	texts   []float32 // mean of the texts, nil if the profile was fitted without a text half
}

func fitClip(ctx context.Context, photos []*feature.Vectors, keywords [][]string, opt Options) (*ClipProfile, error) {
	if len(photos) == 0 || photos[0].Embedding == nil {
		return nil, hint.Add(fmt.Errorf("%w: profile clip needs embeddings, and the images have none", cpar.ErrInput), "name an image network (--model FILE)")
	}
	if opt.Text == nil {
		return nil, hint.Add(fmt.Errorf("%w: profile clip needs the text half of the image network, and none was named", cpar.ErrInput), "pass --text-model, or take profile network")
	}
	opt.Dim = cmp.Or(opt.Dim, ClipDims[0])
	loaded, err := photos[0].Load()
	if err != nil {
		return nil, err
	}
	first := loaded.Embedding
	p := &ClipProfile{network: first.Network, basis: new(pca.Basis)}
	rows, err := parallel.Map("image", len(photos), func(i int) ([]float32, error) { return clipRow(photos[i], p.network, len(first.Values)) })
	if err != nil {
		return nil, err
	}
	opt.Progress.Report("pca", 0, 2)
	if p.basis, err = pca.Fit(ctx, rows, min(opt.Dim, len(first.Values)), 1); err != nil {
		return nil, fmt.Errorf("fitting profile clip: %w", err)
	}
	opt.Progress.Report("pca", 1, 2)
	words := slices.Concat(commonWords(keywords), zeroshot.Everyday())
	slices.Sort(words)
	if p.texts, err = p.meanText(slices.Compact(words), opt.Text); err != nil {
		return nil, err
	}
	opt.Progress.Report("pca", 2, 2)
	return p, nil
}

// clipRow returns the embedding of a photo, scaled to length 1.
func clipRow(photo *feature.Vectors, network [sha256.Size]byte, length int) ([]float32, error) {
	photo, err := photo.Load()
	if err != nil {
		return nil, err
	}
	e := photo.Embedding
	switch {
	case e == nil:
		return nil, NoNetwork()
	case e.Network != network:
		return nil, OtherNetwork(network, e.Network)
	case len(e.Values) != length:
		return nil, fmt.Errorf("%w: an embedding of %d values, want %d", cpar.ErrInput, len(e.Values), length)
	}
	return narrow(unit(e.Values)), nil
}

func narrow(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

func (p *ClipProfile) meanText(words []string, text TextVectors) ([]float32, error) {
	vectors, err := text(words)
	if err != nil {
		return nil, err
	}
	mean := make([]float64, p.basis.In())
	for _, v := range vectors {
		if err := p.checkText(v); err != nil {
			return nil, err
		}
		floats.Add(mean, unit(v))
	}
	floats.Scale(1/float64(max(1, len(vectors))), mean)
	return narrow(mean), nil
}

func (p *ClipProfile) checkText(v []float32) error {
	if len(v) != p.basis.In() {
		return hint.Add(fmt.Errorf("%w: the image network gives %d values and the text half %d", cpar.ErrInput, p.basis.In(), len(v)),
			"pass the text half that came with --model")
	}
	return nil
}

// project returns P(x − mean), scaled to length 1.
func (p *ClipProfile) project(x []float32) []float32 {
	y := p.basis.Project(x)
	if norm := floats.Norm(y, 2); norm > 0 {
		floats.Scale(1/norm, y)
	}
	return narrow(y)
}

// TextVector returns the vector of a text, by the text half with which the
// profile was fitted.
func (p *ClipProfile) TextVector(text []float32) ([]float32, error) {
	if err := p.checkText(text); err != nil {
		return nil, err
	}
	// Project subtracts the mean of the photos, so add it first.
	shifted := unit(text)
	for i, mean := range p.basis.Mean() {
		shifted[i] += float64(mean) - float64(p.texts[i])
	}
	return p.project(narrow(shifted)), nil
}

func (p *ClipProfile) Kind() Kind { return Clip }

func (p *ClipProfile) Dimensions() int { return p.basis.Out() }

func (p *ClipProfile) Layout() vectorlayout.Params {
	return vectorlayout.SquaredL2(p.basis.Out(), unitsPerLength)
}

func (p *ClipProfile) Network() (digest [32]byte, ok bool) { return p.network, true }

func (p *ClipProfile) Vector(photo *feature.Vectors) (*vector.Vector, error) {
	row, err := clipRow(photo, p.network, p.basis.In())
	if err != nil {
		return nil, err
	}
	return vector.Embedded(p.project(row), p.basis.Out())
}

func (p *ClipProfile) Vectors(photos []*feature.Vectors) ([]*vector.Vector, error) {
	return parallel.Map("image", len(photos), func(i int) (*vector.Vector, error) { return p.Vector(photos[i]) })
}

// ForCollection returns p, because no state of it depends on an index.
func (p *ClipProfile) ForCollection([]*vector.Vector) (Profile, error) { return p, nil }

// Projector returns a projector that only scales and rounds.
func (p *ClipProfile) Projector(seed.Secret) (Projector, error) {
	return roundingProjector{p.basis.Out()}, nil
}

// AppendBinary appends the network's digest, the basis and the texts' mean.
func (p *ClipProfile) AppendBinary(b []byte) ([]byte, error) {
	b, err := wire.AppendEncoded(append(b, p.network[:]...), p.basis)
	for _, x := range p.texts {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b, err
}

func readClip(r *wire.Reader) (*ClipProfile, error) {
	p := &ClipProfile{basis: new(pca.Basis)}
	copy(p.network[:], r.Bytes(len(p.network), "digest of the network"))
	if err := r.Encoded("PCA basis", p.basis); err != nil {
		return nil, err
	}
	for range p.basis.In() {
		p.texts = append(p.texts, math.Float32frombits(r.U32("mean of the texts")))
	}
	return p, r.Err()
}

func (p *ClipProfile) Validate() error {
	if p.basis.Out() > ClipDims[len(ClipDims)-1] {
		return fmt.Errorf("%d dimensions", p.basis.Out())
	}
	for _, x := range p.texts {
		if x-x != 0 {
			return fmt.Errorf("a mean of %v", x)
		}
	}
	return nil
}
