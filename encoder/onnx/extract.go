package onnx

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// minVersion is the first version of the ONNX format (IR version) in which
// constants need not be listed as inputs.
const minVersion = 4

const maxMessage = 1<<31 - 1 // bytes, the maximum of Protocol Buffers

// Extract rewrites a file for a less trusted runtime. The result has one input
// of fixed shape, and only the nodes and constants that tensor `output` needs.
// It names no other files. Model m must be from ReadOutline, and its data must
// still be valid. `nodes` holds its nodes, sorted by dependency.
func Extract(m *Model, nodes []*Node, input ValueInfo, output string) ([]byte, error) {
	need := map[string]bool{output: true}
	var kept []*Node
	for _, n := range slices.Backward(nodes) {
		if slices.ContainsFunc(n.Out, func(name string) bool { return name != "" && need[name] }) {
			kept = append(kept, n)
			for _, name := range n.Reads() {
				need[name] = true
			}
		}
	}
	slices.Reverse(kept)

	// The parts of the message point to the weights, so that the weights are
	// copied only once.
	var graph parts
	for _, n := range kept {
		graph.field(1, n.body)
	}
	graph.field(2, []byte("embedding")) // a graph must have a name
	for _, t := range m.Graph.Constants {
		if need[t.Name] {
			graph.field(5, t.parts()...)
		}
	}
	graph.field(11, input.encode())
	graph.field(12, appendField(nil, 1, []byte(output))) // without a type, which the runtime infers
	model := parts{list: [][]byte{appendVarint(nil, 1, max(m.ir, minVersion))}}
	model.list = append(model.list, m.kept...)
	model.field(7, graph.list...)
	size := lengths(model.list)
	if size > maxMessage {
		return nil, fmt.Errorf("the rewritten file has %d bytes, but the runtime takes less than 2 GB", size)
	}
	return slices.Concat(model.list...), nil
}

type parts struct{ list [][]byte }

func (p *parts) field(number protowire.Number, value ...[]byte) {
	head := protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.BytesType), uint64(lengths(value)))
	p.list = append(append(p.list, head), value...)
}

func lengths(list [][]byte) (n int64) {
	for _, b := range list {
		n += int64(len(b))
	}
	return n
}

func (t *Tensor) parts() [][]byte {
	if !t.outside {
		return [][]byte{t.body}
	}
	var b []byte
	for _, d := range t.Dims {
		b = appendVarint(b, 1, int64(d))
	}
	b = appendVarint(b, 2, int64(t.Type))
	p := parts{list: [][]byte{appendField(b, 8, []byte(t.Name))}}
	p.field(9, t.raw)
	return p.list
}

func (v ValueInfo) encode() []byte {
	var shape []byte
	for _, d := range v.Dims {
		shape = appendField(shape, 1, appendVarint(nil, 1, int64(d)))
	}
	tensor := appendField(appendVarint(nil, 1, int64(v.Type)), 2, shape)
	return appendField(appendField(nil, 1, []byte(v.Name)), 2, appendField(nil, 1, tensor))
}
