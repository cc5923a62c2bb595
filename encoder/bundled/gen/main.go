// Command gen writes the network that package bundled embeds.
//
//	go run ./gen FLOAT.onnx mobilenet_v2.onnx
//
// The published float32 weights of the source network are products of 8-bit
// integers q and one scale s per output channel. Command gen replaces each
// weight tensor by DequantizeLinear(q, s). The result is an ordinary ONNX file
// of a quarter of the size. The command fails if any weight differs from q·s.
package main

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"os"

	"google.golang.org/protobuf/encoding/protowire"

	"cpar/encoder/onnx"
)

// These are field numbers in onnx.proto.
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
	kindInt = 2 // AttributeProto.INT
	// opset is the first opset in which DequantizeLinear has an axis. The
	// network's other operators are the same as in the source's opset 11.
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

func quantise(model []byte) (out []byte, err error) {
	m, err := onnx.Read(model, onnx.Limits{}, nil)
	if err != nil {
		return nil, err
	}
	for number, whole := range fields(model) {
		switch number {
		case modelGraph:
			graph, err := quantiseGraph(content(whole), m.Graph.Constants)
			if err != nil {
				return nil, err
			}
			out = appendBytes(out, modelGraph, graph)
		case modelOpset:
			out = appendBytes(out, modelOpset, appendInt(nil, opsetNumber, opset))
		default:
			out = append(out, whole...)
		}
	}
	return out, nil
}

// quantiseGraph replaces weights by quantised tensors and dequantising nodes.
// These nodes come first, because ONNX requires each node to come after the
// nodes that compute its inputs.
func quantiseGraph(graph []byte, tensors []*onnx.Tensor) ([]byte, error) {
	var nodes, rest []byte
	for number, whole := range fields(graph) {
		if number != graphTensor {
			rest = append(rest, whole...)
			continue
		}
		t := tensors[0]
		tensors = tensors[1:]
		if len(t.Dims) < 2 { // keep biases and bounds
			rest = append(rest, whole...)
			continue
		}
		q, scales, err := quantiseTensor(t)
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", t.Name, err)
		}
		nodes = appendBytes(nodes, graphNode, dequantise(t.Name))
		rest = appendBytes(appendBytes(rest, graphTensor, q), graphTensor, scales)
	}
	return append(nodes, rest...), nil
}

// quantiseTensor returns the encoded tensors q, with the dimensions of t, and
// s, with one scale per channel.
func quantiseTensor(t *onnx.Tensor) (q, s []byte, err error) {
	values, err := t.Floats()
	if err != nil {
		return nil, nil, err
	}
	channels := t.Dims[0]
	size := len(values) / channels
	var integers, scales []byte
	for c := range channels {
		channel := values[c*size : (c+1)*size]
		scale, ok := scaleOf(channel)
		if !ok {
			return nil, nil, fmt.Errorf("channel %d is not a scale times 8-bit integers", c)
		}
		scales = binary.LittleEndian.AppendUint32(scales, math.Float32bits(scale))
		for _, w := range channel {
			integers = append(integers, byte(int8(math.RoundToEven(float64(w/scale)))))
		}
	}
	return writeTensor(t.Name+"_q", onnx.Int8, integers, t.Dims...), writeTensor(t.Name+"_s", onnx.Float, scales, channels), nil
}

// scaleOf finds a scale s for which every weight is exactly s times an integer
// from −127 to 127. The original quantiser mapped the largest magnitude to 127.
// Therefore s is that magnitude divided by 127, up to rounding.
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

func writeTensor(name string, kind onnx.Type, raw []byte, dims ...int) (b []byte) {
	for _, d := range dims {
		b = appendInt(b, tensorDims, d)
	}
	b = appendInt(b, tensorType, int(kind))
	return appendBytes(appendBytes(b, tensorName, []byte(name)), tensorRaw, raw)
}

// dequantise returns the encoded node that computes a weight tensor from its
// integers and scales.
func dequantise(name string) (b []byte) {
	axis := appendBytes(nil, attributeName, []byte("axis"))
	axis = appendInt(appendInt(axis, attributeInt, 0), attributeType, kindInt)
	b = appendBytes(b, nodeInput, []byte(name+"_q"))
	b = appendBytes(b, nodeInput, []byte(name+"_s"))
	b = appendBytes(b, nodeOutput, []byte(name))
	b = appendBytes(b, nodeOp, []byte("DequantizeLinear"))
	return appendBytes(b, nodeAttribute, axis)
}

func appendBytes(to []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}

func appendInt(to []byte, number protowire.Number, v int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), uint64(v))
}

// fields iterates over the fields of a valid message, by number and as bytes
// including the tag.
func fields(message []byte) iter.Seq2[protowire.Number, []byte] {
	return func(yield func(protowire.Number, []byte) bool) {
		for len(message) > 0 {
			number, _, n := protowire.ConsumeField(message)
			if !yield(number, message[:n]) {
				return
			}
			message = message[n:]
		}
	}
}

func content(whole []byte) []byte {
	number, _, _ := protowire.ConsumeTag(whole)
	value, _ := protowire.ConsumeBytes(whole[protowire.SizeTag(number):])
	return value
}
