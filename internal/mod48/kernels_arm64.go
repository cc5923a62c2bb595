//go:build !purego

package mod48

import (
	"math/bits"
	"unsafe"
)

// Every arm64 processor has NEON.
func supported() []level { return []level{plain, withNEON} }

// neon_arm64.s was written by hand, because avo writes only amd64. Counts are
// instructions of the inner loop in NEON and in plain Go:
//
//	Rows, per product         2.5 and 9
//	Products, per product     4.3 and 9
//	Evaluate, per butterfly   5.3 and 26
//	Fields, per number        2.1 and 11
//	Cut, per word             1.9 and 10
//
// Scalar assembly would need 6.5 for a product of Rows and 5.5 for one of
// Products, because UMULH and MUL also need unpacked operands and two
// additions.
//
// A Tile of four requests by two rows would need 2.0 instructions per product,
// too small a gain over Rows for a kernel.

// foursNEON stores the three sums of four rows of eights·8 words. x holds
// Operand.prepared.
//
//go:noescape
func foursNEON(places *[4][16]byte, sums *[4][3]uint64, r0 *byte, r1 *byte, r2 *byte, r3 *byte, x *uint64, eights int)

// productsNEON stores the three sums of each row of eights·8 words, and the
// last sum again.
//
//go:noescape
func productsNEON(sums *[4]uint64, rows int, a *uint64, b *uint64, eights int)

// cutNEON implements Cut for sixteens·16 words. The sign of the result is set
// if a word is too large.
//
//go:noescape
func cutNEON(dst *uint64, b *byte, sixteens int, drop uint64, last uint64) uint64

// fieldsNEON implements Fields for blocks·16 numbers. shifts holds the shifts
// of four fields and twice the mask of a shifted field.
//
//go:noescape
func fieldsNEON(quads *[2][2][16]byte, shifts *[6]uint64, dst *uint64, b *byte, blocks int)

// floatsNEON converts eights·8 words to float64, all below 2⁵².
//
//go:noescape
func floatsNEON(p *uint64, eights int)

// levelNEON computes one level of butterflies. Half a block has eights·8 float64.
//
//go:noescape
func levelNEON(q float64, p *uint64, roots *[5]uint64, blocks int, eights int)

// reduceNEON converts eights·8 float64 integers of up to 7q to words below q.
//
//go:noescape
func reduceNEON(q float64, inverse float64, word uint64, p *uint64, eights int)

// places holds TBL indices of the lower and upper halves of four words that
// begin at byte 0, and of four words that begin at byte 8.
var places = func() (p [4][16]byte) {
	for i := range p {
		for j := range p[i] {
			p[i][j] = byte(i/2*8 + j/4*WordBytes + i%2*3 + j%4)
			if j%4 == 3 {
				p[i][j] = 0xff // TBL writes 0 for it
			}
		}
	}
	return p
}()

func (o *Operand) multiply(dst [][Streams]uint64, matrices *[Streams][]byte, from, n int) {
	if active == plain {
		o.multiplyPlain(dst, matrices, from, n)
		return
	}
	var sums [Streams][3]uint64
	for k := range dst {
		at := from + k*n
		row := func(s int) *byte { return unsafe.SliceData(matrices[s][WordBytes*at:]) }
		foursNEON(&places, &sums, row(0), row(1), row(2), row(3), unsafe.SliceData(o.prepared[at/8*12:]), n/8)
		for s, sum := range sums {
			dst[k][s] = o.m.close(sum[0], sum[1], sum[2])
		}
	}
}

// close combines the kernels' three sums, each below 2⁶¹, into one modulo q.
func (m *Modulus) close(low, cross, high uint64) uint64 {
	cross -= low + high
	lo, carry := bits.Add64(low, cross<<24, 0)
	hi := cross>>40 + high>>16 + carry
	lo, carry = bits.Add64(lo, high<<48, 0)
	hi += carry
	// Three times, 2^bits becomes the excess, of at most 17 bits. The first
	// leaves less than 2⁷⁹, the second less than 2⁵⁰, the third less than 2q.
	n := m.c.bits & 63
	over, rest := hi<<(64-n)|lo>>n, lo&m.c.mask
	hi, lo = bits.Mul64(over, m.c.excess)
	lo, carry = bits.Add64(lo, rest, 0)
	hi += carry
	rest = lo&m.c.mask + (hi<<(64-n)|lo>>n)*m.c.excess
	return lessModulus(rest&m.c.mask+rest>>n*m.c.excess, m.c.q)
}

func (t *Tile) interleave([][]byte, []byte) {}

func (t *Tile) times([][MaxRequests]uint64, [][]byte, [][]byte) {
	panic("mod48: no tile kernels for arm64")
}

func (m *Modulus) pack([][]byte, int, [][]uint64, *uint64, int, int) int { return 0 }

func (m *Modulus) cut(dst []uint64, b []byte) bool {
	if active == plain {
		return m.cutPlain(dst, b)
	}
	return cutNEON(unsafe.SliceData(dst), unsafe.SliceData(b), len(dst)/columns, m.c.drop, m.c.last)>>63 == 0
}

func (m *Modulus) fields(dst []uint64, b []byte, up int) {
	if active == plain {
		fieldsPlain(dst, b, up)
		return
	}
	var shifts [6]uint64
	for i := range 4 {
		shifts[i] = uint64(up) - m.c.fieldShifts[i]
	}
	shifts[4], shifts[5] = m.c.fieldMask<<up, m.c.fieldMask<<up
	fieldsNEON(&m.c.quads, &shifts, unsafe.SliceData(dst), unsafe.SliceData(b), len(dst)/fieldBlock)
}

func (t *Transform) evaluate(p []uint64, k int) {
	if active == plain {
		t.evaluatePlain(p, k)
		return
	}
	c, to := &t.m.c, unsafe.SliceData(p)
	floatsNEON(to, len(p)/8)
	for blocks := 1; blocks < k; blocks *= 2 {
		levelNEON(c.float, to, (*[5]uint64)(&t.roots[blocks]), blocks, len(p)/blocks/16)
	}
	reduceNEON(c.float, c.inverse, c.q, to, len(p)/8)
}

func (m *Modulus) products(dst, a, b []uint64, n int) {
	if active == plain {
		m.productsPlain(dst, a, b, n)
		return
	}
	var sums [16][4]uint64
	for len(dst) > 0 {
		rows := min(len(dst), len(sums))
		productsNEON(&sums[0], rows, unsafe.SliceData(a), unsafe.SliceData(b), n/8)
		for k, s := range sums[:rows] {
			dst[k] = m.close(s[0], s[1], s[2])
		}
		dst, a, b = dst[rows:], a[rows*n:], b[rows*n:]
	}
}
