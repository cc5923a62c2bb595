package mod48

import (
	"encoding/binary"
	"math/bits"
)

// These functions in plain Go define the kernels and run on processors without
// suitable vector instructions.

func word(b []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint16(b[4:]))<<32
}

// dotPlain returns Σ a[i]·b[i] mod q, where a is packed. 2³² products of
// numbers below 2⁴⁸ fit in 128 bits.
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
