// Package pl1c is PL1C-RF, the paper's private comparison of L1 distances and of the
// planes of a randomized forest, on its own.
//
//	KeyGen(secret)                ─▶ Key: two keys of package ive, S for type 1, S′ for type 2
//	EncryptRecord(z)              ─▶ C(V)  type 1, m̂+3 words
//	EncryptPlane(coordinate, h)   ─▶ C(H)  type 2, 2m̂+2 words
//	Request(z_s, r_s)             ─▶ one ciphertext for each type
//	Compare(C(V), request)        ─▶ Comp = r_s·(‖z − z_s‖² − r) − 3ε
//	ComparePlane(C(H), request)   ─▶ Comp = r_s·((z_s[s] − h)² − r) − 3ε
//
// z ∈ Z^m̂ is the Johnson–Lindenstrauss vector of an image's levels; squared L2 distances
// of these estimate L1 distances. The encrypted vectors are
//
//	type 1  record [ z, Σz² − r, ε, 1 ]             request [ −2r_s·z_s, r_s, −3, r_s·Σz_s² ]
//	type 2  record [ −2h·1_s, 1_s, h² − r, ε ]      request [ r_s·z_s, r_s·z_s², r_s, −3 ]
//
// where 1_s has a one at coordinate s and z_s² is element by element. Comparisons of one
// request share r_s and r, so those of both types have a common order, and their spacing
// is visible too. Comparisons of different requests share only r.
//
// A plane of type 2 lies in JL space. It bounds the JL distance of whatever lies beyond
// it, but no L1 distance: see combined.PlaneFactor.
package pl1c

import (
	"fmt"
	"math"

	"cpar"
	"cpar/user/internal/seed"
	"cpar/user/ive"
)

// Params describes the vectors and their scales.
type Params struct {
	Dim    int   // m̂
	Offset int64 // r, in squared JL units
	Shift  uint  // log₂ w of records and requests
}

// Paper returns the paper's dimension with the greatest of the pipeline's offsets, r = 11·m̂·β/2.
func Paper() Params {
	return Params{Dim: 1296, Offset: 11 * 1296 * 999 / 2, Shift: ive.DistanceShift}
}

// Record and Plane return the parameters of the two types of ciphertexts.
func (p Params) Record() ive.Params {
	return ive.Params{Dim: p.Dim + 3, RecordShift: p.Shift, RequestShift: p.Shift}
}

func (p Params) Plane() ive.Params {
	return ive.Params{Dim: 2*p.Dim + 2, RecordShift: p.Shift, RequestShift: p.Shift}
}

// MaxSquare is the greatest Σz² of a record or request. Two such vectors are at most
// 4·MaxSquare apart, and the Comp of that fits into 63 bits with its noise. (A thousandth
// of the bits is reserved for the noise; Validate checks that it is enough.)
func (p Params) MaxSquare() int64 {
	limit := 0.999 * math.Ldexp(1, 63-2*int(p.Shift)) / ive.MaxScale
	return int64(max(0, min((limit+float64(p.Offset))/4, 1<<40)))
}

// Validate refuses parameters under which a comparison could wrap. Errors wrap cpar.ErrInput.
func (p Params) Validate() error {
	if p.Dim < 1 || p.Dim > 1<<13 || p.Offset < 0 || p.MaxSquare() < 1 {
		return fmt.Errorf("PL1C-RF with m̂ = %d, r = %d, w = 2^%d: %w", p.Dim, p.Offset, p.Shift, cpar.ErrInput)
	}
	// The type 2 request is the largest: r_s·Σz² over its squares.
	square := float64(p.MaxSquare())
	norm1 := math.Sqrt(float64(p.Dim) * square)
	score := ive.MaxScale * max(float64(p.Offset), 4*square-float64(p.Offset))
	for _, c := range []struct {
		cipher          ive.Params
		record, request float64
	}{
		{p.Record(), norm1 + square + float64(p.Offset) + ive.EpsilonBound + 1, 2*ive.MaxScale*norm1 + ive.MaxScale + 3},
		{p.Plane(), 2*math.Sqrt(square) + 1 + square + float64(p.Offset) + ive.EpsilonBound, ive.MaxScale*(norm1+square+1) + 3},
	} {
		if err := c.cipher.Fits(score, c.cipher.WorstNoise(c.record, c.request)+3*ive.EpsilonBound); err != nil {
			return fmt.Errorf("PL1C-RF with m̂ = %d, r = %d, w = 2^%d: %w", p.Dim, p.Offset, p.Shift, err)
		}
	}
	return nil
}

// Dis returns the squared distance for a comparison, inexact by noise and ε:
// Comp = r_s·(Dis − r), hence Comp/r_s + r.
func (p Params) Dis(comp, scale int64) float64 {
	return float64(comp)/float64(scale) + float64(p.Offset)
}

// Request is what the owner sends: ciphertexts of one vector for both types.
type Request struct {
	Record []uint64 // type 1, m̂+3 words
	Plane  []uint64 // type 2, 2m̂+2 words
}

// Compare returns Comp for a record's ciphertext. It needs no key.
func (p Params) Compare(record []uint64, q *Request) int64 { return p.Record().Score(record, q.Record) }

// ComparePlane returns Comp for a plane's ciphertext. It needs no key.
func (p Params) ComparePlane(plane []uint64, q *Request) int64 {
	return p.Plane().Score(plane, q.Plane)
}

// Key encrypts records, planes and requests. It prints redacted.
type Key struct {
	seed.Redacted
	params         Params
	records, plane *ive.Key
}

// KeyGen derives the key from secret. Errors wrap cpar.ErrInput.
func KeyGen(secret [seed.Size]byte, p Params) (*Key, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	records, err := ive.NewKey(seed.Derive(secret, "pl1c/type 1"), p.Record())
	if err != nil {
		return nil, fmt.Errorf("making the key of type 1: %w", err)
	}
	plane, err := ive.NewKey(seed.Derive(secret, "pl1c/type 2"), p.Plane())
	if err != nil {
		return nil, fmt.Errorf("making the key of type 2: %w", err)
	}
	return &Key{params: p, records: records, plane: plane}, nil
}

// Params returns the parameters the key was made with.
func (k *Key) Params() Params { return k.params }
