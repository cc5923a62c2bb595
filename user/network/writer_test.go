package network

import (
	"encoding/binary"
	"math"
)

// A small writer of ONNX files, so that tests can make any file, valid or not.

type proto []byte

func (p proto) varint(number int, v int64) proto {
	p = binary.AppendUvarint(p, uint64(number)<<3|wireVarint)
	return binary.AppendUvarint(p, uint64(v))
}

func (p proto) bytes(number int, b []byte) proto {
	p = binary.AppendUvarint(p, uint64(number)<<3|wireBytes)
	return append(binary.AppendUvarint(p, uint64(len(b))), b...)
}

func (p proto) text(number int, s string) proto { return p.bytes(number, []byte(s)) }

func (p proto) float(number int, f float32) proto {
	p = binary.AppendUvarint(p, uint64(number)<<3|wireFixed32)
	return binary.LittleEndian.AppendUint32(p, math.Float32bits(f))
}

// A file is a model being assembled.
type file struct {
	opset    int64
	height   int64
	width    int64
	nodes    []proto
	tensors  []proto
	outputs  []proto
	metadata []proto
}

func newFile(opset int64, height, width int) *file {
	return &file{opset: opset, height: int64(height), width: int64(width)}
}

func valueInfoProto(name string, dims ...int64) proto {
	var shape proto
	for _, d := range dims {
		var dim proto
		if d >= 0 {
			dim = dim.varint(1, d)
		} else {
			dim = dim.text(2, "open")
		}
		shape = shape.bytes(1, dim)
	}
	tensor := proto{}.varint(1, elemFloat)
	if dims != nil {
		tensor = tensor.bytes(2, shape)
	}
	return proto{}.text(1, name).bytes(2, proto{}.bytes(1, tensor))
}

func (f *file) bytes() []byte {
	var graph proto
	for _, n := range f.nodes {
		graph = graph.bytes(1, n)
	}
	graph = graph.text(2, "test")
	for _, t := range f.tensors {
		graph = graph.bytes(5, t)
	}
	graph = graph.bytes(11, valueInfoProto("image", 1, 3, f.height, f.width))
	for _, o := range f.outputs {
		graph = graph.bytes(12, o)
	}
	model := proto{}.varint(1, 7).bytes(7, graph).bytes(8, proto{}.text(1, "").varint(2, f.opset))
	for _, m := range f.metadata {
		model = model.bytes(14, m)
	}
	return model
}

// attribute values: int64, float32, string, []int64.
type attributes map[string]any

func (f *file) node(op string, in []string, out string, a attributes) *file {
	var n proto
	for _, name := range in {
		n = n.text(1, name)
	}
	n = n.text(2, out).text(3, "node of "+out).text(4, op)
	for name, v := range a {
		p := proto{}.text(1, name)
		switch v := v.(type) {
		case int:
			p = p.varint(3, int64(v)).varint(20, kindInt)
		case float32:
			p = p.float(2, v).varint(20, kindFloat)
		case string:
			p = p.text(4, v).varint(20, kindString)
		case []int64:
			for _, i := range v {
				p = p.varint(8, i)
			}
			p = p.varint(20, kindInts)
		}
		n = n.bytes(5, p)
	}
	f.nodes = append(f.nodes, n)
	return f
}

func (f *file) floats(name string, values []float32, dims ...int64) *file {
	t := proto{}
	for _, d := range dims {
		t = t.varint(1, d)
	}
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	f.tensors = append(f.tensors, t.varint(2, elemFloat).text(8, name).bytes(9, raw))
	return f
}

func (f *file) ints(name string, values ...int64) *file {
	t := proto{}.varint(1, int64(len(values))).varint(2, elemInt64).text(8, name)
	for _, v := range values {
		t = t.varint(7, v)
	}
	f.tensors = append(f.tensors, t)
	return f
}

func (f *file) output(name string, dims ...int64) *file {
	f.outputs = append(f.outputs, valueInfoProto(name, dims...))
	return f
}

func (f *file) meta(key, value string) *file {
	f.metadata = append(f.metadata, proto{}.text(1, key).text(2, value))
	return f
}
