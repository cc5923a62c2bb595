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

// A Ring is Z[X]/(X^N+1) modulo Q, the largest prime below 2^LogQ with Q ≡ 1
// mod 2N, so that X^N+1 splits into linear factors. Adding a ring requires a
// new version of the format.
type Ring struct {
	LogN, LogQ int
	N          int
	Q          uint64

	gap    uint64 // 2^LogQ mod Q + 1, so small that round can treat Q as 2^LogQ
	tables func() *plan
}

var (
	// Fast has short requests and hints (public data for reading replies). Its
	// security by the core-SVP estimate is 120 bits, slightly above Kyber-512
	// (`cpar-eval security`).
	Fast = newRing(11, 47, 80<<10)
	// Careful has 290 bits by the same estimate. Requests are twice as long.
	Careful = newRing(12, 48, 16<<10)
)

const (
	// WordBytes is the length of a stored or sent word.
	WordBytes = 6
	// Sigma is the width σ of all noise. Secrets are uniform in {−1, 0, 1}. The
	// standard in security.go assumes such noise and secrets.
	Sigma = 3.2
	// hintBits is the number of bits kept of each hint coefficient. With two
	// bits fewer, rounding would exceed the noise.
	hintBits = mod48.FieldBits
)

func newRing(logN, logQ int, gap uint64) *Ring {
	r := &Ring{LogN: logN, LogQ: logQ, N: 1 << logN, Q: 1<<logQ - gap + 1, gap: gap}
	r.tables = sync.OnceValue(r.plan)
	return r
}

func ringOf(logN int) *Ring {
	for _, r := range []*Ring{Fast, Careful} {
		if r.LogN == logN {
			return r
		}
	}
	return nil
}

type plan struct {
	*ring.SubRing
	kernels *mod48.Modulus
	columns *mod48.Transform
	inverse []uint64 // inverse[i] is 1/2^i as a Montgomery factor
}

func (r *Ring) plan() *plan {
	of, err := ring.NewRing(r.N, []uint64{r.Q})
	if err != nil {
		panic("lattice: making the ring: " + err.Error())
	}
	t := &plan{SubRing: of.SubRings[0], kernels: mod48.New(r.Q)}
	half := r.Q/2 + 1
	c := ring.MForm(1, r.Q, t.BRedConstant)
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

// Cut sets p to the upper LogQ bits of the 64-bit little-endian words of b and
// reports whether all are below Q. len(p) must be a multiple of sixteen. b may
// alias p.
func (r *Ring) Cut(p []uint64, b []byte) bool { return r.tables().kernels.Cut(p, b) }

// AppendWords appends v as little-endian 48-bit words.
func AppendWords(b []byte, v []uint64) []byte {
	start, size := len(b), WordBytes*len(v)
	b = slices.Grow(b, size)[:start+size]
	for i, x := range v {
		to := b[start+WordBytes*i:]
		binary.LittleEndian.PutUint32(to, uint32(x))
		binary.LittleEndian.PutUint16(to[4:], uint16(x>>32))
	}
	return b
}

func Words(dst []uint64, b []byte) {
	b = b[:len(dst)*WordBytes]
	for len(dst) >= 4 && len(b) >= 24 {
		x, y, z := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
		dst[0], dst[1], dst[2], dst[3] = x<<16>>16, x>>48|y<<32>>16, y>>32|z<<48>>16, z>>16
		dst, b = dst[4:], b[24:]
	}
	for i := range dst {
		dst[i] = uint64(binary.LittleEndian.Uint32(b[6*i:])) | uint64(binary.LittleEndian.Uint16(b[6*i+4:]))<<32
	}
}

// elements returns the bytes of the next n words without copying them, and
// checks that each is below Q.
func (r *Ring) elements(in *wire.Reader, n int, what string) []byte {
	b := in.Bytes(WordBytes*n, what)
	var some [256]uint64
	for at := 0; at < len(b); {
		part := some[:min(len(some), (len(b)-at)/WordBytes)]
		Words(part, b[at:])
		over := uint64(0)
		for _, x := range part {
			over |= r.Q - 1 - x
		}
		if over>>63 != 0 {
			in.Fail("a word of %s is not below the modulus", what)
			return nil
		}
		at += len(part) * WordBytes
	}
	return b
}

// Add returns x + y mod Q for x, y below Q.
func (r *Ring) Add(x, y uint64) uint64 { return ring.CRed(x+y, r.Q) }

// Sub returns x − y mod Q for x, y below Q.
func (r *Ring) Sub(x, y uint64) uint64 { return ring.CRed(x+r.Q-y, r.Q) }

// Lift returns v modulo Q in [0, Q), for |v| < Q. It has no branches because v
// may be secret.
func (r *Ring) Lift(v int64) uint64 { return uint64(v) + uint64(v>>63)&r.Q }

// Centred returns the representative of x between −Q/2 and Q/2.
func (r *Ring) Centred(x uint64) int64 {
	if x > r.Q/2 {
		return int64(x) - int64(r.Q)
	}
	return int64(x)
}

// Factors multiplies p by 2⁶⁴ in place, which converts it to the Montgomery
// form that MulAdd and Scale need.
func (r *Ring) Factors(p []uint64) {
	c := r.tables().BRedConstant
	for i := range p {
		p[i] = ring.MForm(p[i], r.Q, c)
	}
}

// MulAdd adds x·y to `sum` elementwise modulo Q. `y` must be in the form of
// Factors. Elements of x and `sum` must be below Q.
func (r *Ring) MulAdd(sum, x, y []uint64) {
	c := r.tables().MRedConstant
	x, y = x[:len(sum)], y[:len(sum)]
	for i, s := range sum {
		sum[i] = r.Add(s, ring.MRed(x[i], y[i], r.Q, c))
	}
}

// Scale multiplies p in place by a factor in the form of Factors. Scaling by 1
// inverts Factors.
func (r *Ring) Scale(p []uint64, factor uint64) {
	c := r.tables().MRedConstant
	for i := range p {
		p[i] = ring.MRed(p[i], factor, r.Q, c)
	}
}

// round returns the upper `width` bits of x, rounded to nearest. x must be
// below Q. The rounding treats Q as 2^LogQ. The result times 2^(LogQ−width)
// differs from x by at most 2^(LogQ−1−width) + gap modulo Q.
func (r *Ring) round(x uint64, width int) uint64 {
	drop := r.LogQ - width
	return (x + 1<<(drop-1)) >> drop & (1<<width - 1)
}

// points returns the length of p. It panics on an invalid length, for which
// lattigo's transforms would write out of bounds.
func (r *Ring) points(p []uint64) int {
	n := len(p)
	if n < minPoints || n > r.N || bits.OnesCount(uint(n)) != 1 {
		panic(fmt.Sprintf("lattice: a transform of %d points", n))
	}
	return n
}

// AddScaled adds x times a factor in the form of Factors to `sum`. Elements of
// x and `sum` are below Q.
func (r *Ring) AddScaled(sum, x []uint64, factor uint64) {
	c := r.tables().MRedConstant
	x = x[:len(sum)]
	for i, s := range sum {
		sum[i] = r.Add(s, ring.MRed(x[i], factor, r.Q, c))
	}
}

func (r *Ring) Mod(x uint64) uint64 { return ring.BRedAdd(x, r.Q, r.tables().BRedConstant) }
