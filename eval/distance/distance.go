// Package distance compares plaintext vectors of photos.
//
//	record, request ─▶ D_L1 = Σ|a − c|        colour, texture and Haar features
//	                   D_KL = Σ a·log(a/c)     lab histograms, natural logarithm
//	                   Dis  = D_L1 + D_KL      the ranking distance
//
// Features are L1-normalised, so D_L1 over the six features of profile "paper"
// is at most 12. D_KL is the divergence of the record from the request, in
// nats. It is not symmetric, so the record is always the first argument.
//
// All functions panic if two vectors differ in length. Callers make both
// vectors with one profile, or compare lengths when decoding.
package distance

import (
	"fmt"
	"math"
)

func sameLength(a, b int) {
	if a != b {
		panic(fmt.Sprintf("distance: vectors of %d and %d values", a, b))
	}
}

func L1(a, b []float64) float64 {
	sameLength(len(a), len(b))
	sum := 0.0
	for i, v := range a {
		sum += math.Abs(v - b[i])
	}
	return sum
}

// L1Levels returns Σ|a − b| of quantised vectors, in levels (steps of
// quantisation). An L1 distance of 1 is β/2 levels.
func L1Levels(a, b []uint16) int {
	sameLength(len(a), len(b))
	sum := 0
	for i, v := range a {
		sum += max(int(v), int(b[i])) - min(int(v), int(b[i]))
	}
	return sum
}

func SquaredL2[T float32 | float64](a, b []T) float64 {
	sameLength(len(a), len(b))
	sum := 0.0
	for i, v := range a {
		d := float64(v) - float64(b[i])
		sum += d * d
	}
	return sum
}

// SquaredL2Int returns Σ(a − b)² of vectors embedded in m̂ dimensions, exactly.
// Divided by m̂·β/2, it estimates the L1 distance of the original vectors.
func SquaredL2Int[T int16 | int32](a, b []T) int64 {
	sameLength(len(a), len(b))
	sum := int64(0)
	for i, v := range a {
		d := int64(v) - int64(b[i])
		sum += d * d
	}
	return sum
}

// KL returns the Kullback-Leibler divergence Σ a·log(a/c) of the record a from
// the request c, which are histograms with sum 1. The histograms of profiles
// are smoothed, so their divergence is finite. In other histograms, an empty
// bin of the record adds 0, and a bin that is empty only in the request makes
// the divergence +Inf.
func KL(record, request []float64) float64 {
	sameLength(len(record), len(request))
	sum := 0.0
	for i, a := range record {
		if a != 0 {
			sum += a * math.Log(a/request[i])
		}
	}
	return sum
}
