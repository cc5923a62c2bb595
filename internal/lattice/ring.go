package lattice

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/tuneinsight/lattigo/v6/ring"

	"cpar/internal/mod48"
	"cpar/internal/wire"
)

// A Ring is Z[X]/(X^N+1) modulo Q, the largest prime below 2^LogQ that is 1 modulo 2N, so
// that X^N+1 splits into linear factors. There are two; another would be a new version of
// the format.
type Ring struct {
	LogN, LogQ int
	N          int
	Q          uint64

	gap    uint64 // gap − 1 is 2^LogQ mod Q: so small that rounding may pretend that the modulus is 2^LogQ
	tables func() *plan
}

var (
	// Fast is for requests and hints that are short: 120 bits of security by the core-SVP
	// count, a little more than Kyber-512 (`cpar-eval security`).
	Fast = newRing(11, 47, 80<<10)
	// Careful has 290 bits by that count; requests are twice as long.
	Careful = newRing(12, 48, 16<<10)
)

const (
	// WordBytes is how long a word is where it is stored or sent.
	WordBytes = 6
	// Sigma is the width of all noise, from the standard. Secrets are uniform in {−1, 0, 1}.
	Sigma = 3.2
	// hintBits is the number of bits that the owner keeps of each coefficient of a hint.
	// With two bits fewer, the rounding of hints would outweigh the noise.
	hintBits = mod48.FieldBits
	// lazy is the number of products of two numbers below Q that fit in 128 bits: there
	// would be room for 2³².
	lazy = 1 << 16
)

func newRing(logN, logQ int, gap uint64) *Ring {
	r := &Ring{LogN: logN, LogQ: logQ, N: 1 << logN, Q: 1<<logQ - gap + 1, gap: gap}
	r.tables = sync.OnceValue(r.plan)
	return r
}

// ringOf is the ring of degree 2^logN, nil if there is none.
func ringOf(logN int) *Ring {
	for _, r := range []*Ring{Fast, Careful} {
		if r.LogN == logN {
			return r
		}
	}
	return nil
}

// plan holds the tables of lattigo's ring, and of the kernels.
type plan struct {
	*ring.SubRing
	kernels *mod48.Modulus
	columns *mod48.Transform
	inverse []uint64 // inverse[i] is 1/2^i as a Montgomery factor
	square  uint64   // 2¹²⁸ mod Q, which undoes two divisions by 2⁶⁴
}

func (r *Ring) plan() *plan {
	of, err := ring.NewRing(r.N, []uint64{r.Q})
	if err != nil {
		panic("lattice: making the ring: " + err.Error())
	}
	t := &plan{SubRing: of.SubRings[0], kernels: mod48.New(r.Q)}
	half := r.Q/2 + 1
	c := ring.MForm(1, r.Q, t.BRedConstant)
	t.square = ring.MForm(c, r.Q, t.BRedConstant)
	for range r.LogN + 1 {
		t.inverse = append(t.inverse, c)
		c = ring.BRed(c, half, r.Q, t.BRedConstant)
	}
	roots := slices.Clone(t.RootsForward[:r.N/minBlock])
	for i, w := range roots {
		roots[i] = ring.IMForm(w, r.Q, t.MRedConstant)
	}
	t.columns = t.kernels.NewTransform(roots)
	return t
}

// Cut sets p to words of b, 64 bits each, little-endian, of which it keeps the upper LogQ bits, and
// reports whether all are below Q. len(p) is a multiple of sixteen; b may be its memory.
func (r *Ring) Cut(p []uint64, b []byte) bool { return r.tables().kernels.Cut(p, b) }

// AppendWords appends words of 48 bits, little-endian.
func AppendWords(b []byte, v []uint64) []byte {
	for _, x := range v {
		b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24), byte(x>>32), byte(x>>40))
	}
	return b
}

// Words reads len(dst) words from b.
func Words(dst []uint64, b []byte) {
	b = b[:len(dst)*WordBytes]
	for i := range dst {
		dst[i] = uint64(binary.LittleEndian.Uint32(b[6*i:])) | uint64(binary.LittleEndian.Uint16(b[6*i+4:]))<<32
	}
}

// elements reads the bytes of n words from in, each below Q. They are not copied.
func (r *Ring) elements(in *wire.Reader, n int, what string) []byte {
	b := in.Bytes(WordBytes*n, what)
	var some [256]uint64
	for at := 0; at < len(b); {
		part := some[:min(len(some), (len(b)-at)/WordBytes)]
		Words(part, b[at:])
		for _, x := range part {
			if x >= r.Q {
				in.Fail("a word of %s is not below the modulus", what)
				return nil
			}
		}
		at += len(part) * WordBytes
	}
	return b
}

// Add returns x + y mod Q for x, y below Q.
func (r *Ring) Add(x, y uint64) uint64 { return ring.CRed(x+y, r.Q) }

// Sub returns x − y mod Q for x, y below Q.
func (r *Ring) Sub(x, y uint64) uint64 { return ring.CRed(x+r.Q-y, r.Q) }

// Lift is the element of [0, Q) that v is modulo Q, for |v| < Q. No branch: v may be secret.
func (r *Ring) Lift(v int64) uint64 { return uint64(v) + uint64(v>>63)&r.Q }

// Centred is the number between −Q/2 and Q/2 that x stands for.
func (r *Ring) Centred(x uint64) int64 {
	if x > r.Q/2 {
		return int64(x) - int64(r.Q)
	}
	return int64(x)
}

// Factors multiplies p by 2⁶⁴, in place: the form of a factor for MulAdd and Scale (Montgomery).
func (r *Ring) Factors(p []uint64) {
	c := r.tables().BRedConstant
	for i := range p {
		p[i] = ring.MForm(p[i], r.Q, c)
	}
}

// MulAdd adds x·y to sum, element by element modulo Q. y must have been through Factors;
// x and sum are below Q.
func (r *Ring) MulAdd(sum, x, y []uint64) {
	c := r.tables().MRedConstant
	x, y = x[:len(sum)], y[:len(sum)]
	for i, s := range sum {
		sum[i] = r.Add(s, ring.MRed(x[i], y[i], r.Q, c))
	}
}

// Scale multiplies p by a number that has been through Factors, in place. Scale by 1
// undoes Factors.
func (r *Ring) Scale(p []uint64, factor uint64) {
	c := r.tables().MRedConstant
	for i := range p {
		p[i] = ring.MRed(p[i], factor, r.Q, c)
	}
}

// round keeps the upper width of LogQ bits of x, which is below Q, rounding to nearest. It
// treats Q as 2^LogQ, which wraps where Q does not: x and what stands for it afterwards, the
// result times 2^(LogQ−width), differ by at most 2^(LogQ−1−width) + gap modulo Q.
func (r *Ring) round(x uint64, width int) uint64 {
	drop := r.LogQ - width
	return (x + 1<<(drop-1)) >> drop & (1<<width - 1)
}

// points checks a length: lattigo's transforms write out of bounds for others.
func (r *Ring) points(p []uint64) int {
	n := len(p)
	if n < minPoints || n > r.N || bits.OnesCount(uint(n)) != 1 {
		panic(fmt.Sprintf("lattice: a transform of %d points", n))
	}
	return n
}

// AddScaled adds x times a number that has been through Factors to sum. Elements of x and
// sum are below Q.
func (r *Ring) AddScaled(sum, x []uint64, factor uint64) {
	c := r.tables().MRedConstant
	x = x[:len(sum)]
	for i, s := range sum {
		sum[i] = r.Add(s, ring.MRed(x[i], factor, r.Q, c))
	}
}

// Mod is x modulo Q.
func (r *Ring) Mod(x uint64) uint64 { return ring.BRedAdd(x, r.Q, r.tables().BRedConstant) }
