package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The wire format of protocol buffers: a message is a sequence of fields, each
// with a number, a kind and a value.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

const maxFieldNumber = 1<<29 - 1

var errTruncated = errors.New("the file is truncated or damaged")

// A field is one field of a message. bytes points into the file.
type field struct {
	number int
	kind   int
	bits   uint64 // value of a varint, fixed32 or fixed64
	bytes  []byte // value of a length-delimited field
}

func eachField(message []byte, f func(field) error) error {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return errTruncated
		}
		message = message[n:]
		// Other parsers truncate larger numbers and would see another field.
		if tag>>3 == 0 || tag>>3 > maxFieldNumber {
			return fmt.Errorf("%w: field number %d", errTruncated, tag>>3)
		}
		at := field{number: int(tag >> 3), kind: int(tag & 7)}
		switch at.kind {
		case wireVarint:
			at.bits, n = binary.Uvarint(message)
			if n <= 0 {
				return errTruncated
			}
			message = message[n:]
		case wireFixed64:
			if len(message) < 8 {
				return errTruncated
			}
			at.bits, message = binary.LittleEndian.Uint64(message), message[8:]
		case wireFixed32:
			if len(message) < 4 {
				return errTruncated
			}
			at.bits, message = uint64(binary.LittleEndian.Uint32(message)), message[4:]
		case wireBytes:
			size, n := binary.Uvarint(message)
			if n <= 0 || size > uint64(len(message)-n) {
				return errTruncated
			}
			at.bytes, message = message[n:n+int(size)], message[n+int(size):]
		default:
			return fmt.Errorf("%w: field of kind %d", errTruncated, at.kind)
		}
		if err := f(at); err != nil {
			return err
		}
	}
	return nil
}

// appendField appends a length-delimited field.
func appendField(to []byte, number int, value []byte) []byte {
	to = binary.AppendUvarint(to, uint64(number)<<3|wireBytes)
	return append(binary.AppendUvarint(to, uint64(len(value))), value...)
}

func (f field) want(kind int) error {
	if f.kind != kind {
		return fmt.Errorf("%w: field %d is of kind %d", errTruncated, f.number, f.kind)
	}
	return nil
}

func (f field) text() (string, error) {
	if len(f.bytes) > maxText {
		return "", fmt.Errorf("a text of %d bytes, more than the %d accepted", len(f.bytes), maxText)
	}
	return string(f.bytes), f.want(wireBytes)
}

// repeatedInts appends the integers of a packed or single field, at most limit
// in total.
func (f field) repeatedInts(to []int64, limit int) ([]int64, error) {
	if f.kind == wireVarint {
		if len(to) >= limit {
			return nil, fmt.Errorf("a list of more than %d integers", limit)
		}
		return append(to, int64(f.bits)), nil
	}
	if err := f.want(wireBytes); err != nil {
		return nil, err
	}
	for b := f.bytes; len(b) > 0; {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errTruncated
		}
		if len(to) >= limit {
			return nil, fmt.Errorf("a list of more than %d integers", limit)
		}
		to, b = append(to, int64(v)), b[n:]
	}
	return to, nil
}

// repeatedFloats does the same for float32.
func (f field) repeatedFloats(to []float32, limit int) ([]float32, error) {
	if f.kind == wireFixed32 {
		if len(to) >= limit {
			return nil, fmt.Errorf("a list of more than %d numbers", limit)
		}
		return append(to, math.Float32frombits(uint32(f.bits))), nil
	}
	if err := f.want(wireBytes); err != nil {
		return nil, err
	}
	if len(f.bytes)%4 != 0 {
		return nil, errTruncated
	}
	if len(to)+len(f.bytes)/4 > limit {
		return nil, fmt.Errorf("a list of more than %d numbers", limit)
	}
	for b := f.bytes; len(b) > 0; b = b[4:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return to, nil
}
