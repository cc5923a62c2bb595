package lattice

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"cpar"
	"cpar/internal/wire"
)

// Every header consists of magic, kind, a zero byte, version and index id.
// Numbers are little-endian. A word is an integer below Q in WordBytes bytes,
// so that each value has one encoding. Lengths depend only on the parameters
// (N, B, D, K: doc.go) and the number of records.
//
//	group    header (24)  seed (32)  count (4)  zero (4)  K words  K·B·D words
//	request  header (24)  number (16)  K·B·D words
//	reply    header (24)  number (16)  state (32)  groups (4)  zero (4)  K words for each
//	hint     header (24)  seed (32)  count (4)  zero (4)  N packed coefficients
const (
	magic   = "CPAR"
	version = cpar.SealedVersion

	headerSize = 24
	SeedSize   = 32
	NumberSize = 16
)

type Kind byte

const (
	KindGroup   Kind = 'g'
	KindRequest Kind = 'q'
	KindReply   Kind = 'a'
	KindHint    Kind = 'h'
)

var kinds = map[Kind]string{KindGroup: "group", KindRequest: "request", KindReply: "reply", KindHint: "hint"}

func (k Kind) String() string { return "sealed " + cmp.Or(kinds[k], "object") }

func AppendHeader(b []byte, k Kind, id cpar.IndexID) []byte {
	b = append(b, magic...)
	b = append(b, byte(k), 0)
	b = binary.LittleEndian.AppendUint16(b, version)
	return append(b, id[:]...)
}

// ReadHeader checks the header of an object and returns its index id.
func ReadHeader(r *wire.Reader, k Kind) (id cpar.IndexID, err error) {
	m := string(r.Bytes(len(magic), "magic"))
	got, zero, v := Kind(r.U8("kind")), r.U8("reserved byte"), r.U16("version")
	copy(id[:], r.Bytes(len(id), "index id"))
	switch {
	case r.Err() != nil:
		err = r.Err()
	case m != magic:
		err = fmt.Errorf("%w: it does not start with %q", cpar.ErrCorrupt, magic)
	case got != k:
		err = fmt.Errorf("%w: this is a %v", cpar.ErrCorrupt, got)
	case v != version:
		err = fmt.Errorf("%w: it has version %d, this program speaks version %d", cpar.ErrVersion, v, version)
	case zero != 0:
		err = fmt.Errorf("%w: the reserved byte is %d", cpar.ErrCorrupt, zero)
	}
	return id, err
}

// AppendCount appends a count and four zero bytes.
func AppendCount(b []byte, n int) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(uint32(n)))
}

func ReadCount(r *wire.Reader, what string) int {
	n, zero := r.U32(what), r.U32("reserved bytes")
	if r.Err() == nil && zero != 0 {
		r.Fail("the reserved bytes are not zero")
	}
	return int(n)
}
