package aspe

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"cpar"
	"cpar/internal/enum"
	"cpar/internal/wire"
	"cpar/model/pca"
	"cpar/model/vector"
)

// A Split selects the space whose dimensions a forest's planes split.
type Split uint8

const (
	// SplitPCA splits along principal components of the 864 levels (quantised
	// features). It finds more neighbours for the same number of visited
	// records (package eval, structures).
	SplitPCA Split = 0
	// SplitOriginal splits the levels themselves, as in the paper.
	SplitOriginal Split = 1
)

var splits = enum.Table[Split]{What: "split space", Names: []string{"pca", "original"}}

func (s Split) String() string { return splits.String(s) }

func ParseSplit(name string) (Split, error) { return splits.Parse(name, cpar.ErrInput) }

// splitComponents is the number of principal components that planes may split.
const splitComponents = 64

// A splitter converts levels to points that planes split. The zero value
// returns the levels.
type splitter struct {
	// basis covers only the levels compared by L1 distance. Along a component, the
	// distance is at most the L2 distance, which is at most the L1 distance.
	basis *pca.Basis
	// step is the number of levels per unit of a point.
	step float64
}

// fitSplitter learns the principal components of a collection's levels and the
// step that keeps the points within the range of levels.
func fitSplitter(ctx context.Context, levels [][]uint16) (splitter, [][]uint16, error) {
	rows := make([][]float32, len(levels))
	for i, l := range levels {
		rows[i] = make([]float32, len(l))
		for j, x := range l {
			rows[i][j] = float32(x)
		}
	}
	basis, err := pca.Fit(ctx, rows, splitComponents, 1)
	if err != nil {
		return splitter{}, nil, fmt.Errorf("fitting the split space: %w", err)
	}
	projected, err := basis.ProjectAll(rows)
	if err != nil {
		return splitter{}, nil, fmt.Errorf("fitting the split space: %w", err)
	}
	farthest := 0.0
	for _, p := range projected {
		for _, x := range p {
			farthest = max(farthest, math.Abs(x))
		}
	}
	s := splitter{basis: basis, step: max(farthest, 1) / (vector.Beta / 2)}
	points := make([][]uint16, len(projected))
	for i, p := range projected {
		points[i] = s.quantise(p)
	}
	return s, points, nil
}

func (s splitter) dims(levels int) int {
	if s.basis == nil {
		return levels
	}
	return s.basis.Out()
}

func (s splitter) unit() float64 {
	if s.basis == nil {
		return 1
	}
	return s.step
}

func (s splitter) point(levels []uint16) []uint16 {
	if s.basis == nil {
		return levels
	}
	x := make([]float32, len(levels))
	for i, l := range levels {
		x[i] = float32(l)
	}
	return s.quantise(s.basis.Project(x))
}

func (s splitter) quantise(p []float64) []uint16 {
	out := make([]uint16, len(p))
	for i, x := range p {
		level := math.Round(x/s.step) + (vector.Beta+1)/2
		out[i] = uint16(min(max(level, 0), vector.Beta))
	}
	return out
}

func (s splitter) appendBinary(b []byte) ([]byte, error) {
	if s.basis == nil {
		return append(b, byte(SplitOriginal)), nil
	}
	b = append(b, byte(SplitPCA))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s.step))
	return wire.AppendEncoded(b, s.basis)
}

func readSplitter(r *wire.Reader) (s splitter, err error) {
	switch space := Split(r.U8("split space")); space {
	case SplitOriginal:
		return s, nil
	case SplitPCA:
		s.step = math.Float64frombits(r.U64("split step"))
		if r.Err() == nil && !(s.step > 0 && s.step < math.MaxFloat32) {
			r.Fail("split step %g", s.step)
		}
		s.basis = new(pca.Basis)
		return s, r.Encoded("split basis", s.basis)
	default:
		r.Fail("split space %d", space)
		return s, nil
	}
}
