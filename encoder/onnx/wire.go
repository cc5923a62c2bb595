package onnx

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

var errTruncated = errors.New("the file is truncated or damaged")

// A field is one field of a Protocol Buffers message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	bits   uint64 // value of a varint, fixed32 or fixed64
	bytes  []byte // value of a length-delimited field, pointing into the file
}

func eachField(message []byte, f func(field) error) error {
	for len(message) > 0 {
		// Refuse field numbers beyond the maximum. Other parsers truncate them
		// and would therefore read a different field.
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 || number > protowire.MaxValidNumber {
			return fmt.Errorf("%w: field number %d", errTruncated, number)
		}
		message = message[n:]
		at := field{number: number, kind: kind}
		if kind == protowire.BytesType {
			at.bytes, n = protowire.ConsumeBytes(message)
		} else if at.bits, n = number64(kind, message); n == 0 {
			return fmt.Errorf("%w: field of kind %d", errTruncated, kind)
		}
		if n < 0 {
			return errTruncated
		}
		message = message[n:]
		if err := f(at); err != nil {
			return err
		}
	}
	return nil
}

// number64 reads a number and returns its length in bytes. The length is
// negative for a damaged number, and 0 if the kind is not numeric.
func number64(kind protowire.Type, b []byte) (bits uint64, n int) {
	switch kind {
	case protowire.VarintType:
		return protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		return protowire.ConsumeFixed64(b)
	case protowire.Fixed32Type:
		v, n := protowire.ConsumeFixed32(b)
		return uint64(v), n
	}
	return 0, 0
}

func appendField(to []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}

func appendVarint(to []byte, number protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), uint64(v))
}

func (f field) want(kind protowire.Type) error {
	if f.kind != kind {
		return fmt.Errorf("%w: field %d is of kind %d", errTruncated, f.number, f.kind)
	}
	return nil
}

func (f field) text() (string, error) {
	if len(f.bytes) > maxText {
		return "", fmt.Errorf("a text of %d bytes, more than the %d accepted", len(f.bytes), maxText)
	}
	return string(f.bytes), f.want(protowire.BytesType)
}

func (f field) integer() (int64, error) { return int64(f.bits), f.want(protowire.VarintType) }

// numbers returns the numbers of a repeated field, whether the file packs them
// or stores them singly.
func (f field) numbers(kind protowire.Type) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		if f.kind != protowire.BytesType {
			yield(f.bits, f.want(kind))
			return
		}
		for b := f.bytes; len(b) > 0; {
			v, n := number64(kind, b)
			if n < 0 {
				yield(0, errTruncated)
				return
			}
			if !yield(v, nil) {
				return
			}
			b = b[n:]
		}
	}
}

// repeatedInts appends a field's integers to a list of at most `limit` entries.
func (f field) repeatedInts(to []int64, limit int) ([]int64, error) {
	for v, err := range f.numbers(protowire.VarintType) {
		if err == nil && len(to) >= limit {
			err = fmt.Errorf("a list of more than %d integers", limit)
		}
		if err != nil {
			return nil, err
		}
		to = append(to, int64(v))
	}
	return to, nil
}

// repeatedFloats is like repeatedInts for float32.
func (f field) repeatedFloats(to []float32, limit int) ([]float32, error) {
	for v, err := range f.numbers(protowire.Fixed32Type) {
		if err == nil && len(to) >= limit {
			err = fmt.Errorf("a list of more than %d numbers", limit)
		}
		if err != nil {
			return nil, err
		}
		to = append(to, math.Float32frombits(uint32(v)))
	}
	return to, nil
}

// textPair reads a message of two strings, such as a StringStringEntryProto.
func textPair(b []byte) (key, value string, err error) {
	err = eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			key, err = f.text()
		case 2:
			value, err = f.text()
		}
		return err
	})
	return key, value, err
}

func message(f field, what string, read func([]byte) error) error {
	err := f.want(protowire.BytesType)
	if err == nil {
		err = read(f.bytes)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// messages calls `read` for every field with the given number.
func messages(b []byte, number protowire.Number, what string, read func([]byte) error) error {
	return eachField(b, func(f field) error {
		if f.number != number {
			return nil
		}
		return message(f, what, read)
	})
}
