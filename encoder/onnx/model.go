// Package onnx reads ONNX files (github.com/onnx/onnx, onnx/onnx.proto), as far as
// inference needs them:
//
//	model.onnx ─▶ Open ─▶ Read        ─▶ Model: nodes, constants, inputs, outputs   for package engine
//	                   ─▶ ReadOutline ─▶ Model ─▶ Extract ─▶ a file written anew     for another runtime
//
// The file comes from strangers: what is decoded is bounded by Limits and by the constants
// in read.go, and the data of constants are decoded when they are asked for, so that
// reading costs little more than the file's own size.
package onnx

import (
	"fmt"
	"slices"
)

// Limits bound the resources that a model file may use. Zero fields stand for those of
// DefaultLimits.
type Limits struct {
	FileBytes int64 // size of the file, with those that it names
	Nodes     int   // operators in the graph
	Elements  int   // elements of one tensor
	Memory    int64 // bytes: of the weights, and separately of the scratch for one image
	Work      int64 // multiply-adds per image
}

// DefaultLimits allow the usual image networks, up to both halves of CLIP ViT-L, with at
// most some seconds per image.
var DefaultLimits = Limits{FileBytes: 1 << 31, Nodes: 20_000, Elements: 1 << 27, Memory: 1 << 31, Work: 1 << 38}

// OrDefault replaces the fields that are zero.
func (l Limits) OrDefault() Limits {
	d := DefaultLimits
	if l.FileBytes > 0 {
		d.FileBytes = l.FileBytes
	}
	if l.Nodes > 0 {
		d.Nodes = l.Nodes
	}
	if l.Elements > 0 {
		d.Elements = l.Elements
	}
	if l.Memory > 0 {
		d.Memory = l.Memory
	}
	if l.Work > 0 {
		d.Work = l.Work
	}
	return d
}

// A Model is a file. Names are the file's own.
type Model struct {
	Opset     int64 // of the standard operators
	Graph     *Graph
	Functions []*Function
	Metadata  map[string]string
	// Bytes is what the data of constants take in memory once they are decoded.
	Bytes int64

	opsets int // how many the file names

	ir   int64    // version of the format, for Extract
	kept [][]byte // fields of the file that Extract copies: opsets, functions
}

// A Graph is a list of nodes, which need not be sorted.
type Graph struct {
	Nodes           []*Node
	Constants       []*Tensor
	Inputs, Outputs []ValueInfo
}

// names returns what the nodes and outputs of a graph read.
func (g *Graph) names() (names []string) {
	for _, n := range g.Nodes {
		names = append(names, n.Reads()...)
	}
	for _, o := range g.Outputs {
		names = append(names, o.Name)
	}
	return names
}

// A Node is one operator. An input that is left out has the name "".
type Node struct {
	Name, Op, Domain string
	In, Out          []string
	Attributes       []*Attribute
	HasGraph         bool     // an attribute is a graph
	empty            bool     // only in an outline: an attribute is an empty tensor
	inner            []string // names that graphs in attributes read
	body             []byte   // NodeProto, for Extract
}

// Reads returns the names of all tensors that the node may read: its inputs, and what
// graphs in its attributes read, which need not declare what surrounds them.
func (n *Node) Reads() []string {
	if len(n.inner) == 0 {
		return n.In
	}
	return append(slices.Clone(n.In), n.inner...)
}

// Label returns the name of a node for errors.
func (n *Node) Label() string {
	name := n.Name
	if name == "" && len(n.Out) > 0 {
		name = n.Out[0]
	}
	op := n.Op
	if !n.Standard() {
		op = n.Domain + "." + op
	}
	return fmt.Sprintf("node %.80q (%.80s)", name, op)
}

// Standard reports whether the operator is part of the ONNX specification.
func (n *Node) Standard() bool { return n.Domain == "" || n.Domain == "ai.onnx" }

// Kind is AttributeProto.AttributeType; 0 if the file leaves it out.
type Kind int64

// The kinds of attributes that are read.
const (
	KindFloat  Kind = 1
	KindInt    Kind = 2
	KindString Kind = 3
	KindTensor Kind = 4
	KindGraph  Kind = 5
	KindFloats Kind = 6
	KindInts   Kind = 7
)

// An Attribute is one of a node's settings. Outlines have none.
type Attribute struct {
	Name   string
	Kind   Kind
	F      float32
	I      int64
	S      string
	Tensor *Tensor
	Graph  *Graph
	Floats []float32
	Ints   []int64
	// Reference is the attribute of the surrounding function that gives the value.
	Reference string
	Other     bool // it holds something else, such as a list of strings
}

// A Function is an operator that the file defines by a list of nodes.
type Function struct {
	Name, Domain string
	In, Out      []string
	Attributes   []string     // those that a call may have
	Defaults     []*Attribute // values of those that a call may leave out
	Nodes        []*Node
}

// A ValueInfo is a file's description of a graph's input or output; an open dimension is -1.
type ValueInfo struct {
	Name     string
	Type     Type
	Dims     []int
	HasShape bool
}

// UnsupportedError is about a file that may be valid, but that plain Go does not run;
// another runtime may.
type UnsupportedError struct{ text string }

func (e *UnsupportedError) Error() string { return e.text }

// Unsupported returns an UnsupportedError.
func Unsupported(format string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(format, args...)}
}

// Sort orders nodes so that each comes after its inputs (Kahn 1962), keeping the file's
// order where possible. The standard demands sorted files, but some writers do not
// comply. known says which tensors exist before any node has run.
func Sort(nodes []*Node, known func(name string) bool) ([]*Node, error) {
	maker := map[string]int{}
	for i, n := range nodes {
		for _, name := range n.Out {
			if name == "" {
				continue
			}
			if _, twice := maker[name]; twice || known(name) {
				return nil, fmt.Errorf("%s: %.80q is made twice", n.Label(), name)
			}
			maker[name] = i
		}
	}
	waiting := make([]int, len(nodes))
	followers := make([][]int, len(nodes))
	var ready []int
	for i, n := range nodes {
		for k, name := range n.Reads() {
			from, ok := maker[name]
			switch {
			case ok:
				waiting[i]++
				followers[from] = append(followers[from], i)
			case name != "" && !known(name) && k < len(n.In):
				return nil, fmt.Errorf("%s: its input %.80q is made by nothing", n.Label(), name)
			}
		}
		if waiting[i] == 0 {
			ready = append(ready, i)
		}
	}
	var sorted []*Node
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		sorted = append(sorted, nodes[i])
		for _, f := range followers[i] {
			if waiting[f]--; waiting[f] == 0 {
				ready = append(ready, f)
			}
		}
	}
	if len(sorted) < len(nodes) {
		i := slices.IndexFunc(waiting, func(w int) bool { return w > 0 })
		return nil, fmt.Errorf("%s: it waits for its own output; the graph has a cycle", nodes[i].Label())
	}
	return sorted, nil
}
