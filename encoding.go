package cpar

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"cpar/internal/wire"
)

// magic is the first four bytes of every encoded message. After them come the
// kind, a zero byte and the format version. docs/FORMAT.md describes each
// encoding.
const magic = "CPAR"

type kind uint8

const (
	kindManifest kind = 'M'
	kindRequest  kind = 'Q'
	kindReply    kind = 'A'
	// This package does not parse the messages of scheme "sealed".
	kindSealedRequest kind = 'q'
	kindSealedReply   kind = 'a'
)

// SealedVersion is the format version of all data of scheme "sealed".
const SealedVersion = 3

// opaqueHeader is the length of the header of an opaque message, which this
// package does not parse: the common header and the index ID.
const opaqueHeader = 8 + len(IndexID{})

var kindNames = map[kind]string{
	kindManifest: "index manifest", kindRequest: "request", kindReply: "reply",
	kindSealedRequest: "sealed request", kindSealedReply: "sealed reply",
}

func (k kind) String() string { return cmp.Or(kindNames[k], "object") }

func appendHeader(b []byte, k kind) []byte {
	b = append(b, magic...)
	b = append(b, byte(k), 0)
	return binary.LittleEndian.AppendUint16(b, Version)
}

// readHeader checks the first eight bytes. A different format version gives
// ErrVersion instead of ErrCorrupt, because another version of the program can
// read it.
func readHeader(b []byte, k kind) (*wire.Reader, error) { return readVersion(b, k, Version) }

func readVersion(b []byte, k kind, want uint16) (*wire.Reader, error) {
	r := wire.NewReader(b, ErrCorrupt)
	if m := r.Bytes(4, "magic"); m == nil || string(m) != magic {
		return nil, fmt.Errorf("reading %v: %w: it does not start with %q", k, ErrCorrupt, magic)
	}
	got, zero, version := kind(r.U8("kind")), r.U8("reserved byte"), r.U16("version")
	switch {
	case r.Err() != nil:
		return nil, fmt.Errorf("reading %v: %w", k, r.Err())
	case got != k:
		return nil, fmt.Errorf("reading %v: %w: this is a %v", k, ErrCorrupt, got)
	case version != want:
		return nil, fmt.Errorf("reading %v: %w: it has version %d, this program speaks version %d", k, ErrVersion, version, want)
	case zero != 0:
		return nil, fmt.Errorf("reading %v: %w: the reserved byte is %d", k, ErrCorrupt, zero)
	}
	return r, nil
}

// schemeOf identifies the scheme of the opaque message b by its first bytes.
// The parameter `of` is either asRequest or asReply.
func schemeOf(b []byte, of func(schemeSpec) message) (Scheme, message, bool) {
	for s, f := range schemeSpecs {
		if m := of(f); m != (message{}) && len(b) > len(magic) && string(b[:len(magic)]) == magic && kind(b[len(magic)]) == m.kind {
			return s, m, true
		}
	}
	return 0, message{}, false
}

func readOpaque(b []byte, m message) (id IndexID, err error) {
	r, err := readVersion(b, m.kind, m.version)
	if err != nil {
		return id, err
	}
	copy(id[:], r.Bytes(len(id), "index id"))
	if r.Err() == nil && len(b) == opaqueHeader {
		r.Fail("nothing follows the header")
	}
	if r.Err() != nil {
		return id, fmt.Errorf("reading %v: %w", m.kind, r.Err())
	}
	return id, nil
}

// appendOpaque checks the header and index ID of an opaque message (`encoded`)
// and appends the message to b.
func appendOpaque(b, encoded []byte, m message, want IndexID) ([]byte, error) {
	id, err := readOpaque(encoded, m)
	if err == nil && id != want {
		err = fmt.Errorf("%w: it is for index %v, not for %v", ErrCorrupt, id, want)
	}
	if err != nil {
		return nil, fmt.Errorf("writing %v: %w", m.kind, err)
	}
	return append(b, encoded...), nil
}

func appendWords(b []byte, v []uint64) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
	return wire.AppendWords(b, v)
}

func appendOrder(b []byte, o OrderCiphertext, width uint8) []byte {
	if width == 2 {
		return binary.LittleEndian.AppendUint16(b, uint16(o))
	}
	return binary.LittleEndian.AppendUint64(b, uint64(o))
}

func readOrder(r *wire.Reader, width uint8) OrderCiphertext {
	if width == 2 {
		return OrderCiphertext(r.U16("order ciphertext"))
	}
	return OrderCiphertext(r.U64("order ciphertext"))
}
