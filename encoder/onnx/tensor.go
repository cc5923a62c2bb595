package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// Type is a type of elements, TensorProto.DataType in onnx.proto.
type Type int32

const (
	Float    Type = 1
	Uint8    Type = 2
	Int8     Type = 3
	Uint16   Type = 4
	Int16    Type = 5
	Int32    Type = 6
	Int64    Type = 7
	String   Type = 8
	Bool     Type = 9
	Float16  Type = 10
	Double   Type = 11
	Uint32   Type = 12
	Uint64   Type = 13
	BFloat16 Type = 16
)

var typeNames = []string{"undefined", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool",
	"float16", "double", "uint32", "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz",
	"float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1", "float8e8m0", "uint2", "int2"}

func (t Type) String() string {
	if t >= 0 && int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", int32(t))
}

func (t Type) width() int {
	switch t {
	case Uint8, Int8, Bool:
		return 1
	case Uint16, Int16, Float16, BFloat16:
		return 2
	case Float, Int32, Uint32:
		return 4
	case Int64, Double, Uint64:
		return 8
	}
	return 0
}

func (t Type) list() protowire.Number {
	switch t {
	case Float:
		return 4
	case Int64:
		return 7
	case Double:
		return 10
	case Uint32, Uint64:
		return 11
	}
	return 5
}

func (t Type) Floating() bool { return t == Float || t == Float16 || t == BFloat16 || t == Double }

// A Tensor is a constant of a file. Its data are decoded on demand.
type Tensor struct {
	Name string
	Type Type
	Dims []int

	raw     []byte // the elements in little-endian order, pointing into a file
	isRaw   bool   // whether the elements are in `raw`, otherwise in a typed list of `body`
	outside bool   // whether `raw` points into another file
	body    []byte // the encoded TensorProto, for typed lists and Extract
}

func (t *Tensor) Count() int {
	n := 1
	for _, d := range t.Dims {
		n *= d
	}
	return n
}

func (t *Tensor) empty() bool { return slices.Contains(t.Dims, 0) }

func (t *Tensor) rawBytes() int64 {
	if width := t.Type.width(); width > 0 {
		return int64(width) * int64(t.Count())
	}
	return -1
}

func (t *Tensor) setDims(dims []int64, limits Limits) error {
	for _, n := range dims {
		if n < 0 || n > int64(limits.Elements) {
			return fmt.Errorf("a dimension of %d", n)
		}
		t.Dims = append(t.Dims, int(n))
	}
	_, err := Volume(t.Dims, limits.Elements)
	return err
}

// lists counts the elements of a tensor's typed lists by field number.
type lists [12]int

func (l *lists) add(f field) error {
	if f.number == 6 { // strings
		l[f.number]++
		return f.want(protowire.BytesType)
	}
	for _, err := range f.numbers(listKind(f.number)) {
		if err != nil {
			return err
		}
		l[f.number]++
	}
	return nil
}

func listKind(number protowire.Number) protowire.Type {
	switch number {
	case 4:
		return protowire.Fixed32Type
	case 10:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}

// bits calls f with the decoded bits of every element.
func (t *Tensor) bits(f func(i int, bits uint64)) error {
	switch {
	case t.isRaw && len(t.raw) == t.Count()*t.Type.width():
		width := t.Type.width()
		for i := range t.Count() {
			var v uint64
			for k, b := range t.raw[i*width:][:width] {
				v |= uint64(b) << (8 * k)
			}
			f(i, v)
		}
		return nil
	case t.isRaw:
		return errTruncated
	}
	return t.listed(f)
}

func (t *Tensor) listed(f func(i int, bits uint64)) error {
	i, n := 0, t.Count()
	err := eachField(t.body, func(at field) error {
		if at.number != t.Type.list() {
			return nil
		}
		for v, err := range at.numbers(listKind(at.number)) {
			if err != nil {
				return err
			}
			if i < n {
				f(i, v)
			}
			i++
		}
		return nil
	})
	if err == nil && i != n {
		err = errTruncated
	}
	return err
}

var errInexact = errors.New("an integer that float32 cannot hold exactly")

// Floats returns a tensor's elements as a new slice. It rounds doubles to
// float32 and refuses integers that float32 cannot hold exactly.
func (t *Tensor) Floats() ([]float32, error) {
	if !t.Type.Floating() {
		return t.exactFloats()
	}
	out := make([]float32, t.Count())
	var err error
	switch t.Type {
	case Float:
		if t.isRaw && len(t.raw) == 4*len(out) { // the common case
			for i := range out {
				out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.raw[4*i:]))
			}
			break
		}
		err = t.bits(func(i int, bits uint64) { out[i] = math.Float32frombits(uint32(bits)) })
	case Float16:
		halves := Halves()
		err = t.bits(func(i int, bits uint64) { out[i] = halves[uint16(bits)] })
	case BFloat16:
		err = t.bits(func(i int, bits uint64) { out[i] = math.Float32frombits(uint32(bits) << 16) })
	case Double:
		err = t.bits(func(i int, bits uint64) { out[i] = float32(math.Float64frombits(bits)) })
	}
	if err != nil {
		return nil, fmt.Errorf("tensor %.80q: %w", t.Name, err)
	}
	return out, nil
}

func (t *Tensor) exactFloats() ([]float32, error) {
	whole, err := t.Ints()
	if err != nil {
		return nil, err
	}
	out := make([]float32, len(whole))
	for i, v := range whole {
		if out[i] = float32(v); int64(out[i]) != v || v == math.MaxInt64 {
			return nil, fmt.Errorf("tensor %.80q: %w: %d", t.Name, errInexact, v)
		}
	}
	return out, nil
}

// Ints returns the elements of a tensor of integers or booleans as a new slice.
// Booleans become 0 and 1.
func (t *Tensor) Ints() ([]int64, error) {
	if t.Type.Floating() {
		return nil, fmt.Errorf("tensor %.80q holds %s, not integers", t.Name, t.Type)
	}
	out := make([]int64, t.Count())
	large := false
	err := t.bits(func(i int, bits uint64) {
		v := int64(bits)
		switch t.Type { // a file may store negative values in 8, 16, 32 or 64 bits
		case Int8:
			v = int64(int8(bits))
		case Int16:
			v = int64(int16(bits))
		case Int32:
			v = int64(int32(bits))
		case Uint8:
			v = int64(uint8(bits))
		case Uint16:
			v = int64(uint16(bits))
		case Uint32:
			v = int64(uint32(bits))
		case Bool:
			v = min(1, int64(bits&0xff))
		case Uint64:
			large = large || v < 0
		}
		out[i] = v
	})
	if err == nil && large {
		err = errors.New("an integer beyond 63 bits")
	}
	if err != nil {
		return nil, fmt.Errorf("tensor %.80q: %w", t.Name, err)
	}
	return out, nil
}

// Halves returns a table of the values of all float16 numbers (IEEE 754
// binary16), indexed by their bits.
var Halves = sync.OnceValue(func() *[1 << 16]float32 {
	all := &[1 << 16]float32{}
	for h := range all {
		exponent, fraction := h>>10&31, float64(h&1023)
		v := math.Ldexp(1024+fraction, exponent-25)
		switch {
		case exponent == 0:
			v = math.Ldexp(fraction, -24)
		case exponent == 31 && fraction == 0:
			v = math.Inf(1)
		case exponent == 31:
			v = math.NaN()
		}
		all[h] = float32(math.Copysign(v, float64(1-2*(h>>15))))
	}
	return all
})

// Volume returns a shape's number of elements. It fails beyond `limit`.
func Volume(shape []int, limit int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > limit/d {
			return 0, fmt.Errorf("a tensor of shape %v has more than the %d elements accepted", shape, limit)
		}
		n *= d
	}
	return n, nil
}
