// Package onnx reads the parts of ONNX files (github.com/onnx/onnx,
// onnx/onnx.proto) that inference needs.
//
//	model.onnx ─▶ Open ─▶ Read        ─▶ Model: nodes, constants, inputs, outputs   for package engine
//	                   ─▶ ReadOutline ─▶ Model ─▶ Extract ─▶ a rewritten file        for another runtime
//
// Files are untrusted. Limits and the constants in read.go bound the resources
// that decoding takes. The data of constants are decoded on demand.
package onnx

import (
	"cmp"
	"fmt"
	"slices"
)

// Limits bound the resources that a model file may use. Zero fields take the
// values of DefaultLimits.
type Limits struct {
	FileBytes int64 // total size of the file and the files it names
	Nodes     int   // number of operators in the graph
	Elements  int   // number of elements of one tensor
	Memory    int64 // bytes of all weights. The scratch memory per image has the same limit.
	Work      int64 // number of multiply-adds per image
}

// DefaultLimits admit common image networks, up to both halves of CLIP ViT-L
// and some seconds of work per image.
var DefaultLimits = Limits{FileBytes: 1 << 31, Nodes: 20_000, Elements: 1 << 27, Memory: 1 << 31, Work: 1 << 38}

// OrDefault replaces zero fields by the fields of DefaultLimits.
func (l Limits) OrDefault() Limits {
	d := DefaultLimits
	return Limits{cmp.Or(l.FileBytes, d.FileBytes), cmp.Or(l.Nodes, d.Nodes), cmp.Or(l.Elements, d.Elements), cmp.Or(l.Memory, d.Memory), cmp.Or(l.Work, d.Work)}
}

// A Model is a parsed file. Tensors and nodes keep the names in the file.
type Model struct {
	Opset     int64 // version of the standard operators
	Graph     *Graph
	Functions []*Function
	Metadata  map[string]string

	opsets int // number of opsets in the file

	ir   int64    // version of the ONNX format, for Extract
	kept [][]byte // encoded fields that Extract copies: opsets and functions
}

// A Graph is a list of nodes in any order.
type Graph struct {
	Nodes           []*Node
	Constants       []*Tensor
	Inputs, Outputs []ValueInfo
}

// FreeInputs returns the inputs that are not constants. In files before version
// 4 of the format, constants are also listed as inputs.
func (g *Graph) FreeInputs() []ValueInfo {
	constants := map[string]bool{}
	for _, t := range g.Constants {
		constants[t.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(g.Inputs), func(in ValueInfo) bool { return constants[in.Name] })
}

func (g *Graph) names() (names []string) {
	for _, n := range g.Nodes {
		names = append(names, n.Reads()...)
	}
	for _, o := range g.Outputs {
		names = append(names, o.Name)
	}
	return names
}

// A Node is one operator. An omitted input has the name "".
type Node struct {
	Name, Op, Domain string
	In, Out          []string
	Attributes       []*Attribute
	HasGraph         bool     // whether an attribute is a graph
	empty            bool     // whether an attribute is an empty tensor (used for outlines, see outline.go)
	inner            []string // names of the tensors that graphs in attributes read
	body             []byte   // the encoded NodeProto, for Extract
}

// Reads returns the names of all tensors that the node may read: its inputs,
// and the tensors that graphs in its attributes read.
func (n *Node) Reads() []string {
	if len(n.inner) == 0 {
		return n.In
	}
	return append(slices.Clone(n.In), n.inner...)
}

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

// Kind is an AttributeProto.AttributeType of onnx.proto, or 0 if omitted.
type Kind int64

const (
	KindFloat  Kind = 1
	KindInt    Kind = 2
	KindString Kind = 3
	KindTensor Kind = 4
	KindGraph  Kind = 5
	KindFloats Kind = 6
	KindInts   Kind = 7
)

// An Attribute is a setting of a node. Models from ReadOutline have none.
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
	// Reference is the surrounding function's attribute that has the value.
	Reference string
	Other     bool // whether it has another kind of value, such as a list of strings
}

// A Function is an operator that the file defines by a list of nodes.
type Function struct {
	Name, Domain string
	In, Out      []string
	Attributes   []string     // names of the attributes that a call may set
	Defaults     []*Attribute // values of optional attributes
	Nodes        []*Node
}

// A ValueInfo describes an input or output of a graph. In Dims, a dimension
// without a fixed size is -1.
type ValueInfo struct {
	Name     string
	Type     Type
	Dims     []int
	HasShape bool
}

// Fits reports whether a tensor's shape agrees with the declared shape.
func (v ValueInfo) Fits(shape []int) bool {
	return !v.HasShape || slices.EqualFunc(v.Dims, shape, func(declared, n int) bool { return declared == -1 || declared == n })
}

// An UnsupportedError reports a possibly valid file that plain Go cannot run.
type UnsupportedError struct{ text string }

func (e *UnsupportedError) Error() string { return e.text }

func Unsupported(format string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(format, args...)}
}

// Sort orders each node after those that compute its inputs (Kahn 1962),
// because some exporters write unsorted files. Function `known` reports whether
// a tensor exists before any node runs.
func Sort(nodes []*Node, known func(name string) bool) ([]*Node, error) {
	maker := map[string]int{}
	for i, n := range nodes {
		for _, name := range n.Out {
			if name == "" {
				continue
			}
			if _, twice := maker[name]; twice || known(name) {
				return nil, fmt.Errorf("%s: %.80q is produced twice", n.Label(), name)
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
				return nil, fmt.Errorf("%s: its input %.80q is produced by no node", n.Label(), name)
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
