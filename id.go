package cpar

import (
	"encoding/hex"
	"fmt"
)

// An IndexID names an index. It is drawn at random when the index is built, goes into
// every key derivation, and reveals nothing about the contents.
type IndexID [16]byte

func (id IndexID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText writes 32 hexadecimal digits.
func (id IndexID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads 32 lower-case hexadecimal digits.
func (id *IndexID) UnmarshalText(text []byte) error {
	var got IndexID
	n, err := hex.Decode(got[:], text[:min(len(text), 2*len(got))])
	if err != nil || n != len(got) || got.String() != string(text) {
		return fmt.Errorf("%w: %q is not an index id (32 lower-case hexadecimal digits)", ErrInput, text)
	}
	*id = got
	return nil
}

// ParseIndexID parses the output of String.
func ParseIndexID(s string) (id IndexID, err error) {
	err = id.UnmarshalText([]byte(s))
	return id, err
}
