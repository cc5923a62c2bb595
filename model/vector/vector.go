// Package vector assembles the plaintext vector of a photo. Function New is for
// profile "paper", and Embedded is for the others, which compare vectors by
// squared L2 distance.
//
//	rgb 48, hsv 48, gabor 256, gaborq 256, haar p, haarq p ─▶ L1 (608 + 2p) ─▶ Levels
//	lab 48                                                 ─▶ KL (48)
//
// gaborq and haarq are the quantised features of package feature. haar and
// haarq are represented by the p = 4096/X principal components that "PCA-X"
// keeps of 4096 Haar coefficients. The paper's X = 32 gives p = 128 and the
// dimensions m_L1 = 864 and m_KL = 48.
//
// Each of the six L1 features is normalised separately. Elements therefore lie
// in [-1, 1], and the L1 distance between two photos is at most 12. Levels are
// the elements rounded to integers 0 to β = 999. The paper's unary map (package
// embed) needs integers, because it writes level x as x ones and β − x zeros.
//
// lab is a histogram, compared by Kullback-Leibler divergence. Smoothing is
// added to every bin so that no logarithm of 0 occurs. In the paper, a
// bin that is empty in either photo counts 0, which would give photos without a
// common colour a divergence of 0.
package vector

import (
	"fmt"
	"math"

	"cpar"
	"cpar/model/rank"
)

const (
	// Beta is the paper's β, the highest level.
	Beta = 999
	// Smoothing is added to every bin of lab before normalisation, unlike in
	// the paper.
	Smoothing = 1e-3
	// L1Features is the number of features that are normalised to L1 norm 1. It
	// is also the maximum L1 norm of the vector.
	L1Features = 6
	// DimensionKL is m_KL, 16 bins for each of 3 channels.
	DimensionKL = colourDim

	colourDim = 48
	gaborDim  = 256
	// minNorm avoids division by zero, so that a zero feature stays zero.
	minNorm = 1e-12
)

// Dimension returns m_L1 for p components each of haar and haarq, 864 for 128.
func Dimension(p int) int { return 2*colourDim + 2*gaborDim + 2*p }

// Features are the seven features of a photo. haar and haarq are reduced by
// PCA, and the others are as extracted.
type Features struct {
	RGB, HSV      []float64 // 48 each
	Gabor, GaborQ []float64 // 256 each
	Haar, HaarQ   []float64 // p each
	Lab           []float64 // 48
}

// Vector is the plaintext vector of a photo, as private as the photo itself.
// Profile "paper", with distance L1 + KL, sets Levels and KL. The others set X,
// and use Levels only to choose the splits of k-d trees.
type Vector struct {
	Levels []uint16  // 0 to Beta
	KL     []float64 // lab, smoothed and normalised: positive values with sum 1
	// X has Euclidean length 1, or 0 for a photo at the centre of the collection.
	X []float32
	// Guess estimates the keywords from the photo's own features, or is nil. It
	// is never encrypted or sent.
	Guess *rank.Guess
}

// Embedded returns the vector of a profile with squared L2 distance: x
// zero-padded to `dim` dimensions. It returns an error that wraps cpar.ErrInput
// if x has too many dimensions, a length above 1, or non-finite values.
func Embedded(x []float32, dim int) (*Vector, error) {
	if len(x) > dim {
		return nil, fmt.Errorf("assembling a vector: %w: %d dimensions, want at most %d", cpar.ErrInput, len(x), dim)
	}
	v := &Vector{X: make([]float32, dim)}
	copy(v.X, x)
	square, wide := 0.0, make([]float64, dim)
	for i, a := range v.X {
		wide[i] = float64(a)
		square += wide[i] * wide[i]
	}
	if !(square <= 1+1e-4) { // NaN too
		return nil, fmt.Errorf("assembling a vector: %w: a squared length of %g, want at most 1", cpar.ErrInput, square)
	}
	v.Levels = Quantise(wide)
	return v, nil
}

// New assembles the vector of a photo. Errors wrap cpar.ErrInput: features of
// the wrong length, non-finite values, or negative histogram values.
func New(f Features) (*Vector, error) {
	elements, err := L1(f)
	if err != nil {
		return nil, fmt.Errorf("assembling a vector: %w", err)
	}
	if err := check(f.Lab, DimensionKL, true); err != nil {
		return nil, fmt.Errorf("assembling a vector: lab: %w", err)
	}
	smoothed := make([]float64, DimensionKL)
	for i, bin := range f.Lab {
		smoothed[i] = bin + Smoothing
	}
	return &Vector{Levels: Quantise(elements), KL: NormaliseL1(smoothed)}, nil
}

// L1 returns the L1 part of a photo's vector before rounding to levels.
func L1(f Features) ([]float64, error) {
	p := len(f.Haar)
	if p == 0 {
		return nil, fmt.Errorf("%w: haar is empty", cpar.ErrInput)
	}
	out := make([]float64, 0, Dimension(p))
	for _, part := range []struct {
		name      string
		values    []float64
		want      int
		histogram bool
	}{
		{"rgb", f.RGB, colourDim, true}, {"hsv", f.HSV, colourDim, true},
		{"gabor", f.Gabor, gaborDim, false}, {"gaborq", f.GaborQ, gaborDim, false},
		{"haar", f.Haar, p, false}, {"haarq", f.HaarQ, p, false},
	} {
		if err := check(part.values, part.want, part.histogram); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
		out = append(out, NormaliseL1(part.values)...)
	}
	return out, nil
}

func check(values []float64, want int, histogram bool) error {
	if len(values) != want {
		return fmt.Errorf("%w: %d values, want %d", cpar.ErrInput, len(values), want)
	}
	norm := 0.0
	for i, v := range values {
		if math.IsNaN(v) || histogram && v < 0 {
			return fmt.Errorf("%w: value %d is %v", cpar.ErrInput, i, v)
		}
		norm += math.Abs(v)
	}
	if math.IsInf(norm, 0) {
		return fmt.Errorf("%w: values too large to normalise", cpar.ErrInput)
	}
	return nil
}

// NormaliseL1 returns x / max(Σ|x|, 10⁻¹²) in a new slice.
func NormaliseL1(x []float64) []float64 {
	norm := 0.0
	for _, v := range x {
		norm += math.Abs(v)
	}
	norm = max(norm, minNorm)
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v / norm
	}
	return out
}

// Quantise maps elements of [-1, 1] to levels 0 to Beta, rounding halves to the
// even level. Elements outside the range become 0 or Beta, and NaN becomes the
// middle level.
func Quantise(x []float64) []uint16 {
	levels := make([]uint16, len(x))
	for i, v := range x {
		if math.IsNaN(v) {
			v = 0
		}
		levels[i] = uint16(math.RoundToEven((max(-1, min(v, 1)) + 1) / 2 * Beta))
	}
	return levels
}
