// Command gen writes the network that package bundled embeds.
//
//	go run ./gen FLOAT.onnx mobilenet_v2.onnx
//
// The source network's weights were integers of 8 bits with one scale per
// output channel before they were published as float32. gen recovers both
// exactly and replaces each weight w by DequantizeLinear(q, s), so that the
// result is an ordinary ONNX file of a quarter of the size. It fails if one
// weight differs from q·s in any bit. Everything else is copied.
package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of onnx.proto.
const (
	modelGraph  protowire.Number = 7
	modelOpset  protowire.Number = 8
	opsetNumber protowire.Number = 2

	graphNode   protowire.Number = 1
	graphTensor protowire.Number = 5

	nodeInput     protowire.Number = 1
	nodeOutput    protowire.Number = 2
	nodeOp        protowire.Number = 4
	nodeAttribute protowire.Number = 5

	attributeName protowire.Number = 1
	attributeInt  protowire.Number = 3
	attributeType protowire.Number = 20

	tensorDims protowire.Number = 1
	tensorType protowire.Number = 2
	tensorName protowire.Number = 8
	tensorRaw  protowire.Number = 9
)

const (
	typeFloat = 1
	typeInt8  = 3
	kindInt   = 2
	// opset is the first in which DequantizeLinear has an axis. The operators
	// of the network are the same in the source's opset 11.
	opset = 13
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen FLOAT.onnx QUANTISED.onnx")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if data, err = quantise(data); err != nil {
		return fmt.Errorf("quantising %s: %w", from, err)
	}
	return os.WriteFile(to, data, 0o644)
}

// quantise rewrites a model.
func quantise(model []byte) (out []byte, err error) {
	err = eachField(model, func(number protowire.Number, kind protowire.Type, whole, value []byte) error {
		switch number {
		case modelGraph:
			graph, err := quantiseGraph(value)
			out = appendBytes(out, modelGraph, graph)
			return err
		case modelOpset:
			version := protowire.AppendVarint(protowire.AppendTag(nil, opsetNumber, protowire.VarintType), opset)
			out = appendBytes(out, modelOpset, version)
		default:
			out = append(out, whole...)
		}
		return nil
	})
	return out, err
}

// quantiseGraph puts the new nodes first, because nodes follow their inputs.
func quantiseGraph(graph []byte) ([]byte, error) {
	var nodes, rest []byte
	err := eachField(graph, func(number protowire.Number, kind protowire.Type, whole, value []byte) error {
		if number != graphTensor {
			rest = append(rest, whole...)
			return nil
		}
		t, err := readTensor(value)
		if err != nil {
			return err
		}
		if len(t.dims) < 2 { // biases and bounds
			rest = append(rest, whole...)
			return nil
		}
		q, scales, err := t.quantise()
		if err != nil {
			return fmt.Errorf("tensor %s: %w", t.name, err)
		}
		nodes = appendBytes(nodes, graphNode, dequantise(t.name))
		rest = appendBytes(rest, graphTensor, q)
		rest = appendBytes(rest, graphTensor, scales)
		return nil
	})
	return append(nodes, rest...), err
}

type tensor struct {
	name   string
	dims   []uint64
	values []float32
}

func readTensor(b []byte) (t tensor, err error) {
	err = eachField(b, func(number protowire.Number, kind protowire.Type, _, value []byte) error {
		switch number {
		case tensorDims:
			d, n := protowire.ConsumeVarint(value)
			if kind == protowire.VarintType && n > 0 {
				t.dims = append(t.dims, d)
				return nil
			}
			return fmt.Errorf("dimensions in another encoding")
		case tensorType:
			if d, _ := protowire.ConsumeVarint(value); d != typeFloat {
				return fmt.Errorf("a tensor of type %d, not float", d)
			}
		case tensorName:
			t.name = string(value)
		case tensorRaw:
			for i := 0; i+4 <= len(value); i += 4 {
				t.values = append(t.values, math.Float32frombits(binary.LittleEndian.Uint32(value[i:])))
			}
		}
		return nil
	})
	return t, err
}

// quantise returns the tensors q, with the dimensions of t, and s, with one
// value per channel.
func (t tensor) quantise() (q, s []byte, err error) {
	channels := int(t.dims[0])
	size := len(t.values) / channels
	var integers, scales []byte
	for c := range channels {
		channel := t.values[c*size : (c+1)*size]
		scale, ok := scaleOf(channel)
		if !ok {
			return nil, nil, fmt.Errorf("channel %d is not a scale times integers of 8 bits", c)
		}
		scales = binary.LittleEndian.AppendUint32(scales, math.Float32bits(scale))
		for _, w := range channel {
			integers = append(integers, byte(int8(math.RoundToEven(float64(w/scale)))))
		}
	}
	return writeTensor(t.name+"_q", typeInt8, integers, t.dims...), writeTensor(t.name+"_s", typeFloat, scales, t.dims[0]), nil
}

// scaleOf finds s such that every weight is exactly s times an integer from
// −127 to 127. The quantiser mapped the largest magnitude to 127, so s is within
// rounding of a 127th of it.
func scaleOf(channel []float32) (float32, bool) {
	largest := float32(0)
	for _, w := range channel {
		largest = max(largest, float32(math.Abs(float64(w))))
	}
	if largest == 0 {
		return 1, true
	}
	near := largest / 127
	for _, towards := range []float32{0, math.MaxFloat32} {
		s := near
		for range 4 {
			if exact(channel, s) {
				return s, true
			}
			s = math.Nextafter32(s, towards)
		}
	}
	return 0, false
}

func exact(channel []float32, s float32) bool {
	for _, w := range channel {
		q := math.RoundToEven(float64(w / s))
		if math.Abs(q) > 127 || float32(q)*s != w {
			return false
		}
	}
	return true
}

func writeTensor(name string, kind uint64, raw []byte, dims ...uint64) (b []byte) {
	for _, d := range dims {
		b = protowire.AppendVarint(protowire.AppendTag(b, tensorDims, protowire.VarintType), d)
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, tensorType, protowire.VarintType), kind)
	return appendBytes(appendBytes(b, tensorName, []byte(name)), tensorRaw, raw)
}

// dequantise returns the node that makes a weight from its integers and scales.
func dequantise(name string) (b []byte) {
	axis := appendBytes(nil, attributeName, []byte("axis"))
	axis = protowire.AppendVarint(protowire.AppendTag(axis, attributeInt, protowire.VarintType), 0)
	axis = protowire.AppendVarint(protowire.AppendTag(axis, attributeType, protowire.VarintType), kindInt)
	b = appendBytes(b, nodeInput, []byte(name+"_q"))
	b = appendBytes(b, nodeInput, []byte(name+"_s"))
	b = appendBytes(b, nodeOutput, []byte(name))
	b = appendBytes(b, nodeOp, []byte("DequantizeLinear"))
	return appendBytes(b, nodeAttribute, axis)
}

func appendBytes(to []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}

// eachField calls f with each field of a message: its encoding with the tag,
// and its value without tag and length.
func eachField(message []byte, f func(number protowire.Number, kind protowire.Type, whole, value []byte) error) error {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return protowire.ParseError(tag)
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return protowire.ParseError(size)
		}
		whole, value := message[:tag+size], message[tag:tag+size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := f(number, kind, whole, value); err != nil {
			return err
		}
		message = message[tag+size:]
	}
	return nil
}
