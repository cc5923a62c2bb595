package profile

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"cpar"
	"cpar/internal/parallel"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/embed"
	"cpar/model/feature"
	"cpar/model/pca"
	"cpar/model/vector"
	"cpar/model/vectorlayout"
)

// Alpha and Gamma are the paper's α and γ in m̂ = α·m·log_γ(β+1), the length of
// z (package embed).
const (
	Alpha = 1
	Gamma = 100
)

// DefaultPCA is the X in PCA-X that the paper uses.
const DefaultPCA = 32

// PCAFactors are the supported X in PCA-X.
var PCAFactors = []int{8, 16, 32, 64, 128}

// PaperProfile implements profile "paper": PCA of the Haar features haar and
// haarq, L1 normalisation, rounding to levels, and a smoothed lab histogram.
type PaperProfile struct {
	// factor is X in PCA-X. haar and haarq keep 4096/X dimensions.
	factor      uint16
	haar, haarq *pca.Basis
	// baselines holds the level at which the unary walks (package embed) of
	// each coordinate start. It is nil until ForCollection.
	baselines []uint16
}

// maxFitted is the number of photos from which principal components are
// computed. Their rows then take 410 MB. Fewer photos keep less of the variance
// of other photos: of haarq, 10.6 % with 1,125 photos and 13.5 % with 4,500.
const maxFitted = 20_000

func fitPaper(ctx context.Context, photos []*feature.Vectors, opt Options) (*PaperProfile, error) {
	p := &PaperProfile{factor: uint16(opt.PCA)}
	some := photos
	if len(photos) > maxFitted {
		some = nil
		for _, i := range rand.New(rand.NewPCG(1, 0x7061706572)).Perm(len(photos))[:maxFitted] { // "paper"
			some = append(some, photos[i])
		}
	}
	opt.Progress.Report("pca", 0, 2)
	haarq := make([][]int8, len(some)) // a quarter of the memory of float32 until haar is fitted
	rows, err := parallel.Map("image", len(some), func(i int) ([]float32, error) {
		photo, err := some[i].Load()
		if err == nil {
			err = checkHaar(photo)
		}
		if err != nil {
			return nil, err
		}
		haarq[i] = make([]int8, 0, feature.HaarDim)
		for _, x := range photo.HaarQ {
			haarq[i] = append(haarq[i], int8(x))
		}
		return photo.Haar, nil
	})
	if err != nil {
		return nil, err
	}
	if p.haar, err = pca.Fit(ctx, rows, feature.HaarDim/opt.PCA, 1); err != nil {
		return nil, fmt.Errorf("fitting PCA-%d to haar: %w", opt.PCA, err)
	}
	opt.Progress.Report("pca", 1, 2)
	for i, values := range haarq {
		rows[i] = make([]float32, len(values))
		for j, x := range values {
			rows[i][j] = float32(x)
		}
	}
	if p.haarq, err = pca.Fit(ctx, rows, feature.HaarDim/opt.PCA, 1); err != nil {
		return nil, fmt.Errorf("fitting PCA-%d to haarq: %w", opt.PCA, err)
	}
	opt.Progress.Report("pca", 2, 2)
	return p, nil
}

func (p *PaperProfile) Kind() Kind { return Paper }

func (p *PaperProfile) Dimensions() int { return vector.Dimension(p.haar.Out()) }

func (p *PaperProfile) Layout() vectorlayout.Params { return PaperLayout(int(p.factor)) }

// PaperLayout returns the layout of profile "paper" with PCA-X for X = factor.
func PaperLayout(factor int) vectorlayout.Params {
	levels := vector.Dimension(feature.HaarDim / factor)
	return vectorlayout.L1KL(embed.Dimension(levels, vector.Beta, Alpha, Gamma), vector.DimensionKL, vector.Beta)
}

func (p *PaperProfile) Network() (digest [32]byte, ok bool) { return digest, false }

func (p *PaperProfile) Vector(photo *feature.Vectors) (*vector.Vector, error) {
	f, err := p.Features(photo)
	if err != nil {
		return nil, err
	}
	return vector.New(f)
}

// Features returns a photo's features with haar and haarq after PCA.
func (p *PaperProfile) Features(photo *feature.Vectors) (vector.Features, error) {
	photo, err := photo.Load()
	if err == nil {
		err = checkHaar(photo)
	}
	if err != nil {
		return vector.Features{}, err
	}
	return features(photo, p.haar.Project(photo.Haar), p.haarq.Project(photo.HaarQ)), nil
}

func (p *PaperProfile) Vectors(photos []*feature.Vectors) ([]*vector.Vector, error) {
	photos, err := parallel.Map("image", len(photos), func(i int) (*feature.Vectors, error) { return photos[i].Load() })
	if err != nil {
		return nil, err
	}
	rows, rowsQ := make([][]float32, len(photos)), make([][]float32, len(photos))
	for i, photo := range photos {
		if err := checkHaar(photo); err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
		rows[i], rowsQ[i] = photo.Haar, photo.HaarQ
	}
	haar, err := p.haar.ProjectAll(rows)
	if err != nil {
		return nil, err
	}
	haarq, err := p.haarq.ProjectAll(rowsQ)
	if err != nil {
		return nil, err
	}
	return parallel.Map("image", len(photos), func(i int) (*vector.Vector, error) { return vector.New(features(photos[i], haar[i], haarq[i])) })
}

func checkHaar(f *feature.Vectors) error {
	if len(f.Haar) != feature.HaarDim || len(f.HaarQ) != feature.HaarDim {
		return fmt.Errorf("%w: haar of %d and haarq of %d values, want %d", cpar.ErrInput, len(f.Haar), len(f.HaarQ), feature.HaarDim)
	}
	return nil
}

func features(f *feature.Vectors, haar, haarq []float64) vector.Features {
	return vector.Features{
		RGB: wide(f.RGB), HSV: wide(f.HSV), Lab: wide(f.Lab),
		Gabor: wide(f.Gabor), GaborQ: wide(f.GaborQ),
		Haar: haar, HaarQ: haarq,
	}
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// ForCollection returns a copy of the profile whose baselines are the median
// levels of vectors.
func (p *PaperProfile) ForCollection(vectors []*vector.Vector) (Profile, error) {
	own := *p
	var err error
	own.baselines, err = embed.Baselines(levelsOf(vectors), vector.Beta)
	return &own, err
}

// Baselines returns the levels at which unary walks (package embed) start, one
// per coordinate.
func (p *PaperProfile) Baselines() []uint16 { return p.baselines }

// Projector returns the secret Johnson–Lindenstrauss projection of the levels.
func (p *PaperProfile) Projector(secret seed.Secret) (Projector, error) {
	projection, err := embed.New(secret, p.Dimensions(), vector.Beta, p.Layout().JL, p.baselines)
	return PaperProjector{projection}, err
}

type PaperProjector struct{ *embed.Projection }

func (w PaperProjector) Project(v *vector.Vector) ([]int16, error) { return w.Embed(v.Levels) }

func (w PaperProjector) ProjectAll(v []*vector.Vector) ([][]int16, error) {
	return w.EmbedAll(levelsOf(v))
}

func levelsOf(v []*vector.Vector) [][]uint16 {
	rows := make([][]uint16, len(v))
	for i, x := range v {
		rows[i] = x.Levels
	}
	return rows
}

// AppendBinary appends the factor, the two bases and the baselines.
func (p *PaperProfile) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint16(b, p.factor)
	for _, basis := range []*pca.Basis{p.haar, p.haarq} {
		var err error
		if b, err = wire.AppendEncoded(b, basis); err != nil {
			return nil, err
		}
	}
	return wire.AppendU16s(b, p.baselines), nil
}

func readPaper(r *wire.Reader) (*PaperProfile, error) {
	p := &PaperProfile{factor: r.U16("PCA factor")}
	p.haar, p.haarq = new(pca.Basis), new(pca.Basis)
	for _, basis := range []*pca.Basis{p.haar, p.haarq} {
		if err := r.Encoded("PCA basis", basis); err != nil {
			return nil, err
		}
	}
	p.baselines = r.U16s("baselines")
	return p, r.Err()
}

func (p *PaperProfile) Validate() error {
	if p.haar.In() != feature.HaarDim || p.haarq.In() != feature.HaarDim || p.haar.Out() != p.haarq.Out() || p.haar.Out()*int(p.factor) != feature.HaarDim {
		return fmt.Errorf("PCA-%d, bases %d×%d and %d×%d", p.factor, p.haar.Out(), p.haar.In(), p.haarq.Out(), p.haarq.In())
	}
	if dims := p.Dimensions(); len(p.baselines) != dims {
		return fmt.Errorf("%d baselines for %d dimensions", len(p.baselines), dims)
	}
	for _, level := range p.baselines {
		if level > vector.Beta {
			return fmt.Errorf("level %d", level)
		}
	}
	return nil
}
