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
	m        *Modulus
	requests [][]uint64
	// packed holds one or two zero-padded groups of lanes, which interleave the
	// rows of eight requests. For AVX2 the words are float64.
	packed []uint64
	groups int
	// fixed holds Modulus.fixed of each request, for AVX2.
	fixed [MaxRequests]uint64
	work  *workspace
}

// A workspace is the memory of the kernels. It is allocated, because that
// aligns it to cache lines.
type workspace struct {
	sums [2][TileRows][MaxRequests]uint64 // for AVX2, zero between calls
	room [TileRows + 2][2 * block]uint64
}

// Set makes t the operand of these rows, which must have the same length, and
// reuses the memory of t. Without Tiles, it keeps a reference to requests.
func (t *Tile) Set(m *Modulus, requests [][]uint64) {
	if len(requests) < 1 || len(requests) > MaxRequests {
		panic(fmt.Sprintf("mod48: a tile of %d requests", len(requests)))
	}
	n := len(requests[0])
	for _, x := range requests {
		if len(x) != n || n%block != 0 {
			panic("mod48: requests of different lengths, or not of whole blocks")
		}
	}
	t.m, t.requests, t.groups = m, append(t.requests[:0], requests...), (len(requests)+lanes-1)/lanes
	if !Tiles() {
		return
	}
	if t.work == nil {
		t.work = new(workspace)
	}
	width := t.groups * lanes
	if cap(t.packed) < width*n {
		t.packed = make([]uint64, width*n)
	}
	t.packed = t.packed[:width*n]
	if active == withAVX2 {
		for j, x := range requests {
			t.fixed[j] = m.fixed(x)
		}
	}
	// Interleave eight words of each request at a time, to fill cache lines
	// before eviction.
	for from := 0; from < n; from += lanes {
		for j := range width {
			var x [lanes]uint64
			if j < len(requests) {
				x = [lanes]uint64(requests[j][from:])
			}
			if active == withAVX2 {
				m.factors(x[:], x[:])
			}
			to := t.packed[lanes*(j/lanes*n+from)+j%lanes:][:lanes*lanes-lanes+1]
			for i, w := range x {
				to[lanes*i] = w
			}
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
			if len(r) != WordBytes*len(t.requests[0]) {
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
		for j, x := range t.requests {
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
// (gen/tile_avx2.go). fixed returns what is missing for request x modulo q, and
// Correction for a row. A sum of up to 2¹⁶ words fits in 64 bits, because words
// are below 2⁴⁸.

func (m *Modulus) fixed(x []uint64) uint64 {
	var hi, lo, h, l, c, sum uint64
	for ; len(x) >= 8; x = x[8:] {
		for i, y := range x[4:8] {
			h, l = bits.Mul64(m.c.q-x[i], y)
			lo, c = bits.Add64(lo, l, 0)
			hi, sum = hi+h+c, sum+x[i]+y
		}
	}
	h, l = bits.Mul64(sum, 1<<(m.c.bits-1))
	lo, c = bits.Add64(lo, l, 0)
	return bits.Rem64(hi+h+c, lo, m.c.q)
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
// requests take three to eleven times as long as one.
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
