package mod48

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

const (
	// MaxRequests is the maximum number of requests in a Tile, and lanes is the
	// number of requests in a group.
	MaxRequests, lanes = 16, 8
	// TileRows is a multiple of the number of rows in a tile at every level.
	TileRows = 12
)

// A Tile holds one row of each of up to MaxRequests requests, prepared for
// multiplication by many rows. With Tiles, it is faster than Rows for four or
// more requests.
type Tile struct {
	m      *Modulus
	n      int        // words in a row
	words  [][]uint64 // the requests, without kernels for tiles
	packed []uint64   // one or two groups of eight zero-padded requests, interleaved; float64 for AVX2
	groups int
	fixed  [MaxRequests]uint64 // missing from the products of each request, for AVX2
	zeros  []byte              // a row
	work   *workspace
}

// A workspace is the memory of the kernels. It is allocated, because that
// aligns it to cache lines.
type workspace struct {
	sums [2][TileRows][MaxRequests]uint64 // for AVX2, zero between calls
	room [6][block]uint64                 // for IFMA
}

// Set makes t the operand of these packed rows, which must have the same length,
// and reuses the memory of t.
func (t *Tile) Set(m *Modulus, requests [][]byte) {
	if len(requests) < 1 || len(requests) > MaxRequests {
		panic(fmt.Sprintf("mod48: a tile of %d requests", len(requests)))
	}
	size := len(requests[0])
	for _, x := range requests {
		if len(x) != size || size%blockBytes != 0 {
			panic("mod48: requests of different lengths, or not of whole blocks")
		}
	}
	t.m, t.n, t.groups = m, size/WordBytes, (len(requests)+lanes-1)/lanes
	if !Tiles() {
		t.words = make([][]uint64, len(requests))
		for j, x := range requests {
			for i := range t.n {
				t.words[j] = append(t.words[j], word(x[WordBytes*i:]))
			}
		}
		return
	}
	if t.work == nil {
		t.work = new(workspace)
	}
	if width := t.groups * lanes; cap(t.packed) < width*t.n {
		t.packed = make([]uint64, width*t.n)
	}
	if len(t.zeros) < size {
		t.zeros = make([]byte, size)
	}
	zeros := t.zeros[:size]
	t.interleave(requests, zeros)
	if active == withAVX2 {
		var sums [1][MaxRequests]uint64
		t.fixed = sums[0]
		t.times(sums[:], [][]byte{zeros}, [][]byte{zeros})
		less := m.Correction(zeros)
		for j, sum := range sums[0] {
			t.fixed[j] = m.missing(sum, less)
		}
	}
}

// Times sets dst[i][j] = ⟨rows[i], request j⟩ − Correction(rows[i]) mod q for
// packed rows of the requests' length. Elements of dst[i] beyond the last
// request are undefined. `ahead` holds as many rows, which will be multiplied
// next, or is nil. Times prefetches them.
func (t *Tile) Times(dst [][MaxRequests]uint64, rows, ahead [][]byte) {
	for _, some := range [...][][]byte{rows, ahead} {
		for _, r := range some {
			if len(r) != WordBytes*t.n {
				panic("mod48: rows differ in length from requests")
			}
		}
	}
	if ahead == nil {
		ahead = rows // prefetch these rows, because none follow
	}
	if len(ahead) < len(rows) || len(dst) < len(rows) {
		panic("mod48: more rows than results")
	}
	if Tiles() {
		t.times(dst, rows, ahead)
		return
	}
	for i, r := range rows {
		for j, x := range t.words {
			dst[i][j] = t.m.dotPlain(r, x)
		}
	}
}

// factors sets dst to float64 bits of the numbers that are congruent to x modulo
// q and between −q/2 and q/2, less 2⁵², which the kernels for AVX2 add to words
// of rows, and less 2^(bits−1) (fixed). It has no branches.
func (m *Modulus) factors(dst, x []uint64) {
	q, shift := m.c.q, uint64(1)<<52+1<<(m.c.bits-1)
	for i, w := range x {
		over := (q/2 - w) >> 63
		dst[i] = math.Float64bits(float64(int64(w - q&-over - shift)))
	}
}

// With AVX2, Rows and Times subtract 2^(bits−1) from the words of a row, and add
// the products of words of a row, and of a request, that are four apart
// (gen/tile_avx2.go). Both terms that depend only on the request are measured with
// a row of zeros, and Correction computes the term that depends only on the row.
// A sum of up to 2¹⁶ words fits in 64 bits, because words are below 2⁴⁸.

// missing returns the constant to add to all products with a request, given the
// kernel's sum for a row of zeros and the correction of that row. With it, the
// product with this row is zero.
func (m *Modulus) missing(sum, correction uint64) uint64 {
	return lessModulus(m.c.q-m.Add(sum, correction), m.c.q)
}

// Correction returns the difference between products of a packed row and the
// results of Rows and Times. It depends only on the row, so that callers keep
// it.
func (m *Modulus) Correction(row []byte) uint64 {
	if active != withAVX2 {
		return 0
	}
	var hi, lo, h, l, c uint64
	for shift := m.c.q - 1<<(m.c.bits-1); len(row) > 0; row = row[8*WordBytes:] {
		for i := range 4 {
			h, l = bits.Mul64(word(row[WordBytes*i:])+shift, word(row[WordBytes*(i+4):])+shift)
			lo, c = bits.Add64(lo, l, 0)
			hi += h + c
		}
	}
	return lessModulus(m.c.q-bits.Rem64(hi, lo, m.c.q), m.c.q)
}

// Tiles reports whether the processor has kernels for Tile. With them, sixteen
// requests take three to nine times as long as one.
func Tiles() bool { return active == withIFMA || active == withAVX2 }

// Pack adds addends to sums and packs the results: word i of dst[j], from byte
// `at` on, is sums[step*i][j] + addends[j][i] mod q. A single element of addends
// serves all j. Pack writes len(addends[0]) words to each element of dst.
func Pack[S [Streams]uint64 | [MaxRequests]uint64](m *Modulus, dst [][]byte, at int, addends [][]uint64, sums []S, step int) {
	n, done := len(addends[0]), 0
	if n >= 2 { // assembly checks no bounds
		_ = sums[step*(n-1)][len(dst)-1]
		done = m.pack(dst, at, addends, &sums[0][0], step*len(sums[0]), n)
	}
	for j, to := range dst {
		i := 0
		if j < done {
			i = n &^ 1
		}
		for ; i < n; i++ {
			w := m.Add(sums[step*i][j], addends[j%len(addends)][i])
			binary.LittleEndian.PutUint32(to[at+WordBytes*i:], uint32(w))
			binary.LittleEndian.PutUint16(to[at+WordBytes*i+4:], uint16(w>>32))
		}
	}
}
