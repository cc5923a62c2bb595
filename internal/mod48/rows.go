package mod48

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// An Operand holds the rows of a request, prepared for Rows.
type Operand struct {
	m     *Modulus
	x     []uint64 // the request's rows
	rows  int
	fixed []uint64 // missing from the products of each row, for AVX2
	// prepared is the operand of the AVX2 and NEON kernels. For AVX2 it holds
	// x as float64 (Modulus.factors). For NEON each word holds the two halves
	// of a word of x, and four words follow every eight. They hold sums of two
	// halves: for the first four words in lower halves, for the last four in
	// upper halves.
	prepared []uint64
}

// Prepare returns the operand of x, a concatenation of `rows` rows of equal
// length. The operand keeps a reference to x.
func (m *Modulus) Prepare(x []uint64, rows int) *Operand {
	if rows < 1 || len(x)%rows != 0 || len(x)/rows%block != 0 {
		panic(fmt.Sprintf("mod48: %d words are not %d rows of whole blocks", len(x), rows))
	}
	o := &Operand{m: m, x: x, rows: rows}
	switch active {
	case withAVX2:
		o.prepared = make([]uint64, len(x))
		m.factors(o.prepared, x)
		o.fixed = make([]uint64, rows)
		zeros, sums := make([]byte, WordBytes*len(x)), make([][Streams]uint64, rows)
		o.Rows(sums, &[Streams][]byte{zeros, zeros, zeros, zeros})
		less := m.Correction(zeros[:len(zeros)/rows])
		for k, sum := range sums {
			o.fixed[k] = m.missing(sum[0], less)
		}
		return o
	case withNEON:
		o.prepared = make([]uint64, len(x)/8*12)
	default:
		return o
	}
	for to := o.prepared; len(x) >= 8; x, to = x[8:], to[12:] {
		for i, w := range x[:8] {
			to[i] = w&(1<<24-1) | w>>24<<32
		}
		for i := range 4 {
			first, last := to[i], to[4+i]
			to[8+i] = first&(1<<32-1) + first>>32 + (last&(1<<32-1)+last>>32)<<32
		}
	}
	return o
}

// Rows multiplies the rows of four matrices by the rows of o: dst[k][s] = ⟨row
// k of matrices[s], row k of o⟩ − Correction(row k of matrices[s]) mod q. All
// matrices and o have len(dst) contiguous rows.
//
// Rows reads each matrix in order and prefetches beyond it.
func (o *Operand) Rows(dst [][Streams]uint64, matrices *[Streams][]byte) {
	if len(dst) != o.rows {
		panic(fmt.Sprintf("mod48: %d results for %d rows", len(dst), o.rows))
	}
	for _, b := range matrices {
		_ = b[:WordBytes*len(o.x)] // assembly checks no bounds
	}
	n := len(o.x) / o.rows
	if n <= limit {
		o.multiply(dst, matrices, 0, n)
		return
	}
	var part [1][Streams]uint64
	for k := range dst {
		dst[k] = [Streams]uint64{}
		for from := k * n; from < (k+1)*n; from += limit {
			o.multiply(part[:], matrices, from, min(limit, (k+1)*n-from))
			for s, p := range part[0] {
				dst[k][s] = o.m.Add(dst[k][s], p)
			}
		}
	}
}

// The functions below define the kernels in plain Go and run on processors
// without suitable vector instructions.

func word(b []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint16(b[4:]))<<32
}

// dotPlain returns Σ a[i]·b[i] mod q, where a is packed. Sums of 2³² products
// of numbers below 2⁴⁸ fit in 128 bits.
func (m *Modulus) dotPlain(a []byte, b []uint64) uint64 {
	a = a[:WordBytes*len(b)]
	var hi, lo, h, l, c uint64
	for len(b) >= 4 && len(a) >= 32 { // each read of eight bytes uses six
		h, l = bits.Mul64(binary.LittleEndian.Uint64(a)&(1<<48-1), b[0])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(binary.LittleEndian.Uint64(a[6:])&(1<<48-1), b[1])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(binary.LittleEndian.Uint64(a[12:])&(1<<48-1), b[2])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		h, l = bits.Mul64(binary.LittleEndian.Uint64(a[18:])&(1<<48-1), b[3])
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
		a, b = a[4*WordBytes:], b[4:]
	}
	for i, y := range b {
		h, l = bits.Mul64(word(a[WordBytes*i:]), y)
		lo, c = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, c)
	}
	return bits.Rem64(hi, lo, m.c.q)
}

func (o *Operand) multiplyPlain(dst [][Streams]uint64, matrices *[Streams][]byte, from, n int) {
	for k := range dst {
		at := from + k*n
		for s, b := range matrices {
			dst[k][s] = o.m.dotPlain(b[WordBytes*at:WordBytes*(at+n)], o.x[at:at+n])
		}
	}
}
