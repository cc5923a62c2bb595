package sealed

import (
	"math/bits"
	"unsafe"

	"cpar/internal/lattice"
	"cpar/internal/seed"
)

func addGaussian(r *lattice.Ring, s *seed.Stream, p []uint64) {
	for i, x := range p {
		p[i] = r.Add(x, r.Lift(s.Gaussian()))
	}
}

// ternary returns N coefficients uniform in {−1, 0, 1}.
func ternary(r *lattice.Ring, s *seed.Stream) []uint64 {
	p := make([]uint64, r.N)
	for i := range p {
		p[i] = r.Lift(int64(s.Uint64n(3)) - 1)
	}
	return p
}

// uniform fills p with uniform numbers below Q. It truncates 64-bit words of
// the stream to the number of bits of Q and replaces words that are not below
// Q by later words. The length of p must be a multiple of sixteen.
func uniform(r *lattice.Ring, s *seed.Stream, p []uint64) {
	words := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(p))), 8*len(p))
	_, _ = s.Read(words)
	if !r.Cut(p, words) {
		replace(s, p, r.Q)
	}
}

func replace(s *seed.Stream, p []uint64, q uint64) {
	drop := bits.LeadingZeros64(q)
	for i, x := range p {
		for x >= q {
			x = s.Uint64() >> drop
		}
		p[i] = x
	}
}
