package mod48

import (
	"encoding/binary"
	"fmt"
)

// FieldBits is the width of the numbers that Fields reads.
const FieldBits = 26

const (
	fieldBlock      = 16 // fields that the kernels read at once
	fieldBlockBytes = fieldBlock * FieldBits / 8
)

// prepareFields computes the positions of fields. Eight fields are 26 bytes.
// Each is read as eight (or four) bytes from the byte where it begins. Reads
// extend past the field, so the second eight and the last four fields are read
// such that the read ends with the last of sixteen fields.
func (c *constants) prepareFields() {
	c.fieldMask = 1<<FieldBits - 1
	for i := range 8 {
		first, bit := byte(i*FieldBits/8), i*FieldBits%8
		c.fieldShifts[i] = uint64(bit)
		for j := range byte(8) {
			c.fields[0][8*i+int(j)], c.fields[1][8*i+int(j)] = first+j, first+j+6
		}
	}
	const zero = 0x80
	for i, from := range [2]byte{0, 3} {
		for f := range byte(4) {
			to, first := c.quads[i][f/2][8*(f%2):][:8], from+f*FieldBits/8
			copy(to, []byte{first, first + 1, first + 2, first + 3, zero, zero, zero, zero})
		}
	}
}

// Fields reads len(dst) numbers of 26 bits, least significant bit first and
// without gaps, and shifts each to the left by up. Lengths are multiples of
// sixteen numbers.
func (m *Modulus) Fields(dst []uint64, b []byte, up int) {
	if len(dst)%fieldBlock != 0 || len(b) != len(dst)/fieldBlock*fieldBlockBytes || up < 0 || up > 64-FieldBits {
		panic(fmt.Sprintf("mod48: %d fields of %d bytes, shifted by %d", len(dst), len(b), up))
	}
	m.fields(dst, b, up)
}

func fieldsPlain(dst []uint64, b []byte, up int) {
	var last [16]byte
	for ; len(dst) >= 4; dst, b = dst[4:], b[13:] {
		from := b
		if len(b) < 16 {
			copy(last[:], b)
			from = last[:]
		}
		x, y := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[6:])
		const mask = 1<<FieldBits - 1
		dst[0], dst[1], dst[2], dst[3] = x&mask<<up, x>>26&mask<<up, y>>4&mask<<up, y>>30&mask<<up
	}
}

// Cut sets dst to the upper bits of the 64-bit little-endian words of b, as
// many bits as q has, and reports whether all are below q. Lengths are
// multiples of sixteen words. b may share dst's memory.
func (m *Modulus) Cut(dst []uint64, b []byte) bool {
	if len(dst)%16 != 0 || len(b) != 8*len(dst) {
		panic(fmt.Sprintf("mod48: %d words of %d bytes", len(dst), len(b)))
	}
	return m.cut(dst, b)
}

func (m *Modulus) cutPlain(dst []uint64, b []byte) bool {
	over := uint64(0)
	for i := range dst {
		x := binary.LittleEndian.Uint64(b[8*i:]) >> m.c.drop
		dst[i] = x
		over |= m.c.last - x
	}
	return over>>63 == 0
}
