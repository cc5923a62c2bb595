// Package vector assembles the plaintext vector of a photo in the `paper`
// profile.
//
//	rgb 48, hsv 48, gabor 256, gaborq 256, haar p, haarq p ─▶ L1 (608 + 2p) ─▶ Levels
//	lab 48                                                 ─▶ KL (48)
//
// haar and haarq are the p principal components that "PCA-X" leaves of 4096
// Haar coefficients, p = 4096/X. The paper's X = 32 gives p = 128 and with it
// its two dimensions, m_L1 = 864 and m_KL = 48.
//
// Each of the six features is L1-normalised by itself, so every element lies
// in [-1, 1] and Σ|L1| is at most 6; the distance of two photos is at most 12.
// Levels are the same elements as integers 0 to β = 999, as the paper needs them
// for its unary map: β/2 levels are one unit of L1.
//
// lab is a histogram, compared by Kullback-Leibler divergence; every bin is
// raised by Smoothing first so that no logarithm of 0 occurs. The paper counts
// log 0 as 0 instead, which makes photos that share no colour identical.
package vector

import (
	"fmt"
	"math"

	"cpar"
)

const (
	// Beta is the paper's β: elements of [-1, 1] become levels 0 to Beta, after
	// "+1", over [0, 2].
	Beta = 999
	// Smoothing is added to every bin of lab before it is normalised (again).
	// It is this project's, not the paper's.
	Smoothing = 1e-3
	// Parts is the number of features of the L1 part, and a bound of Σ|L1|.
	Parts = 6
	// DimensionKL is m_KL, 16 bins for each of 3 channels.
	DimensionKL = colour

	colour = 48
	gabor  = 256
	// leastNorm keeps a feature of zeros, such as the Haar part of a collection
	// of identical photos, from dividing by zero; it stays zeros.
	leastNorm = 1e-12
)

// Dimension is m_L1 for haar and haarq of p components each: 864 for the
// paper's 128.
func Dimension(p int) int { return 2*colour + 2*gabor + 2*p }

// Features are the seven features of a photo, haar and haarq after PCA, the
// others as extracted. They need not be normalised.
type Features struct {
	RGB, HSV      []float64 // 48 each
	Gabor, GaborQ []float64 // 256 each
	Haar, HaarQ   []float64 // p each
	Lab           []float64 // 48
}

// Vector is the plaintext of a photo. It is as private as the photo.
type Vector struct {
	L1     []float64 // normalised, in the order of Features
	Levels []uint16  // L1 quantised: 0 to Beta
	KL     []float64 // lab, smoothed and normalised: all above 0, sum 1
	// X is there instead of L1 and KL in profiles whose distance is squared L2:
	// the vector itself, of length 1, or 0 in the middle of the collection.
	X []float32
}

// Embedded is the vector x of a profile whose distance is squared L2, filled up
// with zeros to dim dimensions. Its levels are for splitting only. It refuses a
// vector of more dimensions, of a length above 1, or that is not finite.
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
		return nil, fmt.Errorf("assembling a vector: %w: a squared length of %g, not 1", cpar.ErrInput, square)
	}
	v.Levels = Quantise(wide)
	return v, nil
}

// New assembles the vector of a photo. It refuses features of other lengths,
// values that are not finite, and histograms with values below 0.
func New(f Features) (*Vector, error) {
	p := len(f.Haar)
	if p == 0 {
		return nil, fmt.Errorf("assembling a vector: %w: haar is empty", cpar.ErrInput)
	}
	v := &Vector{L1: make([]float64, 0, Dimension(p))}
	for _, part := range []struct {
		name      string
		values    []float64
		want      int
		histogram bool
	}{
		{"rgb", f.RGB, colour, true}, {"hsv", f.HSV, colour, true},
		{"gabor", f.Gabor, gabor, false}, {"gaborq", f.GaborQ, gabor, false},
		{"haar", f.Haar, p, false}, {"haarq", f.HaarQ, p, false},
	} {
		if err := check(part.values, part.want, part.histogram); err != nil {
			return nil, fmt.Errorf("assembling a vector: %s: %w", part.name, err)
		}
		v.L1 = append(v.L1, NormaliseL1(part.values)...)
	}
	if err := check(f.Lab, DimensionKL, true); err != nil {
		return nil, fmt.Errorf("assembling a vector: lab: %w", err)
	}
	smoothed := make([]float64, DimensionKL)
	for i, bin := range f.Lab {
		smoothed[i] = bin + Smoothing
	}
	v.KL = NormaliseL1(smoothed)
	v.Levels = Quantise(v.L1)
	return v, nil
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

// NormaliseL1 is x / max(Σ|x|, 10⁻¹²), a new slice.
func NormaliseL1(x []float64) []float64 {
	norm := 0.0
	for _, v := range x {
		norm += math.Abs(v)
	}
	norm = max(norm, leastNorm)
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v / norm
	}
	return out
}

// Quantise maps elements of [-1, 1] to levels 0 to Beta, a half to the even
// level. Elements outside, which normalised vectors do not have, go to the
// nearest end, and NaN to the middle.
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
