// Package wire reads and writes the canonical encoding of all stored and sent
// data. Numbers are little-endian and have a fixed width, and a count precedes
// each list. There are no optional fields and no trailing bytes. docs/FORMAT.md
// gives the layouts.
//
// Each value has only one encoding, so decoding and encoding again gives the
// same bytes. A Reader checks each count against the remaining input before it
// allocates.
package wire

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"unsafe"
)

// AppendWords appends v to b, eight bytes per word.
func AppendWords(b []byte, v []uint64) []byte {
	for _, w := range v {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// A Reader reads values from the front of a byte slice. After the first failure
// it returns zero values, and Err returns the failure.
type Reader struct {
	all  []byte
	at   int
	kind error
	err  error
}

// NewReader returns a Reader of b whose errors wrap `kind`.
func NewReader(b []byte, kind error) *Reader { return &Reader{all: b, kind: kind} }

// Bytes returns the next n bytes without copying them.
func (r *Reader) Bytes(n int, what string) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.all)-r.at {
		r.Fail("%s needs %d bytes, %d remain", what, n, len(r.all)-r.at)
		return nil
	}
	b := r.all[r.at : r.at+n : r.at+n]
	r.at += n
	return b
}

func (r *Reader) U8(what string) uint8 {
	if b := r.Bytes(1, what); b != nil {
		return b[0]
	}
	return 0
}

func (r *Reader) U16(what string) uint16 {
	if b := r.Bytes(2, what); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *Reader) U32(what string) uint32 {
	if b := r.Bytes(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *Reader) U64(what string) uint64 {
	if b := r.Bytes(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Varint reads a number from −`most` to `most` in variable length (package
// binary). It accepts only the shortest encoding.
func (r *Reader) Varint(what string, most int64) int64 {
	if r.err != nil {
		return 0
	}
	x, n := binary.Varint(r.all[r.at:])
	if n <= 0 || n != len(binary.AppendVarint(nil, x)) || x > most || x < -most {
		r.Fail("%s is not a number of at most %d", what, most)
		return 0
	}
	r.at += n
	return x
}

// Count reads a four-byte count of items, each of at least `size` bytes. It
// fails if the remaining input is too short for the items.
func (r *Reader) Count(size int, what string) int {
	n := int64(r.U32("count of " + what))
	if r.err == nil && n*int64(size) > int64(len(r.all)-r.at) {
		r.Fail("%d %s of %d bytes each do not fit in the %d bytes that remain", n, what, size, len(r.all)-r.at)
		return 0
	}
	return int(n)
}

func (r *Reader) Words(n int, what string) []uint64 {
	if r.err == nil && (n < 0 || n > (len(r.all)-r.at)/8) {
		r.Fail("%s needs %d words, %d remain", what, n, (len(r.all)-r.at)/8)
	}
	b := r.Bytes(8*n, what)
	if b == nil {
		return nil
	}
	v := make([]uint64, n)
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return v
}

// U16s reads a count and as many two-byte numbers.
func (r *Reader) U16s(what string) []uint16 {
	v := make([]uint16, r.Count(2, what))
	for i := range v {
		v[i] = r.U16(what)
	}
	return v
}

func AppendU16s(b []byte, v []uint16) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint16(b, x)
	}
	return b
}

// Encoded reads a length and as many bytes, and decodes these into `target`.
func (r *Reader) Encoded(what string, target encoding.BinaryUnmarshaler) error {
	enc := r.Bytes(r.Count(1, "bytes of "+what), what)
	if r.err != nil {
		return r.err
	}
	return target.UnmarshalBinary(enc)
}

func AppendEncoded(b []byte, m encoding.BinaryMarshaler) ([]byte, error) {
	enc, err := m.MarshalBinary()
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(enc))), enc...), err
}

// Fail records the first failure.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: at byte %d: %s", r.kind, r.at, fmt.Sprintf(format, args...))
	}
}

// Zeros reads n bytes that must be 0.
func (r *Reader) Zeros(n int, what string) {
	for _, x := range r.Bytes(n, what) {
		if x != 0 {
			r.Fail("%s is not zero", what)
		}
	}
}

func (r *Reader) Left() int { return len(r.all) - r.at }

func (r *Reader) Err() error { return r.err }

// Close returns the first failure. Unread bytes count as a failure.
func (r *Reader) Close() error {
	if r.err == nil && r.at != len(r.all) {
		r.Fail("%d bytes left over", len(r.all)-r.at)
	}
	return r.err
}

var littleEndian = func() bool {
	w := uint16(1)
	return *(*byte)(unsafe.Pointer(&w)) == 1
}()

// View returns b as 64-bit words, without copying if byte order and alignment
// allow. len(b) must be a multiple of 8. The result must not be modified,
// because b may be a read-only memory map.
func View(b []byte) []uint64 {
	if len(b) == 0 {
		return nil
	}
	if len(b)%8 != 0 {
		panic("wire: View of a length that is not whole words")
	}
	if littleEndian && uintptr(unsafe.Pointer(&b[0]))%8 == 0 {
		return unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), len(b)/8)
	}
	v := make([]uint64, len(b)/8)
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return v
}
