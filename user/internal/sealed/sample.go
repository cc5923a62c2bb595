package sealed

import (
	"math/bits"

	"cpar/internal/lattice"
	"cpar/user/internal/seed"
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
	var room [4096]byte
	below := true
	for rest := p; len(rest) > 0; {
		n := min(len(rest), len(room)/8)
		_, _ = s.Read(room[:8*n])
		below = r.Cut(rest[:n], room[:8*n]) && below
		rest = rest[n:]
	}
	if !below {
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
