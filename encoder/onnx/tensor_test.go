package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"cpar/internal/testing/onnxtest"
)

func readTensor(t onnxtest.Proto) (*Tensor, error) {
	data := adding(t).Bytes()
	if _, err := ReadOutline(data, Limits{}, nil); err != nil {
		return nil, fmt.Errorf("outline: %w", err)
	}
	m, err := Read(data, Limits{}, nil)
	if err != nil {
		return nil, err
	}
	return m.Graph.Constants[0], nil
}

func packedInts(t onnxtest.Proto, number int, values ...int64) onnxtest.Proto {
	var list []byte
	for _, v := range values {
		list = binary.AppendUvarint(list, uint64(v))
	}
	return t.Bytes(number, list)
}

// TestTensorForms covers every type: raw, and packed and unpacked lists.
func TestTensorForms(t *testing.T) {
	le := binary.LittleEndian
	raw := func(width int, values ...uint64) (b []byte) {
		for _, v := range values {
			b = append(b, le.AppendUint64(nil, v)[:width]...)
		}
		return b
	}
	minus := func(v int64) uint64 { return uint64(-v) }
	for _, c := range []struct {
		typ  Type
		raw  []byte
		list func(onnxtest.Proto) onnxtest.Proto
		want string
	}{
		{Float, floatBytes(1.5, -2), func(p onnxtest.Proto) onnxtest.Proto { return p.Float(4, 1.5).Float(4, -2) }, "[1.5 -2]"},
		{Float, floatBytes(1.5, -2), func(p onnxtest.Proto) onnxtest.Proto {
			return p.Bytes(4, floatBytes(1.5)).Bytes(4, floatBytes(-2))
		}, "[1.5 -2]"},
		{Float16, raw(2, 0x3e00, 0xc000), func(p onnxtest.Proto) onnxtest.Proto { return packedInts(p, 5, 0x3e00, 0xc000) }, "[1.5 -2]"},
		{BFloat16, raw(2, 0x3fc0, 0xc000), func(p onnxtest.Proto) onnxtest.Proto { return p.Varint(5, 0x3fc0).Varint(5, 0xc000) }, "[1.5 -2]"},
		{Double, raw(8, math.Float64bits(1.5), math.Float64bits(-2)), func(p onnxtest.Proto) onnxtest.Proto {
			return p.Bytes(10, raw(8, math.Float64bits(1.5), math.Float64bits(-2)))
		}, "[1.5 -2]"},
		{Int8, raw(1, 5, minus(6)), func(p onnxtest.Proto) onnxtest.Proto { return packedInts(p, 5, 5, -6) }, "[5 -6]"},
		{Int16, raw(2, 5, minus(600)), func(p onnxtest.Proto) onnxtest.Proto { return packedInts(p, 5, 5, -600) }, "[5 -600]"},
		{Int32, raw(4, 5, minus(6)), func(p onnxtest.Proto) onnxtest.Proto { return packedInts(p, 5, 5, 1<<32-6) }, "[5 -6]"},
		{Int64, raw(8, 5, minus(6)), func(p onnxtest.Proto) onnxtest.Proto { return packedInts(p, 7, 5, -6) }, "[5 -6]"},
		{Uint8, raw(1, 5, 250), func(p onnxtest.Proto) onnxtest.Proto { return packedInts(p, 5, 5, 250) }, "[5 250]"},
		{Uint16, raw(2, 5, 65000), func(p onnxtest.Proto) onnxtest.Proto { return packedInts(p, 5, 5, 65000) }, "[5 65000]"},
		{Uint32, raw(4, 5, 4e9), func(p onnxtest.Proto) onnxtest.Proto { return packedInts(p, 11, 5, 4e9) }, "[5 4e+09]"},
		{Uint64, raw(8, 5, 1<<40), func(p onnxtest.Proto) onnxtest.Proto { return packedInts(p, 11, 5, 1<<40) }, "[5 1.0995116e+12]"},
		{Bool, raw(1, 1, 0), func(p onnxtest.Proto) onnxtest.Proto { return packedInts(p, 5, 1, 0) }, "[1 0]"},
	} {
		head := onnxtest.Proto{}.Varint(1, 2).Varint(2, int64(c.typ)).Text(8, "k")
		for form, p := range map[string]onnxtest.Proto{"raw": append(onnxtest.Proto{}, head...).Bytes(9, c.raw), "listed": c.list(append(onnxtest.Proto{}, head...))} {
			k, err := readTensor(p)
			if err != nil {
				t.Errorf("%s, %s: %v", c.typ, form, err)
				continue
			}
			if got, err := k.Floats(); err != nil || fmt.Sprint(got) != c.want {
				t.Errorf("%s, %s: %v, %v, want %s", c.typ, form, got, err, c.want)
			}
			if _, err := k.Ints(); (err == nil) == c.typ.Floating() {
				t.Errorf("%s, %s, as integers: %v", c.typ, form, err)
			}
		}
		for _, n := range []int64{1, 3} {
			short := onnxtest.Proto{}.Varint(1, n).Varint(2, int64(c.typ)).Text(8, "k")
			for _, p := range []onnxtest.Proto{append(onnxtest.Proto{}, short...).Bytes(9, c.raw), c.list(append(onnxtest.Proto{}, short...))} {
				if _, err := readTensor(p); err == nil {
					t.Errorf("%s: 2 elements where %d are due", c.typ, n)
				}
			}
		}
	}
}

func TestTensorRefusals(t *testing.T) {
	for typ, name := range map[Type]string{8: "string", 14: "complex64", 17: "float8e4m3fn", 22: "int4", 99: "type 99"} {
		_, err := readTensor(onnxtest.Proto{}.Varint(1, 1).Varint(2, int64(typ)).Text(8, "k").Bytes(9, []byte{1}))
		if err == nil || !strings.Contains(err.Error(), "elements of type "+name+" are not supported") && !strings.Contains(err.Error(), "type "+name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
	k, err := readTensor(onnxtest.Tensor("k", onnxtest.Int64, binary.LittleEndian.AppendUint64(nil, 1<<24+1), 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Floats(); err == nil || !strings.Contains(err.Error(), "16777217") {
		t.Error(err)
	}
	if k, err = readTensor(onnxtest.Tensor("k", int64(Uint64), binary.LittleEndian.AppendUint64(nil, 1<<63), 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Ints(); err == nil || !strings.Contains(err.Error(), "63 bits") {
		t.Error(err)
	}
}

func TestReadLimitsLists(t *testing.T) {
	for why, field := range map[string]int{"more than 1000 opsets": 8, "nodes and functions accepted": 25} {
		file := onnxtest.Proto(onnxtest.New(13, 2, 2).Bytes())
		for range 30_000 {
			file = file.Bytes(field, nil)
		}
		if _, err := Read(file, Limits{}, nil); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %s", err, why)
		}
		if _, err := ReadOutline(file, Limits{}, nil); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("an outline: %v, want %s", err, why)
		}
	}
}
