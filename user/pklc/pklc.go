// Package pklc is PKLC-RF, the paper's private comparison of Kullback–Leibler
// divergences, on its own.
//
//	KeyGen(secret)                ─▶ Key
//	EncryptRecord(v)              ─▶ C(V)  type 1, m+2 words
//	EncryptPlane(coordinate, h)   ─▶ C(H)  type 2, m+2 words
//	Request(c, r_s)               ─▶ one ciphertext for both types, m+2 words
//	Compare(C(V), request)        ─▶ Comp = r_s·u·(KL(v‖c) − r) − 3ε
//	Compare(C(H), request)        ─▶ Comp = r_s·u·(h·log(h/c[s]) − r) − 3ε
//
// v and c are histograms of m bins, smoothed so that no bin of c is empty. The encrypted
// vectors, with v at 2¹⁸ and u = Unit steps per nat, are
//
//	type 1   record [ 2¹⁸·v, u·(Σ v log v − r), ε ]
//	type 2   record [ 2¹⁸·h·1_s, u·(h log h − r), ε ]
//	request  [ −round(r_s·(u/2¹⁸)·log c), r_s, −3 ]
//
// where 1_s has a one at coordinate s. h is positive there: with −h the comparison would
// be with h·log(h·c). Both are inexact by the rounding of v and of the logarithm.
//
// The paper prunes with a term of type 2. It is no lower bound of the divergence, so
// pruning with it loses neighbours; CoordinateBound is a lower bound.
package pklc

import (
	"fmt"
	"math"

	"cpar"
	"cpar/user/internal/seed"
	"cpar/user/ive"
)

const (
	// ValueBits is log₂ of the scale of v.
	ValueBits = 18
	// MaxLog bounds −log of a bin of a request, and so the divergence.
	MaxLog = 7

	maxSum = 1.001 // of a histogram: 1 and rounding
)

// Params describes the vectors and their scales.
type Params struct {
	Dim    int     // m, bins
	Unit   float64 // u, integer steps of Comp/r_s per nat
	Offset float64 // r, in nats
	Shift  uint    // log₂ w of records and requests
}

// Paper returns the paper's dimension with the pipeline's unit, 1296·999/2 steps, in
// which comparisons of PL1C-RF and PKLC-RF add up. r is the middle of [0, 7].
func Paper() Params {
	return Params{Dim: 48, Unit: 1296 * 999 / 2, Offset: MaxLog / 2.0, Shift: ive.DistanceShift}
}

// Cipher returns the parameters of the ciphertexts, the same for both types.
func (p Params) Cipher() ive.Params {
	return ive.Params{Dim: p.Dim + 2, RecordShift: p.Shift, RequestShift: p.Shift}
}

// Validate refuses parameters under which a comparison could wrap. Errors wrap cpar.ErrInput.
func (p Params) Validate() error {
	if p.Dim < 1 || p.Dim > 1<<12 || !(p.Unit >= 1 && p.Unit <= 1<<40) || !(math.Abs(p.Offset) <= 1<<10) {
		return fmt.Errorf("PKLC-RF with %d bins, %g steps per nat, r = %g: %w", p.Dim, p.Unit, p.Offset, cpar.ErrInput)
	}
	// KL lies between Σ v log v ≥ −log m and MaxLog·Σv; a single term h·log(h/c)
	// between −1/e and MaxLog.
	entropy := math.Log(float64(p.Dim)) + 1
	score := ive.MaxScale * p.Unit * (max(MaxLog*maxSum, entropy) + math.Abs(p.Offset))
	record := math.Ldexp(maxSum, ValueBits) + p.Unit*(entropy+math.Abs(p.Offset)) + ive.EpsilonBound
	request := float64(p.Dim)*(ive.MaxScale*math.Ldexp(p.Unit, -ValueBits)*MaxLog+1) + ive.MaxScale + 3
	if err := p.Cipher().Fits(score, p.Cipher().WorstNoise(record, request)+3*ive.EpsilonBound); err != nil {
		return fmt.Errorf("PKLC-RF with %d bins, %g steps per nat, r = %g: %w", p.Dim, p.Unit, p.Offset, err)
	}
	return nil
}

// Divergence returns the divergence for a comparison, in nats, inexact by rounding, noise
// and ε: Comp = r_s·u·(KL − r), hence Comp/(r_s·u) + r.
func (p Params) Divergence(comp, scale int64) float64 {
	return float64(comp)/(float64(scale)*p.Unit) + p.Offset
}

// Compare returns Comp for a record or plane. It needs no key.
func (p Params) Compare(c, request []uint64) int64 { return p.Cipher().Score(c, request) }

// KL returns the divergence of v from c in nats; 0·log 0 = 0. It is the plain twin of type 1.
func KL(v, c []float64) (sum float64) {
	for i, x := range v {
		sum += Term(x, c[i])
	}
	return sum
}

// Term returns h·log(h/c), the plain twin of type 2.
func Term(h, c float64) float64 {
	if h == 0 {
		return 0
	}
	return h * math.Log(h/c)
}

// CoordinateBound returns the divergence of the two-bin histograms (h, 1−h) and (c, 1−c).
// One coordinate proves this much about two whole histograms, since merging bins never
// increases a divergence. Between c and the edge it grows with the distance of h from c,
// so it also bounds whatever lies beyond a plane at h. The single term h·log(h/c), with
// which the paper prunes, bounds nothing: it lacks what the other coordinates give back.
func CoordinateBound(h, c float64) float64 { return Term(h, c) + Term(1-h, 1-c) }

// Key encrypts records, planes and requests. It prints redacted.
type Key struct {
	seed.Redacted
	params Params
	key    *ive.Key
}

// KeyGen derives the key from secret. Errors wrap cpar.ErrInput.
func KeyGen(secret [seed.Size]byte, p Params) (*Key, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	key, err := ive.NewKey(seed.Derive(secret, "pklc"), p.Cipher())
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return &Key{params: p, key: key}, nil
}

// Params are the parameters the key was made with.
func (k *Key) Params() Params { return k.params }
