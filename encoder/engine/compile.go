// Package engine runs a network in plain Go.
//
//	onnx.Model ─▶ Compile ─▶ Program
//	inputs, float32 by name ─▶ Run ─▶ wanted tensors, float32 by name
//
// Compile turns nodes into steps, the operators that must run for each image:
//
//	nodes ─ shapes, folding ─▶ steps ─ wanted ─▶ needed steps ─ fusing ─▶ packed weights, memory
//
// Operators whose inputs are constant are computed at compile time (fold.go).
// Integers are then exact 64-bit integers, because exporters use them to
// compute shapes. At run time every tensor is float32. Integers are checked to
// be at most 2²⁴ in magnitude, up to which float32 is exact.
//
// Operators follow opsets 7 to 25 (github.com/onnx/onnx, docs/Operators.md).
// Compile refuses other operators by name, because an almost correct network
// would give plausible but wrong vectors. Files are untrusted: Compile checks
// sizes, work and memory against onnx.Limits before allocating, and a run
// allocates only the counted memory and the results.
//
// Convolutions (window.go) and linear layers are products with packed weights
// (package internal/f32). Normalisation, biases and clips are folded into these
// products. Goroutines may share a Program. A run that has it to itself uses
// all cores (split.go).
package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"cpar/encoder/onnx"
)

const (
	minOpset, maxOpset = 7, 25
	maxWindow          = 64 // length of kernels, strides and pads per axis
	maxRank            = 8  // dimensions of a tensor
	maxList            = 64 // entries of a list of integers
)

type Options struct {
	Limits onnx.Limits
	// Inputs holds the shapes of inputs by name. For other inputs, the file's
	// shape applies, with 1 for open dimensions.
	Inputs map[string][]int
	// Choose names the tensors that Run returns, by default the graph's
	// outputs. It is called once shapes are determined. Its parameter returns
	// the shape of a tensor and reports whether that shape is known.
	Choose func(shape func(name string) ([]int, bool)) ([]string, error)

	noFusion bool // disables fusing, for tests
}

// A kind is the kind of elements that a tensor holds in the file. At run time,
// elements of all kinds are float32.
type kind uint8

const (
	floats kind = iota
	ints
	bools // 0 or 1
)

func (k kind) String() string { return [...]string{"floats", "integers", "booleans"}[k] }

// A value is a tensor of the graph: an input, a constant, or a step's output.
type value struct {
	name     string
	shape    []int
	kind     kind
	tensor   *onnx.Tensor // the constant in the file, if it is one
	floats   []float32    // elements of a constant, nil until needed
	ints     []int64      // elements of an integer or boolean constant, nil until needed
	producer *step        // the step that computes the value, nil for inputs and constants
	input    int          // the input's number from 1, or 0 if the value is not an input
	retained bool         // whether the value is needed after the run
	last     int          // index of the last step that reads the value or a part of it
	slot     int          // index of the value's memory in the arena (run.go)
	whole    *value       // the concatenation in which the value is stored, or nil
	offset   int          // the element of that memory where the value begins
}

func (v *value) constant() bool { return v.producer == nil && v.input == 0 }

// A kernel computes tensor out from the tensors in, all in row-major order.
// `scratch` has the length that the step requested and arbitrary contents.
type kernel func(out []float32, in [][]float32, scratch []float32)

// A step is one operator, ready to run.
type step struct {
	label   string // description of the node, for errors
	op      string
	in      []*value
	out     *value
	run     kernel
	inPlace bool  // whether out may overwrite in[0]
	scratch int   // length of the kernel's scratch memory, in float32
	work    int64 // number of multiply-adds
	// rows is the number of equal pieces into which out may be divided, or 0.
	// Function part computes the pieces `first` to `last`−1. If it is nil,
	// `run` computes them from the same pieces of in[0].
	rows int
	part func(out []float32, in [][]float32, scratch []float32, first, last int)
	// exact computes the same results for constant integers and booleans. It is
	// nil if the operator does not support them, or if `run` is exact for all
	// float32 values.
	exact func(out []int64, in [][]int64) error
	// If in[1] holds indices, sizes holds the lengths of the axes to which the
	// indices refer. Indices out of range are refused before `run` or `exact`
	// is called, because these functions do not check them.
	sizes []int
	// pack, if not nil, is called once after fusing. It packs constants, such
	// as weights, that are not in `in`.
	pack func() error
	// These fields are set if steps can be combined (fuse.go, pool.go, run.go).
	conv       *conv
	affine     *affine
	bounds     *bounds
	clip       *bounds // bounds of the results, or nil if the step cannot clip them
	linear     *linear
	zeros      []int64 // how many zeros the step adds before each axis, then after each, or nil
	joins      bool    // whether out consists of the inputs, one after the other
	meanOfRows bool
	product    *product
}

// A builder turns a graph into steps.
type builder struct {
	*state
	opset  int64
	outer  *builder          // builder of the surrounding graph, or nil
	values map[string]*value // tensors by name
	failed map[string]error  // for each tensor that cannot be computed, the reason
	sorted []*onnx.Node      // nodes sorted by dependency
}

// A state is shared by all graphs of a model.
type state struct {
	limits    onnx.Limits
	functions map[string]*onnx.Function // by functionKey
	steps     []*step
	inputs    []*value
	bytes     int64 // bytes of constants in memory
	work      int64 // multiply-adds spent on folding constants
	depth     int   // depth of the current nested graph
	entered   int   // number of nodes of nested graphs so far
	noFusion  bool
}

// A call is one node that is being compiled.
type call struct {
	*builder
	node       *onnx.Node
	in         []*value                   // nil for an omitted optional input
	attributes map[string]*onnx.Attribute // attributes that the compile function has not yet read
	err        error                      // the first failure (see fail)
}

// errLimit reports that a limit was exceeded. It ends the compilation even if
// the tensors that Run returns do not need the node.
type errLimit struct{ error }

func limitError(format string, args ...any) error { return errLimit{fmt.Errorf(format, args...)} }

// Compile prepares model m to run. The result does not refer to the file.
func Compile(m *onnx.Model, o Options) (*Program, error) {
	b := &builder{state: &state{limits: o.Limits.OrDefault(), functions: functionsOf(m), noFusion: o.noFusion}, opset: m.Opset, values: map[string]*value{}}
	if b.opset < minOpset || b.opset > maxOpset {
		return nil, onnx.Unsupported("opset %d is not supported (%d to %d are); export the model for another", b.opset, minOpset, maxOpset)
	}
	if err := b.readInputs(m.Graph.FreeInputs(), o.Inputs); err != nil {
		return nil, err
	}
	if err := b.graph(m.Graph.Nodes, m.Graph.Constants); err != nil {
		return nil, err
	}
	wanted, err := b.wanted(o, b.sorted, m.Graph.Outputs)
	if err != nil {
		return nil, err
	}
	return b.program(wanted)
}

func kindOf(t onnx.Type) kind {
	switch {
	case t == onnx.Bool:
		return bools
	case t.Floating():
		return floats
	}
	return ints
}

func constantOf(name string, t *onnx.Tensor) *value {
	return &value{name: name, kind: kindOf(t.Type), shape: t.Dims, tensor: t}
}

func (b *builder) readInputs(inputs []onnx.ValueInfo, shapes map[string][]int) error {
	for _, in := range inputs {
		if b.values[in.Name] != nil {
			return fmt.Errorf("it has two inputs %.80q", in.Name)
		}
		if in.Type == onnx.String || in.Type == 0 {
			return onnx.Unsupported("its input %.80q holds %s, which is not supported", in.Name, in.Type)
		}
		v := &value{name: in.Name, kind: kindOf(in.Type), shape: slices.Clone(in.Dims), input: len(b.inputs) + 1}
		if shape := shapes[in.Name]; shape != nil {
			if !in.Fits(shape) {
				return fmt.Errorf("its input %.80q has shape %v where the file says %v", in.Name, shape, in.Dims)
			}
			v.shape = slices.Clone(shape)
		}
		for i, d := range v.shape {
			if d == -1 {
				v.shape[i] = 1
			}
		}
		n, err := onnx.Volume(v.shape, b.limits.Elements)
		if err != nil || n == 0 {
			return fmt.Errorf("its input %.80q has shape %v, which is empty or too large", in.Name, v.shape)
		}
		b.inputs = append(b.inputs, v)
		b.values[v.name] = v
	}
	return nil
}

// node compiles one node. It returns only errors of exceeded limits. Others go
// to b.failed, because they matter only if a wanted tensor needs the node.
func (b *builder) node(n *onnx.Node) error {
	c, err := b.call(n)
	if err == nil {
		err = c.compile()
	}
	if err == nil {
		return nil
	}
	if limit := (errLimit{}); errors.As(err, &limit) {
		return fmt.Errorf("%s: %w", n.Label(), err)
	}
	if upstream := (errUpstream{}); errors.As(err, &upstream) {
		err = upstream.error
	} else {
		err = fmt.Errorf("%s: %w", n.Label(), err)
	}
	for _, name := range n.Out {
		if name != "" {
			delete(b.values, name)
			b.failed[name] = err
		}
	}
	return nil
}

// errUpstream wraps the failure of an earlier node that computes an input.
type errUpstream struct{ error }

func (b *builder) call(n *onnx.Node) (*call, error) {
	c := &call{builder: b, node: n, attributes: map[string]*onnx.Attribute{}}
	for _, name := range n.In {
		v, err := b.lookup(name)
		if err != nil {
			return nil, errUpstream{err}
		}
		if v == nil && name != "" {
			// Sorting ensures that every input exists. The exceptions are
			// outputs that the engine does not compute, such as Dropout's mask.
			return nil, onnx.Unsupported("its input %.80q is an output that is not supported", name)
		}
		c.in = append(c.in, v)
	}
	for _, a := range n.Attributes {
		if a.Other || a.Reference != "" || c.attributes[a.Name] != nil {
			return nil, onnx.Unsupported("attribute %.80q is not understood", a.Name)
		}
		c.attributes[a.Name] = a
	}
	if len(n.Out) == 0 || n.Out[0] == "" {
		return nil, errors.New("it has no output")
	}
	return c, nil
}

func (c *call) compile() error {
	compile := operators[c.node.Op]
	if f := c.functions[functionKey(c.node.Domain, c.node.Op)]; f != nil {
		compile = func(c *call) error { return c.compileFunction(f) }
	} else if compile == nil || !c.node.Standard() {
		return onnx.Unsupported("this operator is not supported by the built-in runtime")
	} else if most := maxInputs[c.node.Op]; most > 0 && len(c.in) > most {
		return fmt.Errorf("it has %d inputs", len(c.in))
	}
	err := compile(c)
	if err = cmp.Or(c.err, err); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.attributes)) {
		return onnx.Unsupported("attribute %.80q is not supported", name)
	}
	return nil
}

func (b *builder) wanted(o Options, nodes []*onnx.Node, outputs []onnx.ValueInfo) (map[string]*value, error) {
	var names []string
	var err error
	if o.Choose != nil {
		names, err = o.Choose(b.shape)
	} else {
		for _, out := range outputs {
			names = append(names, out.Name)
		}
	}
	if err == nil {
		err = b.missingError(nodes, names)
	}
	if err != nil {
		return nil, err
	}
	wanted := map[string]*value{}
	for _, name := range names {
		if wanted[name], err = b.find(name); err != nil {
			return nil, err
		}
	}
	if len(wanted) == 0 {
		return nil, errors.New("it has no output")
	}
	for _, out := range outputs {
		if v := wanted[out.Name]; v != nil && len(out.Dims) > 0 && !out.Fits(v.shape) {
			return nil, fmt.Errorf("its output %.80q has shape %v where the file says %v", out.Name, v.shape, out.Dims)
		}
	}
	return wanted, nil
}

func (b *builder) find(name string) (*value, error) {
	if v, err := b.lookup(name); v != nil || err != nil {
		return v, err
	}
	return nil, fmt.Errorf("its output %.80q is produced by no node", name)
}

func (b *builder) shape(name string) ([]int, bool) {
	v := b.values[name]
	if v == nil {
		return nil, false
	}
	return slices.Clone(v.shape), true
}
