package user

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/wire"
	"cpar/user/combined"
	"cpar/user/embed"
	"cpar/user/feature"
	"cpar/user/pca"
	"cpar/user/vector"
)

// paperFront is profile `paper`: PCA of haar and haarq, then L1 normalisation,
// levels, smoothed lab.
type paperFront struct {
	// factor is X of PCA-X: haar and haarq keep 4096/X dimensions.
	factor      uint16
	haar, haarq *pca.Basis
	// baselines holds, for each L1 coordinate, the level from which the unary
	// walk starts.
	baselines []uint16
}

// fitPaper fits the bases of haar and haarq on the collection. The baselines are
// those of its vectors, which the bases come before.
func fitPaper(ctx context.Context, images []Image, opt Options) (*paperFront, error) {
	f := &paperFront{factor: uint16(opt.PCA)}
	rows := make([][]float32, len(images))
	for i, part := range []struct {
		basis **pca.Basis
		of    func(*feature.Vectors) []float32
		name  string
	}{
		{&f.haar, func(v *feature.Vectors) []float32 { return v.Haar }, "haar"},
		{&f.haarq, func(v *feature.Vectors) []float32 { return v.HaarQ }, "haarq"},
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		opt.Progress.Report("pca", i, 2)
		for j, im := range images {
			rows[j] = part.of(im.Vectors)
		}
		basis, err := pca.Fit(rows, haarDim/opt.PCA, 1)
		if err != nil {
			return nil, fmt.Errorf("fitting PCA-%d to %s: %w", opt.PCA, part.name, err)
		}
		*part.basis = basis
	}
	opt.Progress.Report("pca", 2, 2)
	return f, nil
}

func (f *paperFront) kind() ProfileKind { return ProfilePaper }

func (f *paperFront) shape() shape {
	levels := vector.Dimension(f.haar.Out())
	return shape{plain: paperShape(levels), levels: levels}
}

// paperShape is that of so many levels.
func paperShape(levels int) combined.Params {
	return combined.L1KL(embed.Dimension(levels, vector.Beta, Alpha, Gamma), vector.DimensionKL, vector.Beta)
}

func (f *paperFront) vector(photo *feature.Vectors) (*vector.Vector, error) {
	if err := checkHaar(photo); err != nil {
		return nil, err
	}
	return assemble(photo, f.haar.Project(nil, photo.Haar), f.haarq.Project(nil, photo.HaarQ))
}

func (f *paperFront) vectors(photos []*feature.Vectors) ([]*vector.Vector, error) {
	rows, rowsQ := make([][]float32, len(photos)), make([][]float32, len(photos))
	for i, photo := range photos {
		if err := checkHaar(photo); err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
		rows[i], rowsQ[i] = photo.Haar, photo.HaarQ
	}
	haar, err := f.haar.ProjectAll(rows)
	if err != nil {
		return nil, err
	}
	haarq, err := f.haarq.ProjectAll(rowsQ)
	if err != nil {
		return nil, err
	}
	out := make([]*vector.Vector, len(photos))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, photo := range photos {
		group.Go(func() (err error) {
			if out[i], err = assemble(photo, haar[i], haarq[i]); err != nil {
				return fmt.Errorf("image %d: %w", i, err)
			}
			return nil
		})
	}
	return out, group.Wait()
}

func checkHaar(f *feature.Vectors) error {
	if len(f.Haar) != haarDim || len(f.HaarQ) != haarDim {
		return fmt.Errorf("%w: haar of %d and haarq of %d values, want %d", cpar.ErrInput, len(f.Haar), len(f.HaarQ), haarDim)
	}
	return nil
}

// assemble is a vector of a haar and a haarq that are projected already.
func assemble(f *feature.Vectors, haar, haarq []float64) (*vector.Vector, error) {
	return vector.New(vector.Features{
		RGB: widen(f.RGB), HSV: widen(f.HSV), Lab: widen(f.Lab),
		Gabor: widen(f.Gabor), GaborQ: widen(f.GaborQ),
		Haar: haar, HaarQ: haarq,
	})
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func (f *paperFront) appendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint16(b, f.factor)
	for _, basis := range []*pca.Basis{f.haar, f.haarq} {
		var err error
		if b, err = appendBasis(b, basis); err != nil {
			return nil, err
		}
	}
	return appendLevels(b, f.baselines), nil
}

func readPaper(r *wire.Reader) (*paperFront, error) {
	f := &paperFront{factor: r.U16("PCA factor")}
	var err error
	for _, basis := range []**pca.Basis{&f.haar, &f.haarq} {
		if *basis, err = readBasis(r); err != nil {
			return nil, err
		}
	}
	f.baselines = readLevels(r, "baselines")
	return f, r.Err()
}

func (f *paperFront) validate() error {
	if f.haar.In() != haarDim || f.haarq.In() != haarDim || f.haar.Out() != f.haarq.Out() || f.haar.Out()*int(f.factor) != haarDim {
		return fmt.Errorf("PCA-%d, bases %d×%d and %d×%d", f.factor, f.haar.Out(), f.haar.In(), f.haarq.Out(), f.haarq.In())
	}
	if dims := vector.Dimension(f.haar.Out()); len(f.baselines) != dims {
		return fmt.Errorf("%d baselines for %d dimensions", len(f.baselines), dims)
	}
	for _, level := range f.baselines {
		if level > maxLevel {
			return fmt.Errorf("level %d", level)
		}
	}
	return nil
}

// walkCoder is z of profile `paper`: a secret Johnson–Lindenstrauss projection of
// the levels.
type walkCoder struct{ *embed.Projection }

func (c walkCoder) embed(v *vector.Vector) ([]int32, error) { return c.Embed(nil, v.Levels) }

func (c walkCoder) embedAll(v []*vector.Vector) ([][]int16, error) { return c.EmbedAll(levelsOf(v)) }

func levelsOf(v []*vector.Vector) [][]uint16 {
	rows := make([][]uint16, len(v))
	for i, x := range v {
		rows[i] = x.Levels
	}
	return rows
}
