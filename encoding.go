package cpar

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"cpar/internal/wire"
)

// Every object starts with the same eight bytes: "CPAR", its kind, a zero and
// the format version. FORMAT.md draws each of them.
const magic = "CPAR"

type kind uint8

const (
	kindManifest kind = 'M'
	kindRequest  kind = 'Q'
	kindReply    kind = 'A'
	// Scheme sealed has a request and a reply of its own, which this package
	// carries and does not read.
	kindSealedRequest kind = 'q'
	kindSealedReply   kind = 'a'
)

// SealedVersion is the version of what scheme sealed stores and sends.
const SealedVersion = 1

// sealedHeader is the length of the header of a sealed request or reply: the
// common one and the index id.
const sealedHeader = 8 + len(IndexID{})

func (k kind) String() string {
	switch k {
	case kindManifest:
		return "index manifest"
	case kindRequest:
		return "request"
	case kindReply:
		return "reply"
	case kindSealedRequest:
		return "sealed request"
	case kindSealedReply:
		return "sealed reply"
	}
	return "object"
}

func appendHeader(b []byte, k kind) []byte {
	b = append(b, magic...)
	b = append(b, byte(k), 0)
	return binary.LittleEndian.AppendUint16(b, Version)
}

// readHeader checks the first eight bytes. Another version is told apart from
// damage: the hint to the person differs.
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

// isKind is whether b begins as an object of this kind does.
func isKind(b []byte, k kind) bool {
	return len(b) > len(magic) && string(b[:len(magic)]) == magic && kind(b[len(magic)]) == k
}

// readSealed checks the header of a sealed request or reply, and no more.
func readSealed(b []byte, k kind) (id IndexID, err error) {
	r, err := readVersion(b, k, SealedVersion)
	if err != nil {
		return id, err
	}
	copy(id[:], r.Bytes(len(id), "index id"))
	if r.Err() == nil && len(b) == sealedHeader {
		r.Fail("nothing follows the header")
	}
	if r.Err() != nil {
		return id, fmt.Errorf("reading %v: %w", k, r.Err())
	}
	return id, nil
}

// appendSealed appends a sealed request or reply if it is one, and of this index.
func appendSealed(b, sealed []byte, k kind, want IndexID) ([]byte, error) {
	id, err := readSealed(sealed, k)
	if err == nil && id != want {
		err = fmt.Errorf("%w: it is of index %v, not of %v", ErrCorrupt, id, want)
	}
	if err != nil {
		return nil, fmt.Errorf("writing %v: %w", k, err)
	}
	return append(b, sealed...), nil
}

// An IndexID names an index. It is drawn at random when the index is built,
// enters every derivation of its keys, and tells nothing about its contents.
type IndexID [16]byte

func (id IndexID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText writes 32 hexadecimal digits.
func (id IndexID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads 32 lower-case hexadecimal digits.
func (id *IndexID) UnmarshalText(text []byte) error {
	var got IndexID
	n, err := hex.Decode(got[:], text[:min(len(text), 2*len(got))])
	if err != nil || n != len(got) || len(text) != 2*len(got) || got.String() != string(text) {
		return fmt.Errorf("%w: %q is not an index id (32 lower-case hexadecimal digits)", ErrInput, text)
	}
	*id = got
	return nil
}

// ParseIndexID reads the form that String writes.
func ParseIndexID(s string) (id IndexID, err error) { return id, id.UnmarshalText([]byte(s)) }

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
