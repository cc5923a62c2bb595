// Package learn fits a projection of photo features that is as informative as
// possible about the photos' keywords.
//
//	Fit:    n rows of numbers, n keyword lists ─▶ Projection
//	Choose: the same ─▶ Options by cross-validation, and a calibrated ranker
//	Apply:  one row ─▶ vector of Dim numbers and length 1, keyword guesses
//
// A row is a sequence of blocks: the features of package feature (Row,
// FeatureGrid) or the output of a network (EmbeddingRow, EmbeddingGrid). Fit
// takes the signed square root of every value, so that distances of histograms
// become Hellinger distances. It centres each block, reduces it to its first
// principal components and divides it by its total standard deviation, so that
// blocks have equal weight. It then computes regularised canonical correlations
// with the keywords (Hotelling, "Relations between two sets of variates",
// Biometrika 1936, with the ridge of Vinod, "Canonical ridge and econometrics
// of joint production", 1976). In the keyword matrix, the column of a keyword t
// on f_t of n photos holds log(n/f_t) for these photos and 0 for others. Let
// Cxx, Cyy and Cxy be the covariances of the p features, of the v keywords, and
// between them. Let ρ be Options.Ridge, I an identity matrix and tr the trace.
// With
//
//	A = Cxx + ρ·tr(Cxx)/p·I,  B = Cyy + ρ·tr(Cyy)/v·I,  A^{-1/2} Cxy B^{-1/2} = U S Vᵀ
//
// the projection is A^{-1/2} U S, or A^{-1/2} U S² with Options.Square.
// Cross-validation picks one of the two. Vectors are scaled to length 1, so the
// squared Euclidean distance of two vectors is 2 − 2·cosine, at most 4.
//
// # Landmarks
//
// With landmarks, a photo is represented by its similarities to m photos of the
// collection, and the projection is linear in these similarities. This is
// kernel canonical correlation (as in Ballan, Uricchio, Seidenari, Del Bimbo,
// "A cross-media model for automatic image annotation", ICMR 2014) by Nyström's
// approximation (Williams, Seeger, "Using the Nyström method to speed up kernel
// machines", NIPS 2000). The kernel is a weighted mean of one kernel per block,
// with weights w that sum to 1,
//
//	k(x, l) = Σ_i w_i·exp(−‖x_i − l_i‖²/(2·median_i))
//
// where median_i is the median squared distance among the landmarks. Landmarks
// are derived from private photos and need the same protection.
//
// # Guesses
//
// The covariances also give a ridge regression of the keywords themselves: A⁻¹
// Cxy, with Cxy for keywords without weights. It estimates keywords from the
// photo's own features, without neighbours, and package rank blends the
// estimate with the neighbours' votes. The guess costs the server nothing and
// never leaves the device.
//
// # Rounding
//
// Fit rounds components, landmarks, directions and regression to int16 with one
// scale per row, so that an encoding is small and reproduces the same vectors
// exactly.
//
// A Projection reveals much about the collection and stays with the owner.
package learn

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"cpar"
	"cpar/internal/parallel"
	"cpar/model/feature"
	"cpar/model/rank"
)

const (
	MaxDim        = 512
	MaxLandmarks  = 2048
	MaxComponents = 512 // per block, in an encoding
	MaxBlocks     = 64
	maxWeight     = 16
)

// Options configures Fit. Dim and Ridge are required.
type Options struct {
	Dim    int     // directions to keep, 1 to MaxDim
	Ridge  float64 // ρ of the package comment
	Blocks []int   // lengths of the blocks of a row, in order, nil for a single block
	Skip   []bool  // blocks to leave out, nil for none
	// Weights are the kernel weights of the blocks, 1/16 to 16, nil for equal
	// weights. They matter only with landmarks.
	Weights []float32
	// Square weights each direction by its squared correlation.
	Square    bool
	Landmarks int    // number of landmarks, capped at n/2, 0 for none
	Seed      uint64 // seeds principal components and sampling, not secret
	// Progress, if set, is called after every step, by one goroutine at a time.
	Progress func(done, total int) `json:"-"`
}

// Projection turns rows into vectors. It is safe for concurrent use.
type Projection struct {
	blocks    []block
	landmarks matrix16  // m × p, empty without landmarks
	mean      []float32 // mean of the q values that `direction` multiplies
	direction matrix16  // dim × q
	guess     guesser
}

// block holds the reduction of one block. A skipped block has no basis.
type block struct {
	length int
	scale  float32 // 1 / total standard deviation
	width  float32 // factor in the kernel exp(−width·‖x − l‖²), 0 without landmarks
	weight float32 // kernel weight, 1 without landmarks
	mean   []float32
	basis  matrix16 // components × length
}

func (p *Projection) In() int {
	in := 0
	for _, b := range p.blocks {
		in += b.length
	}
	return in
}

// Dim returns the number of values of a vector, at most Options.Dim.
func (p *Projection) Dim() int { return p.direction.rows }

// Apply projects one row. The result has length 1, or is all 0 if the row
// equals the collection's centre. Errors wrap cpar.ErrInput.
func (p *Projection) Apply(row []float32) ([]float32, error) {
	x, err := p.centred(row)
	if err != nil {
		return nil, err
	}
	return unit(p.direction.times(x)), nil
}

func (p *Projection) ApplyWithGuess(row []float32) ([]float32, *rank.Guess, error) {
	x, err := p.centred(row)
	if err != nil {
		return nil, nil, err
	}
	return unit(p.direction.times(x)), p.guess.guess(x), nil
}

// centred reduces and centres the row. The directions and the keyword
// regression apply to its result.
func (p *Projection) centred(values []float32) ([]float64, error) {
	if err := checkRow(values, p.In()); err != nil {
		return nil, fmt.Errorf("projecting features: %w", err)
	}
	x := row(p.reduce([][]float32{values}), 0)
	if p.landmarks.rows > 0 {
		x = p.similarities(x)
	}
	for i, m := range p.mean {
		x[i] -= float64(m)
	}
	return x, nil
}

func checkRow(row []float32, in int) error {
	if len(row) != in {
		return fmt.Errorf("%w: %d values, want %d", cpar.ErrInput, len(row), in)
	}
	for i, v := range row {
		if v-v != 0 {
			return fmt.Errorf("%w: value %d is %v", cpar.ErrInput, i, v)
		}
	}
	return nil
}

const appliedRows = 128 // rows that a core projects at once, which fit in its cache

// ApplyAll is Apply for many rows, on all cores, up to rounding.
func (p *Projection) ApplyAll(rows [][]float32) ([][]float32, error) {
	for i, r := range rows {
		if err := checkRow(r, p.In()); err != nil {
			return nil, fmt.Errorf("projecting features: row %d: %w", i, err)
		}
	}
	out, landmarks := make([][]float32, len(rows)), p.landmarks.dense()
	parallel.For((len(rows)+appliedRows-1)/appliedRows, func(batch int) {
		from := batch * appliedRows
		x := p.reduce(rows[from:min(from+appliedRows, len(rows))])
		if p.landmarks.rows > 0 {
			x = p.kernel(x, landmarks)
		}
		for i := range x.Data {
			x.Data[i] -= float64(p.mean[i%x.Cols])
		}
		vectors := p.direction.timesAll(x)
		for i := range x.Rows {
			out[from+i] = unit(row(vectors, i))
		}
	})
	return out, nil
}

// reduce returns the scaled components of all blocks, p values per row.
func (p *Projection) reduce(rows [][]float32) blas64.General {
	width := 0
	for _, b := range p.blocks {
		width += b.basis.rows
	}
	x, from, to := matrix(len(rows), width), 0, 0
	for _, b := range p.blocks {
		if b.basis.rows > 0 {
			centred := matrix(len(rows), b.length)
			for i, r := range rows {
				for j, v := range signedRoot(r[from : from+b.length]) {
					row(centred, i)[j] = float64(v) - float64(b.mean[j])
				}
			}
			part := b.basis.timesAll(centred)
			for i := range rows {
				floats.AddScaled(row(x, i)[to:to+part.Cols], float64(b.scale), row(part, i))
			}
			to += part.Cols
		}
		from += b.length
	}
	return x
}

func signedRoot(x []float32) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(math.Copysign(math.Sqrt(math.Abs(float64(v))), float64(v)))
	}
	return out
}

// similarities returns k(x, l) for every landmark l.
func (p *Projection) similarities(x []float64) []float64 {
	out := make([]float64, p.landmarks.rows)
	for i := range out {
		at, scale, total := p.landmarks.row(i), float64(p.landmarks.scale[i]), float64(0)
		x := x
		for _, b := range p.blocks {
			n := b.basis.rows
			if n == 0 {
				continue
			}
			square := 0.0
			for j, l := range at[:n] {
				d := x[j] - scale*float64(l)
				square += d * d
			}
			out[i] += float64(b.weight) * math.Exp(-float64(b.width)*square)
			at, x, total = at[n:], x[n:], total+float64(b.weight)
		}
		out[i] /= total
	}
	return out
}

func unit(x []float64) []float32 {
	out := make([]float32, len(x))
	norm := blas64.Nrm2(blas64.Vector{N: len(x), Inc: 1, Data: x})
	if norm > 0 && !math.IsInf(norm, 0) {
		for i, v := range x {
			out[i] = float32(v / norm)
		}
	}
	return out
}

func matrix(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]float64, rows*cols)}
}

func Row(v *feature.Vectors) []float32 {
	var parts [][]float32
	for _, b := range feature.Blocks() {
		parts = append(parts, b.Of(v))
	}
	return slices.Concat(parts...)
}

// FeatureGrid returns the Grid for Row. Its trials use either all features or
// all except the quantised ones, gaborq and haarq.
func FeatureGrid() Grid {
	var lengths []int
	var weights []float32
	var quantised []bool
	for _, b := range feature.Blocks() {
		lengths = append(lengths, b.Len)
		weight := float32(1)
		if b.Name == "patches" {
			weight = 6 // about half of the kernel: patches are the most informative (docs/quality.md)
		}
		weights = append(weights, weight)
		quantised = append(quantised, b.Kind == feature.Quantised)
	}
	return Grid{Base: Options{Blocks: lengths, Weights: weights}, Skips: [][]bool{nil, quantised}}
}

// EmbeddingRow concatenates a network's embedding with the colour histograms
// and patches of v, if v is not nil.
func EmbeddingRow(embedding []float32, v *feature.Vectors) []float32 {
	if v == nil {
		return slices.Clone(embedding)
	}
	return slices.Concat(embedding, v.RGB, v.HSV, v.Lab, v.Patches)
}

// EmbeddingGrid returns the Grid for embeddings of `dim` values. If `features`
// is set, rows also have features, and cross-validation decides whether these
// help.
func EmbeddingGrid(dim int, features bool) Grid {
	s := Grid{Base: Options{Blocks: []int{dim}}}
	if features {
		s.Base.Blocks = append(s.Base.Blocks, feature.ColorDim, feature.ColorDim, feature.ColorDim, feature.PatchDim)
		s.Skips = [][]bool{nil, {false, true, true, true, true}}
		// An embedding is more informative than the features.
		s.Base.Weights = []float32{2, 1, 1, 1, 1}
	}
	return s
}
