package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Type is TensorProto.DataType.
type Type int32

// The types of elements.
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

// String returns the name that the ONNX specification uses.
func (t Type) String() string {
	if t >= 0 && int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", int32(t))
}

// width returns the bytes of an element in raw data; 0 if the type cannot be read.
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

// Floating reports whether elements are floating-point numbers.
func (t Type) Floating() bool { return t == Float || t == Float16 || t == BFloat16 || t == Double }

// A Tensor is a constant of a file. Its data are decoded when they are asked for.
type Tensor struct {
	Name string
	Type Type
	Dims []int

	raw    []byte // points into the file, or is nil and the data are in a typed list:
	floats []float32
	ints   []int64 // also the bits of float16 and bfloat16
	empty  bool    // only in an outline
}

// NewInts returns a tensor of one dimension.
func NewInts(values []int64) *Tensor {
	return &Tensor{Type: Int64, Dims: []int{len(values)}, ints: values}
}

// NewFloats returns a tensor of one dimension.
func NewFloats(values []float32) *Tensor {
	return &Tensor{Type: Float, Dims: []int{len(values)}, floats: values}
}

// Count returns the number of elements.
func (t *Tensor) Count() int {
	n := 1
	for _, d := range t.Dims {
		n *= d
	}
	return n
}

// finish checks the data against the shape.
func (t *Tensor) finish(dims []int64, hasRaw bool, limits Limits) error {
	for _, n := range dims {
		if n < 0 || n > int64(limits.Elements) {
			return fmt.Errorf("a dimension of %d", n)
		}
		t.Dims = append(t.Dims, int(n))
	}
	want, err := Volume(t.Dims, limits.Elements)
	if err != nil {
		return err
	}
	width := t.Type.width()
	if width == 0 {
		return Unsupported("elements of type %s are not supported", t.Type)
	}
	if hasRaw {
		t.floats, t.ints = nil, nil
		if len(t.raw) != want*width {
			return fmt.Errorf("%d bytes of data where its shape %v asks for %d", len(t.raw), t.Dims, want*width)
		}
		return nil
	}
	have := len(t.ints)
	switch t.Type {
	case Float:
		have = len(t.floats)
	case Double:
		return Unsupported("its data are in a form that is not supported; save it with raw data")
	}
	if have != want {
		return fmt.Errorf("%d elements where its shape %v asks for %d", have, t.Dims, want)
	}
	return nil
}

var errInexact = errors.New("an integer that float32 cannot hold exactly")

// Floats returns the data of a tensor of any type as a fresh slice. Doubles are rounded;
// integers must be exact.
func (t *Tensor) Floats() ([]float32, error) {
	out := make([]float32, t.Count())
	le := binary.LittleEndian
	switch {
	case !t.Type.Floating():
		whole, err := t.Ints()
		if err != nil {
			return nil, err
		}
		for i, v := range whole {
			if out[i] = float32(v); int64(out[i]) != v || v == math.MaxInt64 {
				return nil, fmt.Errorf("tensor %.80q: %w: %d", t.Name, errInexact, v)
			}
		}
	case t.raw == nil && t.Type == Float:
		copy(out, t.floats)
	case t.raw == nil && t.Type == Float16:
		for i, v := range t.ints {
			out[i] = halfFloat(uint16(v))
		}
	case t.raw == nil:
		for i, v := range t.ints {
			out[i] = math.Float32frombits(uint32(v) << 16)
		}
	case t.Type == Float:
		for i := range out {
			out[i] = math.Float32frombits(le.Uint32(t.raw[4*i:]))
		}
	case t.Type == Float16:
		for i := range out {
			out[i] = halfFloat(le.Uint16(t.raw[2*i:]))
		}
	case t.Type == BFloat16:
		for i := range out {
			out[i] = math.Float32frombits(uint32(le.Uint16(t.raw[2*i:])) << 16)
		}
	case t.Type == Double:
		for i := range out {
			out[i] = float32(math.Float64frombits(le.Uint64(t.raw[8*i:])))
		}
	}
	return out, nil
}

// Ints returns the data of a tensor of integers, or of bool (0, 1), as a fresh slice.
func (t *Tensor) Ints() ([]int64, error) {
	if t.Type.Floating() {
		return nil, fmt.Errorf("tensor %.80q holds %s, not integers", t.Name, t.Type)
	}
	out := make([]int64, t.Count())
	if t.raw == nil {
		copy(out, t.ints)
	}
	le := binary.LittleEndian
	for i := range out {
		switch {
		case t.raw == nil:
			if t.Type == Int32 || t.Type == Int16 || t.Type == Int8 {
				out[i] = int64(int32(out[i])) // negative ones may be written in 32 bits or in 64
			}
		case t.Type == Uint8 || t.Type == Bool:
			out[i] = int64(t.raw[i])
		case t.Type == Int8:
			out[i] = int64(int8(t.raw[i]))
		case t.Type == Uint16:
			out[i] = int64(le.Uint16(t.raw[2*i:]))
		case t.Type == Int16:
			out[i] = int64(int16(le.Uint16(t.raw[2*i:])))
		case t.Type == Int32:
			out[i] = int64(int32(le.Uint32(t.raw[4*i:])))
		case t.Type == Uint32:
			out[i] = int64(le.Uint32(t.raw[4*i:]))
		default:
			out[i] = int64(le.Uint64(t.raw[8*i:]))
		}
		if t.Type == Bool && out[i] != 0 {
			out[i] = 1
		}
		if t.Type == Uint64 && out[i] < 0 {
			return nil, fmt.Errorf("tensor %.80q holds an integer beyond 63 bits", t.Name)
		}
	}
	return out, nil
}

// halfFloat widens an IEEE 754 binary16; float32 represents each exactly.
func halfFloat(h uint16) float32 {
	sign := float32(1)
	if h&0x8000 != 0 {
		sign = -1
	}
	exponent, fraction := int(h>>10&31), float64(h&1023)
	switch exponent {
	case 0:
		return sign * float32(math.Ldexp(fraction, -24))
	case 31:
		if fraction != 0 {
			return float32(math.NaN())
		}
		return sign * float32(math.Inf(1))
	}
	return sign * float32(math.Ldexp(1024+fraction, exponent-25))
}

// Volume returns the number of elements of a shape, at most limit.
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
