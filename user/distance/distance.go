// Package distance compares plaintext vectors of photos.
//
//	record, request ─▶ D_L1 = Σ|a − c|        colour, texture and Haar features
//	                   D_KL = Σ a·log(a/c)     lab histograms, natural logarithm
//	                   Dis  = D_L1 + D_KL      what photos are ranked by
//
// Features are L1-normalised, so D_L1 of the six of the `paper` profile is at
// most 12. D_KL is the divergence of the record from the request, in nats; it
// is not symmetric, and the record comes first everywhere.
//
// All functions panic when two vectors differ in length: the caller has made
// both with one profile, or has compared their lengths on decoding.
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

// Dis is L1(recordL1, requestL1) + KL(recordKL, requestKL).
func Dis(recordL1, requestL1, recordKL, requestKL []float64) float64 {
	return L1(recordL1, requestL1) + KL(recordKL, requestKL)
}

// L1 is Σ|a − b|.
func L1(a, b []float64) float64 {
	sameLength(len(a), len(b))
	sum := 0.0
	for i, v := range a {
		sum += math.Abs(v - b[i])
	}
	return sum
}

// L1Levels is Σ|a − b| of quantised vectors, in levels: β/2 of them are one
// unit of L1.
func L1Levels(a, b []uint16) int {
	sameLength(len(a), len(b))
	sum := 0
	for i, v := range a {
		sum += max(int(v), int(b[i])) - min(int(v), int(b[i]))
	}
	return sum
}

// SquaredL2 is Σ(a − b)².
func SquaredL2(a, b []float64) float64 {
	sameLength(len(a), len(b))
	sum := 0.0
	for i, v := range a {
		d := v - b[i]
		sum += d * d
	}
	return sum
}

// SquaredL2Int is Σ(a − b)² of embedded vectors, exactly. Divided by m̂·β/2 it
// estimates the L1 distance of the vectors they embed.
func SquaredL2Int[T int16 | int32](a, b []T) int64 {
	sameLength(len(a), len(b))
	sum := int64(0)
	for i, v := range a {
		d := int64(v) - int64(b[i])
		sum += d * d
	}
	return sum
}

// KL is the Kullback-Leibler divergence Σ a·log(a/c) of the record a from the
// request c, both histograms of sum 1. For smoothed histograms, those of the
// profiles, it is finite. It is otherwise what its definition says: an empty
// bin of the record adds 0, and a bin that only the request leaves empty makes
// it +Inf.
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

// ZeroRule says what KLPaper does where a logarithm of 0 occurs.
type ZeroRule int

const (
	// LogZeroIsZero is the paper's: log 0 counts as 0, so a bin a that the
	// request leaves empty adds a·log a − a·0, which is below 0.
	LogZeroIsZero ZeroRule = iota
	// SkipZeroTerms leaves such bins out: they add 0.
	SkipZeroTerms
)

// KLPaper is the divergence of histograms that are not smoothed, as the paper
// computes it from Σ a·log a and log c. It is here to be compared with and not
// a divergence: under either rule it can be negative, and for disjoint
// histograms, which are as far apart as can be, SkipZeroTerms gives 0 and
// LogZeroIsZero gives −(entropy of a), 0 at most. Photos that share no colour
// with the request thus rank first.
func KLPaper(record, request []float64, rule ZeroRule) float64 {
	sameLength(len(record), len(request))
	sum := 0.0
	for i, a := range record {
		if a == 0 || request[i] == 0 && rule == SkipZeroTerms {
			continue
		}
		sum += a * math.Log(a)
		if request[i] != 0 {
			sum -= a * math.Log(request[i])
		}
	}
	return sum
}
