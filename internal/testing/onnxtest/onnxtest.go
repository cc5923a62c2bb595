// Package onnxtest writes ONNX files, valid or not, for tests.
//
//	New(13, 6, 6).Floats("w", …).Node("Conv", …).Output("y").Bytes() ─▶ model.onnx
package onnxtest

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Proto is an encoded protocol buffers message.
type Proto []byte

func (p Proto) Varint(number int, v int64) Proto {
	return protowire.AppendVarint(protowire.AppendTag(p, protowire.Number(number), protowire.VarintType), uint64(v))
}

// Bytes appends a message or bytes as a field.
func (p Proto) Bytes(number int, b []byte) Proto {
	return protowire.AppendBytes(protowire.AppendTag(p, protowire.Number(number), protowire.BytesType), b)
}

func (p Proto) Text(number int, s string) Proto { return p.Bytes(number, []byte(s)) }

func (p Proto) Float(number int, f float32) Proto {
	return protowire.AppendFixed32(protowire.AppendTag(p, protowire.Number(number), protowire.Fixed32Type), math.Float32bits(f))
}

// A File is a model being assembled. Its messages may be changed directly.
type File struct {
	Opset    int64
	Inputs   []Proto
	Nodes    []Proto
	Tensors  []Proto
	Outputs  []Proto
	Metadata []Proto
}

// New returns a file without nodes whose input "image" has shape 1×3×H×W, where
// a size of -1 is left open.
func New(opset int64, height, width int) *File {
	return Empty(opset).Input("image", Float, 1, 3, int64(height), int64(width))
}

func Empty(opset int64) *File { return &File{Opset: opset} }

// Element types, as in TensorProto.DataType.
const (
	Float   = 1
	Uint8   = 2
	Int8    = 3
	Int32   = 6
	Int64   = 7
	Bool    = 9
	Float16 = 10
)

func valueInfo(name string, elements int64, dims []int64) Proto {
	var shape Proto
	for _, d := range dims {
		var dim Proto
		if d >= 0 {
			dim = dim.Varint(1, d)
		} else {
			dim = dim.Text(2, "open")
		}
		shape = shape.Bytes(1, dim)
	}
	tensor := Proto{}.Varint(1, elements)
	if dims != nil {
		tensor = tensor.Bytes(2, shape)
	}
	return Proto{}.Text(1, name).Bytes(2, Proto{}.Bytes(1, tensor))
}

func (f *File) Graph() Proto {
	var graph Proto
	for _, n := range f.Nodes {
		graph = graph.Bytes(1, n)
	}
	graph = graph.Text(2, "test")
	for _, t := range f.Tensors {
		graph = graph.Bytes(5, t)
	}
	for _, in := range f.Inputs {
		graph = graph.Bytes(11, in)
	}
	for _, o := range f.Outputs {
		graph = graph.Bytes(12, o)
	}
	return graph
}

func (f *File) Bytes() []byte {
	model := Proto{}.Varint(1, 7).Bytes(7, f.Graph()).Bytes(8, Proto{}.Text(1, "").Varint(2, f.Opset))
	for _, m := range f.Metadata {
		model = model.Bytes(14, m)
	}
	return model
}

func (f *File) Input(name string, elements int64, dims ...int64) *File {
	f.Inputs = append(f.Inputs, valueInfo(name, elements, dims))
	return f
}

// Attributes maps a node's attribute names to values of type int, float32,
// string, []int64, []float32, Proto (a tensor), or *File (a graph).
type Attributes map[string]any

// Kinds of attributes, as in AttributeProto.AttributeType.
const (
	kindFloat  = 1
	kindInt    = 2
	kindString = 3
	KindTensor = 4
	KindGraph  = 5
	kindFloats = 6
	kindInts   = 7
)

func (f *File) Node(op string, in []string, out string, a Attributes) *File {
	return f.NodeOf(op, in, []string{out}, a)
}

func (f *File) NodeOf(op string, in, out []string, a Attributes) *File {
	var n Proto
	for _, name := range in {
		n = n.Text(1, name)
	}
	for _, name := range out {
		n = n.Text(2, name)
	}
	n = n.Text(3, "node of "+out[0]).Text(4, op)
	for name, v := range a {
		p := Proto{}.Text(1, name)
		switch v := v.(type) {
		case int:
			p = p.Varint(3, int64(v)).Varint(20, kindInt)
		case float32:
			p = p.Float(2, v).Varint(20, kindFloat)
		case string:
			p = p.Text(4, v).Varint(20, kindString)
		case []int64:
			for _, i := range v {
				p = p.Varint(8, i)
			}
			p = p.Varint(20, kindInts)
		case []float32:
			for _, x := range v {
				p = p.Float(7, x)
			}
			p = p.Varint(20, kindFloats)
		case Proto:
			p = p.Bytes(5, v).Varint(20, KindTensor)
		case *File:
			p = p.Bytes(6, v.Graph()).Varint(20, KindGraph)
		default:
			panic("an attribute of another kind")
		}
		n = n.Bytes(5, p)
	}
	f.Nodes = append(f.Nodes, n)
	return f
}

func Tensor(name string, elements int64, raw []byte, dims ...int64) Proto {
	t := Proto{}
	for _, d := range dims {
		t = t.Varint(1, d)
	}
	return t.Varint(2, elements).Text(8, name).Bytes(9, raw)
}

func (f *File) Floats(name string, values []float32, dims ...int64) *File {
	f.Tensors = append(f.Tensors, FloatTensor(name, values, dims...))
	return f
}

func FloatTensor(name string, values []float32, dims ...int64) Proto {
	raw, _ := binary.Append(nil, binary.LittleEndian, values) // a slice of numbers has no error
	return Tensor(name, Float, raw, dims...)
}

// Ints adds a constant list of integers, not as raw data.
func (f *File) Ints(name string, values ...int64) *File {
	t := Proto{}.Varint(1, int64(len(values))).Varint(2, Int64).Text(8, name)
	for _, v := range values {
		t = t.Varint(7, v)
	}
	f.Tensors = append(f.Tensors, t)
	return f
}

func IntTensor(name string, values []int64, dims ...int64) Proto {
	raw, _ := binary.Append(nil, binary.LittleEndian, values)
	return Tensor(name, Int64, raw, dims...)
}

// Output adds an output. Without dimensions its shape is open.
func (f *File) Output(name string, dims ...int64) *File {
	return f.OutputOf(name, Float, dims...)
}

func (f *File) OutputOf(name string, elements int64, dims ...int64) *File {
	f.Outputs = append(f.Outputs, valueInfo(name, elements, dims))
	return f
}

func (f *File) Meta(key, value string) *File {
	f.Metadata = append(f.Metadata, Proto{}.Text(1, key).Text(2, value))
	return f
}
