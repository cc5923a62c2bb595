package ive

import "cpar/internal/seed"

// Noise is the source of randomness for encryption. It serves any number of
// ciphertexts, which take samples from one stream in turn. The same secret
// gives the same ciphertexts. A Noise is not safe for concurrent use.
//
// Two different vectors must never be encrypted under the same noise, because
// their ciphertexts would differ by exactly S⁻¹·w·(V - V′).
type Noise struct {
	seed.Redacted
	stream *seed.Stream
	off    bool
}

// NewNoise returns a new source of noise. The secret must be fresh, or derived
// from a key and a unique value such as an index's random id.
func NewNoise(secret [seed.Size]byte) *Noise {
	return &Noise{stream: seed.New(secret)}
}

// InsecureNoNoise returns a source whose noise e and random term ε are zero,
// for tests and cost measurements. Scales are still random. Without e, m known
// records reveal the matrix S⁻¹ by linear algebra alone.
func InsecureNoNoise(secret [seed.Size]byte) *Noise {
	n := NewNoise(secret)
	n.off = true
	return n
}

// Scale draws r_s, the scale of a request, uniform in [2¹⁰, 2¹¹).
func (n *Noise) Scale() int64 { return n.stream.Between(1<<ScaleBits, MaxScale) }

// Epsilon draws ε, the random term of a record, uniform within ±EpsilonBound.
func (n *Noise) Epsilon() int64 {
	e := n.stream.Between(-EpsilonBound, EpsilonBound)
	if n.off {
		return 0
	}
	return e
}

func (n *Noise) Between(lo, hi int64) int64 { return n.stream.Between(lo, hi) }

// reader returns a source that reads the same stream from `skip` samples later on.
func (n *Noise) reader(skip int) *Noise {
	at := n.stream.Position() + uint64(skip)*seed.GaussianBytes
	return &Noise{stream: n.stream.At(at), off: n.off}
}

// advance skips `count` samples that readers have taken.
func (n *Noise) advance(count int) {
	n.stream.Seek(n.stream.Position() + uint64(count)*seed.GaussianBytes)
}

func (n *Noise) sample() uint64 {
	e := n.stream.Gaussian()
	if n.off {
		return 0
	}
	return uint64(e)
}
