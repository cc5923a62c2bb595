package seed

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/bits"
)

// A Stream is the AES-256-CTR keystream of a secret: 2⁶⁴ bytes with random
// access. Words are little-endian.
//
// A Stream is not safe for concurrent use. At returns independent readers of
// the same bytes, for deterministic parallel work.
type Stream struct {
	Redacted
	block cipher.Block
	ctr   cipher.Stream // positioned at the first byte after buf
	pos   uint64        // position of the next byte to return
	buf   [512]byte
	left  int // unread bytes at the end of buf
}

// New returns the stream of a secret, at position 0. Derive a separate secret
// for each purpose.
func New(secret [Size]byte) *Stream {
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		panic("seed: AES with a 32-byte key: " + err.Error())
	}
	s := &Stream{block: block}
	s.Seek(0)
	return s
}

// At returns an independent reader of the same bytes from offset.
func (s *Stream) At(offset uint64) *Stream {
	c := &Stream{block: s.block}
	c.Seek(offset)
	return c
}

func (s *Stream) Seek(offset uint64) {
	var iv [aes.BlockSize]byte
	binary.BigEndian.PutUint64(iv[8:], offset/aes.BlockSize)
	s.ctr = cipher.NewCTR(s.block, iv[:])
	s.pos, s.left = offset, 0
	if skip := int(offset % aes.BlockSize); skip > 0 {
		s.ctr.XORKeyStream(s.buf[:skip], s.buf[:skip])
	}
}

func (s *Stream) Position() uint64 { return s.pos }

func (s *Stream) Read(p []byte) (int, error) {
	n := len(p)
	s.pos += uint64(n)
	k := copy(p, s.buf[len(s.buf)-s.left:])
	s.left -= k
	p = p[k:]
	if len(p) >= len(s.buf) {
		clear(p)
		s.ctr.XORKeyStream(p, p)
		return n, nil
	}
	if len(p) > 0 {
		clear(s.buf[:])
		s.ctr.XORKeyStream(s.buf[:], s.buf[:])
		s.left = len(s.buf) - copy(p, s.buf[:])
	}
	return n, nil
}

// Uint64 returns the next eight bytes. With this method, Stream is a source for
// math/rand/v2.
func (s *Stream) Uint64() uint64 {
	if s.left < 8 {
		var b [8]byte
		_, _ = s.Read(b[:])
		return binary.LittleEndian.Uint64(b[:])
	}
	x := binary.LittleEndian.Uint64(s.buf[len(s.buf)-s.left:])
	s.left -= 8
	s.pos += 8
	return x
}

func (s *Stream) Words(dst []uint64) {
	var chunk [4096]byte
	for len(dst) > 0 {
		n := min(len(dst), len(chunk)/8)
		_, _ = s.Read(chunk[:8*n])
		for i := range dst[:n] {
			dst[i] = binary.LittleEndian.Uint64(chunk[8*i:])
		}
		dst = dst[n:]
	}
}

// Uint64n returns a uniform number in [0, n), for n > 0. It reads one word, or
// more with probability below n/2⁶⁴.
func (s *Stream) Uint64n(n uint64) uint64 {
	if n == 0 {
		panic("seed: Uint64n of an empty range")
	}
	// The high word of n·x is uniform once the 2⁶⁴ mod n lowest values of the
	// low word are rejected (Lemire, "Fast random integer generation in an
	// interval").
	hi, lo := bits.Mul64(s.Uint64(), n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// Between returns a uniform number in [lo, hi], for lo ≤ hi.
func (s *Stream) Between(lo, hi int64) int64 {
	width := uint64(hi) - uint64(lo) + 1
	if width == 0 {
		return int64(s.Uint64()) // all of int64
	}
	if hi < lo {
		panic("seed: Between of an empty range")
	}
	return lo + int64(s.Uint64n(width))
}

// Perm returns a uniform permutation of 0…n-1 (Fisher–Yates).
func (s *Stream) Perm(n int) []int {
	p := make([]int, n)
	for i := range p {
		j := int(s.Uint64n(uint64(i) + 1))
		p[i] = p[j]
		p[j] = i
	}
	return p
}
