package pklc

import (
	"fmt"
	"math"

	"cpar"
	"cpar/user/ive"
)

// Plane is the hyperplane v[Coordinate] = Height in the space of histograms. Its
// coordinate is one of the m bins; an index from another vector means nothing here.
type Plane struct {
	Coordinate int
	Height     float64 // in [0, 1]
}

// EncryptRecord encrypts a record's histogram, type 1.
func (k *Key) EncryptRecord(v []float64, noise *ive.Noise) ([]uint64, error) {
	if len(v) != k.params.Dim {
		return nil, fmt.Errorf("encrypting a record: %d bins, the key has %d: %w", len(v), k.params.Dim, cpar.ErrInput)
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	if sum > maxSum {
		return nil, fmt.Errorf("encrypting a record: histogram sums to %g, not 1: %w", sum, cpar.ErrInput)
	}
	return k.encrypt("record", v, noise)
}

// EncryptPlane encrypts a hyperplane, type 2: a record with a single bin.
func (k *Key) EncryptPlane(h Plane, noise *ive.Noise) ([]uint64, error) {
	if h.Coordinate < 0 || h.Coordinate >= k.params.Dim {
		return nil, fmt.Errorf("encrypting a plane: coordinate %d of %d: %w", h.Coordinate, k.params.Dim, cpar.ErrInput)
	}
	v := make([]float64, k.params.Dim)
	v[h.Coordinate] = h.Height
	return k.encrypt("plane", v, noise)
}

func (k *Key) encrypt(what string, v []float64, noise *ive.Noise) ([]uint64, error) {
	if noise == nil {
		return nil, fmt.Errorf("encrypting a %s: no source of noise: %w", what, cpar.ErrInput)
	}
	x, entropy := make([]int64, len(v)+2), 0.0
	for i, h := range v {
		if !(h >= 0 && h <= 1) {
			return nil, fmt.Errorf("encrypting a %s: bin %d is %g: %w", what, i, h, cpar.ErrInput)
		}
		// The entropy uses the rounded value, as in package combined.
		fixed := math.Round(math.Ldexp(h, ValueBits))
		x[i] = int64(fixed)
		entropy += Term(math.Ldexp(fixed, -ValueBits), 1)
	}
	x[len(v)] = int64(math.Round(k.params.Unit * (entropy - k.params.Offset)))
	x[len(v)+1] = noise.Epsilon()
	c := make([]uint64, len(x))
	if err := k.key.EncryptRecord(c, x, noise); err != nil {
		return nil, fmt.Errorf("encrypting a %s: %w", what, err)
	}
	return c, nil
}

// Request encrypts a request's histogram for both types. scale is r_s, drawn afresh by
// noise.Scale for every request; the owner keeps it to read divergences.
func (k *Key) Request(c []float64, scale int64, noise *ive.Noise) ([]uint64, error) {
	m := k.params.Dim
	if len(c) != m {
		return nil, fmt.Errorf("encrypting a request: %d bins, the key has %d: %w", len(c), m, cpar.ErrInput)
	}
	if scale < 1<<ive.ScaleBits || scale > ive.MaxScale {
		return nil, fmt.Errorf("encrypting a request: scale %d outside [2^%d, 2^%d): %w",
			scale, ive.ScaleBits, ive.ScaleBits+1, cpar.ErrInput)
	}
	y := make([]int64, m+2)
	for i, x := range c {
		l := math.Log(x)
		if !(x <= 1 && -l <= MaxLog) { // also refuses 0, negative and NaN
			return nil, fmt.Errorf("encrypting a request: bin %d is %g, smoothed bins are at least e^-%d: %w", i, x, MaxLog, cpar.ErrInput)
		}
		// Round after multiplying by r_s: ten more bits of the logarithm.
		y[i] = -int64(math.Round(float64(scale) * math.Ldexp(k.params.Unit, -ValueBits) * l))
	}
	y[m], y[m+1] = scale, -3
	t := make([]uint64, len(y))
	if err := k.key.EncryptRequest(t, y, noise); err != nil {
		return nil, fmt.Errorf("encrypting a request: %w", err)
	}
	return t, nil
}
