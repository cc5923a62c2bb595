package seed

import "math/bits"

const (
	// Sigma is the parameter σ of the noise: probability ∝ exp(-k²/2σ²).
	Sigma = 3.2
	// GaussianBound is the maximum magnitude of a sample, 6σ rounded down.
	GaussianBound = 19
	// GaussianBytes is the number of stream bytes that a sample consumes.
	GaussianBytes = 8
)

// cumulative[k] = 2⁶³·P(|X| ≤ k), rounded, without the entry 2⁶³ for 19. A test
// recomputes the table with rational arithmetic.
var cumulative = [GaussianBound]uint64{
	0x0ff52b40a5917f1d, 0x2e5a25d4bf0e400e, 0x489ae26955b04bd6, 0x5d2bc20f621bf185,
	0x6bc8694c3cc80ff5, 0x7532d89ac6ba7dcf, 0x7ab396cb74436799, 0x7d9e4e916643eb08,
	0x7f05495819eb2051, 0x7fa1ce9c0039a957, 0x7fdfb3f212e8c4e9, 0x7ff5e6f9d2314fcc,
	0x7ffd1f97bc4406a3, 0x7fff40fa0088d11e, 0x7fffd2e835e1c57e, 0x7ffff6524386ff1e,
	0x7ffffe1db4769da5, 0x7fffffac0a1dcb09, 0x7ffffff428673853,
}

// Gaussian returns a sample of the discrete Gaussian with σ = 3.2, cut at ±19.
//
// It inverts the distribution function of |X| on 63 bits and takes the sign
// from one more, so each probability is accurate to 2⁻⁶³. It compares all
// entries without branching, so neither time nor the bytes consumed depend on
// the sample.
func (s *Stream) Gaussian() int64 {
	w := s.Uint64()
	u := w >> 1
	var magnitude uint64
	for _, c := range cumulative {
		_, below := bits.Sub64(u, c, 0)
		magnitude += 1 - below
	}
	sign := -(w & 1) // 0 or all ones
	return int64((magnitude ^ sign) - sign)
}
