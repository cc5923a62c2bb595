// Package wire reads and writes the canonical encoding of everything this
// project stores or sends: fixed-width little-endian words, counts before
// lists, nothing optional, nothing left over. FORMAT.md gives the layouts.
//
// One value has one encoding, so decode then encode gives the same bytes. A
// Reader never allocates more than the input justifies: a count is checked
// against the bytes that remain before anything is made for it.
package wire

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// AppendWords appends v to b, eight bytes a word.
func AppendWords(b []byte, v []uint64) []byte {
	for _, w := range v {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// A Reader takes values off the front of a byte slice. After the first
// failure it returns zero values; Err tells what failed and where.
type Reader struct {
	all  []byte
	at   int
	kind error
	err  error
}

// NewReader reads b. Failures wrap kind.
func NewReader(b []byte, kind error) *Reader { return &Reader{all: b, kind: kind} }

// Bytes returns the next n bytes, not copied.
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

// U8 reads one byte.
func (r *Reader) U8(what string) uint8 {
	if b := r.Bytes(1, what); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes.
func (r *Reader) U16(what string) uint16 {
	if b := r.Bytes(2, what); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (r *Reader) U32(what string) uint32 {
	if b := r.Bytes(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (r *Reader) U64(what string) uint64 {
	if b := r.Bytes(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Count reads a four-byte count of things of at least size bytes each and
// refuses one that the remaining input cannot hold.
func (r *Reader) Count(size int, what string) int {
	n := int64(r.U32("count of " + what))
	if r.err == nil && n*int64(size) > int64(len(r.all)-r.at) {
		r.Fail("%d %s of %d bytes each do not fit in the %d bytes that remain", n, what, size, len(r.all)-r.at)
		return 0
	}
	return int(n)
}

// Words reads n eight-byte words into a slice of their own.
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

// Fail records a failure, the first one only.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: at byte %d: %s", r.kind, r.at, fmt.Sprintf(format, args...))
	}
}

// Err returns the first failure, or nil.
func (r *Reader) Err() error { return r.err }

// Close refuses bytes left over and returns the first failure.
func (r *Reader) Close() error {
	if r.err == nil && r.at != len(r.all) {
		r.Fail("%d bytes left over", len(r.all)-r.at)
	}
	return r.err
}

// littleEndian is whether this machine's words lie in memory as in a file.
var littleEndian = func() bool {
	w := uint16(1)
	return *(*byte)(unsafe.Pointer(&w)) == 1
}()

// View returns b as words without copying where the machine and b's alignment
// allow it, and a decoded copy elsewhere. b's length must be a multiple of 8.
// The result must not be written to: b may be a read-only memory map.
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
