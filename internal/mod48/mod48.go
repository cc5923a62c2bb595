// Package mod48 computes with words modulo a prime q of 47 or 48 bits, for the
// server and the owner in scheme sealed.
//
//	server  in   []byte, rows of words of 6 bytes, little-endian and without gaps, each below q
//	             []uint64, rows of a request, each word below q, prepared once
//	        out  Σ a[i]·b[i] mod q, below q
//
//	        one request     Rows, four matrices at once, as four memory streams
//	        many requests   Tile, which multiplies rows by up to sixteen requests
//
//	owner   Fields     packed numbers of 26 bits ─▶ words
//	        Transform  polynomials modulo Y^K+1, one in each column ─▶ their values at K points
//	        Products   two matrices of words below q ─▶ Σ a[i]·b[i] mod q for each row
//	        Cut        a stream of random bytes ─▶ words, and whether all are below q
//
// Package mod48 handles no keys. Its running time depends only on lengths.
//
// The server's rows consist of whole blocks of sixteen words, 96 bytes.
// Functions in plain Go, named …Plain, define the operations. Assembly replaces
// them: on amd64 for AVX2, or for AVX-512 with IFMA and VBMI, written by
// package gen, and on arm64 for NEON. Build tag purego leaves it out. Tests
// compare every supported kernel with big integers.
//
// On a core with IFMA, memory bandwidth limits Rows. The multiplier limits a
// Tile of sixteen requests, to one cycle for eight products, or for four on
// processors that split 512-bit instructions. With AVX2, a Tile takes 1.3 cycles
// for four products.
package mod48

import (
	"fmt"
	"math/bits"
)

const WordBytes = 6

const (
	// Streams is the number of matrices that Rows reads at once.
	Streams = 4

	block      = 16 // words that the kernels multiply at once
	blockBytes = block * WordBytes
	// limit is the maximum number of products that the kernels' sums can hold.
	limit = 2048
)

// A Modulus is a prime a little below 2⁴⁷ or 2⁴⁸. Reductions use that 2^bits is
// congruent modulo q to 2^bits − q, which has at most 17 bits.
type Modulus struct{ c constants }

// constants holds the constants of a modulus. gen/main.go has the offsets.
type constants struct {
	q, bits, mask, excess, square uint64 // mask = 2^bits − 1, excess = 2^bits − q, square = excess²
	carry, carried                uint64 // carry = 52 − bits, carried = excess·2^carry
	middle, top, upper            uint64 // middle = bits − 24, top = bits − 32, upper = 48 − bits
	middleMask, topMask           uint64
	words                         [2][64]byte    // VPERMB indices of the bytes of eight words
	whole                         [3][2][16]byte // VPSHUFB indices of two words in each half

	// for the owner's kernels
	last, drop              uint64  // last = q − 1, drop = 64 − bits
	twice, low52, half      uint64  // twice = 2q, low52 = 2⁵² − 1, half = 2²⁴ − 1
	float, inverse, float52 float64 // float = q, inverse = 1/q, float52 = 2⁵²
	fieldShifts             [8]uint64
	fieldMask               uint64
	fields                  [2][64]byte    // VPERMB indices of the bytes of eight fields
	quads                   [2][2][16]byte // VPSHUFB indices of four fields, two at a time

	// for products with AVX2
	starts [2]float64 // values of empty sums, 1.5·2¹⁰⁰ and 1.5·2⁵²
	halfQ  uint64     // = q/2, rounded down
	offset float64    // = 2⁵³ + 2^(bits−1)
}

// New returns the modulus q.
func New(q uint64) *Modulus {
	n := bits.Len64(q)
	if excess := uint64(1)<<n - q; n < 47 || n > 48 || excess >= 1<<17 {
		panic(fmt.Sprintf("mod48: modulus %d is not a little below 2⁴⁷ or 2⁴⁸", q))
	}
	c := constants{q: q, bits: uint64(n), mask: 1<<n - 1, excess: 1<<n - q}
	c.square, c.carry, c.carried = c.excess*c.excess, 52-c.bits, c.excess<<(52-c.bits)
	c.middle, c.top, c.upper = c.bits-24, c.bits-32, 48-c.bits
	c.middleMask, c.topMask = 1<<c.middle-1, 1<<c.top-1
	for i := range 64 {
		// The 64 bytes read for the second eight words begin 16 bytes before
		// these words.
		c.words[0][i], c.words[1][i] = byte(i/8*6+i%8), byte(16+i/8*6+i%8)
	}
	for lane := range 2 {
		// The lower or upper half of some reads begins 4 bytes before its words.
		c.whole[0][lane], c.whole[1][lane], c.whole[2][lane] = indices(0, 6, 8), indices(4-4*lane, 6, 8), indices(4*lane, 6, 8)
	}
	c.starts, c.halfQ, c.offset = [2]float64{3 << 99, 3 << 51}, q/2, float64(1<<53+uint64(1)<<(n-1))
	c.last, c.drop = q-1, 64-c.bits
	c.twice, c.low52, c.half = 2*q, 1<<52-1, 1<<24-1
	c.float, c.inverse, c.float52 = float64(q), 1/float64(q), 1<<52
	c.prepareFields()
	return &Modulus{c}
}

// indices returns VPSHUFB indices that move numbers of `bytes` bytes, beginning
// at byte from, to lanes of `width` bytes.
func indices(from, bytes, width int) (out [16]byte) {
	for i := range out {
		if out[i] = 0x80; i%width < bytes { // 0x80 gives zero
			out[i] = byte(from + i/width*bytes + i%width)
		}
	}
	return out
}

// Add returns x + y mod q for x, y below q, without a branch.
func (m *Modulus) Add(x, y uint64) uint64 {
	return lessModulus(x+y, m.c.q)
}

type level int

const (
	plain level = iota
	withAVX2
	withIFMA
	withNEON
)

func (l level) String() string { return [...]string{"plain Go", "AVX2", "AVX-512 IFMA", "NEON"}[l] }

// active is the level in use, the last that the processor supports.
var active = supported()[len(supported())-1]

// AtEachLevel activates each set of kernels that the processor supports, and
// calls f with its name. Nothing else may use the package meanwhile.
func AtEachLevel(f func(kernels string)) {
	defer func(l level) { active = l }(active)
	for _, active = range supported() {
		f(active.String())
	}
}
