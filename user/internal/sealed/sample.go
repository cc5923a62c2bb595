package sealed

import (
	"math/bits"
	"unsafe"

	"cpar/internal/lattice"
	"cpar/internal/seed"
)

// addGaussian adds one sample of the noise to every element of p, below Q.
func addGaussian(r *lattice.Ring, s *seed.Stream, p []uint64) {
	for i, x := range p {
		p[i] = r.Add(x, r.Lift(s.Gaussian()))
	}
}

// ternary is N coefficients uniform in {−1, 0, 1}.
func ternary(r *lattice.Ring, s *seed.Stream) []uint64 {
	p := make([]uint64, r.N)
	for i := range p {
		p[i] = r.Lift(int64(s.Uint64n(3)) - 1)
	}
	return p
}

// uniform fills p with numbers uniform below Q: words of the stream, cut to as
// many bits as Q has. One that is Q or more is replaced by the next good one
// after the len(p) first words. len(p) is a multiple of sixteen.
func uniform(r *lattice.Ring, s *seed.Stream, p []uint64) {
	words := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(p))), 8*len(p))
	_, _ = s.Read(words)
	if !r.Cut(p, words) {
		replace(s, p, r.Q)
	}
}

// replace is what uniform does with words that are q or more.
func replace(s *seed.Stream, p []uint64, q uint64) {
	drop := bits.LeadingZeros64(q)
	for i, x := range p {
		for x >= q {
			x = s.Uint64() >> drop
		}
		p[i] = x
	}
}
