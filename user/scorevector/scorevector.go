// Package scorevector lays out the vectors that package ive encrypts: one vector for
// both distances (L1 and KL) of a photo, and small vectors for split planes. It defines
// the noise budgets of both and justifies every scale and bound.
//
//	record   [ z (m̂),          v (m_KL),                     Σz² + F·Σ v log v − r,  ε,    1 ]
//	request  [ −2·r_s·z_s (m̂), −round(r_s·(F/2¹⁸)·log c),    r_s,                   −3,    r_s·Σz_s² ]
//
//	⟨record, request⟩ = r_s·(‖z − z_s‖² + F·KL(v‖c) − r) − 3ε = r_s·(F·Dis − r) − 3ε
//
// Index s marks values of the request. z is the Johnson–Lindenstrauss (JL)
// vector: m̂ integers that represent the L1 part of a photo. v and c are the
// Lab colour histograms of record and request, with m_KL bins, smoothed and
// with sum 1. A record contains round(2¹⁸·v).
//
// Three values are random and secret: r_s is drawn for each request, ε for each record,
// and the offset r, between 10.5·F and 11·F, for each index (WithSecretOffset).
//
// F = m̂·β/2 squared JL units equal one unit of L1 distance of normalised
// features. A unit of L1 is β/2 quantisation levels, where β is the highest
// level, and each level of difference adds 1 to the expected square of each of
// the m̂ coordinates. The KL part has the same factor F, so Dis = D_L1 + D_KL.
// Logarithms are rounded after multiplication by r_s.
//
// For profile "paper" the vector has 1296 + 48 + 3 = 1,347 elements. It joins
// the paper's schemes PL1C-RF type 1 (for L1) and PKLC-RF type 1 (for KL) under
// one key. Package letter implements both as the paper prints them.
package scorevector

import (
	"cmp"
	"fmt"
	"math"

	"cpar"
	"cpar/model/vectorlayout"
	"cpar/user/ive"
)

func Paper() vectorlayout.Params {
	p := vectorlayout.L1KL(1296, 48, 999)
	p.Shift = ive.DistanceShift
	return p
}

func (b *Budget) Dim() int { return b.params.JL + b.params.KL + 3 }

func (b *Budget) Cipher() ive.Params {
	return ive.Params{Dim: b.Dim(), RecordShift: b.params.Shift, RequestShift: b.params.Shift}
}

// NoiselessSlot returns the last slot of a record. It must have no noise,
// because it is multiplied by the request's r_s·Σz_s², about 2³², and would
// change a distance by up to 0.01.
func (b *Budget) NoiselessSlot() int { return b.Dim() - 1 }

// Record writes a record's vector into dst, of Dim elements. Parameter z is
// the photo's JL vector, v is its smoothed histogram, and epsilon comes from
// ive.Noise.Epsilon. Errors wrap cpar.ErrInput.
func (b *Budget) Record(dst []int64, z []int16, v []float64, epsilon int64) error {
	if err := b.checkLengths(dst, z, v); err != nil {
		return fmt.Errorf("laying out a record: %w", err)
	}
	square := SquaredNorm(z)
	if err := b.CheckNorms(square, square); err != nil {
		return fmt.Errorf("laying out a record: %w", err)
	}
	if epsilon < -ive.EpsilonBound || epsilon > ive.EpsilonBound {
		return fmt.Errorf("laying out a record: ε = %d beyond ±%d: %w", epsilon, ive.EpsilonBound, cpar.ErrInput)
	}
	m := b.params.JL
	for i, x := range z {
		dst[i] = int64(x)
	}
	// Σ v log v uses the rounded v, so that it has the same error as Σ v log c. The
	// errors then cancel for similar histograms, whose order decides ranks.
	sum, entropy := 0.0, 0.0
	for i, x := range v {
		if !(x >= 0 && x <= 1) {
			return fmt.Errorf("laying out a record: histogram bin %d is %g: %w", i, x, cpar.ErrInput)
		}
		fixed := math.Round(math.Ldexp(x, vectorlayout.ValueBits))
		dst[m+i] = int64(fixed)
		if fixed > 0 {
			x = math.Ldexp(fixed, -vectorlayout.ValueBits)
			entropy += x * math.Log(x)
		}
		sum += x
	}
	if sum > maxSum {
		return fmt.Errorf("laying out a record: histogram sums to %g, not 1: %w", sum, cpar.ErrInput)
	}
	tail := dst[m+len(v):]
	tail[0] = square + int64(math.Round(b.unit*entropy)) - b.offset
	tail[1] = epsilon
	tail[2] = 1
	return nil
}

// Request writes a request's vector into dst, of Dim elements. Parameter z is
// the photo's JL vector, and c its smoothed histogram. Parameter `scale` is
// r_s, drawn by ive.Noise.Scale, which Dis needs to read the scores. Parameter
// `farthest` is the maximum Σz² of the index's records, or 0 for MaxSquare.
// Errors wrap cpar.ErrInput.
func (b *Budget) Request(dst []int64, z []int16, c []float64, scale, farthest int64) error {
	if err := b.checkLengths(dst, z, c); err != nil {
		return fmt.Errorf("laying out a request: %w", err)
	}
	if scale < 1<<ive.ScaleBits || scale > ive.MaxScale {
		return fmt.Errorf("laying out a request: scale %d outside [2^%d, 2^%d): %w",
			scale, ive.ScaleBits, ive.ScaleBits+1, cpar.ErrInput)
	}
	farthest = cmp.Or(farthest, b.MaxSquare())
	square := SquaredNorm(z)
	if err := b.CheckNorms(farthest, square); err != nil {
		return fmt.Errorf("laying out a request: %w", err)
	}
	m := b.params.JL
	for i, x := range z {
		dst[i] = -2 * scale * int64(x)
	}
	perLog := float64(scale) * math.Ldexp(b.unit, -vectorlayout.ValueBits)
	for i, x := range c {
		l := math.Log(x)
		if !(x <= 1 && -l <= vectorlayout.MaxLog) { // also rejects 0, negative and NaN
			return fmt.Errorf("laying out a request: histogram bin %d is %g, smoothed bins are at least e^-%d: %w",
				i, x, vectorlayout.MaxLog, cpar.ErrInput)
		}
		dst[m+i] = -int64(math.Round(perLog * l))
	}
	tail := dst[m+len(c):]
	tail[0] = scale
	tail[1] = -3
	tail[2] = scale * square
	return nil
}

// PlainScore returns the exact score without noise and with ε = 0.
func (b *Budget) PlainScore(record, request []int64) int64 {
	var s int64
	for i, x := range record[:b.Dim()] {
		if i != b.Dim()-2 { // leave out ε
			s += x * request[i]
		}
	}
	return s
}

// Dis converts a score to D_L1 + D_KL in units of normalised features.
// Parameter `scale` is the request's r_s. Rounding, noise and ε make the
// result inexact, so it may be negative.
//
// The score, Comp in the paper, is r_s·(F·Dis − r), hence Dis = (Comp/r_s +
// r)/F. The paper's 2r + Σv² + Comp/r_s does not follow from its boxes, the
// definitions of the vectors.
func (b *Budget) Dis(score, scale int64) float64 {
	return (float64(score)/float64(scale) + float64(b.offset)) / b.unit
}

func (b *Budget) checkLengths(dst []int64, z []int16, v []float64) error {
	if len(z) != b.params.JL || len(v) != b.params.KL || len(dst) != b.Dim() {
		return fmt.Errorf("%d JL coordinates and %d bins into %d elements, want %d and %d into %d: %w",
			len(z), len(v), len(dst), b.params.JL, b.params.KL, b.Dim(), cpar.ErrInput)
	}
	return nil
}
