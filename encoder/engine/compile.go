// Package engine runs a network in plain Go.
//
//	onnx.Model ─▶ Compile ─▶ Program
//	inputs, float32 by name ─▶ Run ─▶ wanted tensors, float32 by name
//
// Compile turns nodes into steps, one for each operator that remains after
// folding:
//
//	nodes ─ shapes, folding ─▶ steps ─ wanted ─▶ needed steps ─ fusing ─▶ packed weights, memory
//
// Operators whose inputs are constant are computed at compile time (fold.go),
// with exact 64-bit integers, because exporters use integers to compute shapes.
// At run time every tensor is float32, and integers are checked to be at most
// 2²⁴, so that float32 is exact.
//
// Operators follow opsets 7 to 25 (github.com/onnx/onnx, docs/Operators.md).
// Other operators are refused by name, because an almost correct network would
// give plausible but wrong vectors. Files are untrusted: Compile checks sizes,
// work and memory against onnx.Limits before allocating, and a run allocates
// only the counted memory and the results.
//
// Convolutions (window.go) and linear layers are products with packed weights
// (package internal/f32). Normalisation, biases and clips are folded into these
// products. One image uses one core, and goroutines may share a Program.
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
	maxWindow          = 64 // of kernels, strides and pads
	maxRank            = 8
	maxList            = 64 // entries of a list of integers
)

// Options configure Compile.
type Options struct {
	Limits onnx.Limits
	// Inputs are the shapes of inputs. By default the file's shapes apply, with
	// 1 for open dimensions.
	Inputs map[string][]int
	// Choose is called once all shapes are known, and names the tensors that
	// Run returns. By default, Run returns the graph's outputs.
	Choose func(shape func(name string) ([]int, bool)) ([]string, error)

	noFusion bool // disables fusing, for tests
}

type kind uint8

const (
	floats kind = iota
	ints
	bools // 0 or 1
)

func (k kind) String() string { return [...]string{"floats", "integers", "booleans"}[k] }

// A value is a tensor of the graph: an input, a constant, or the output of a
// step.
type value struct {
	name     string
	shape    []int
	kind     kind
	tensor   *onnx.Tensor // of a constant in the file
	floats   []float32    // data of a constant, nil until needed
	ints     []int64      // data of an integer or boolean constant, nil until needed
	producer *step        // the step that computes it, nil for inputs and constants
	input    int          // number of an input, from 1
	retained bool         // needed after the run
	last     int          // the last step that reads it
	slot     int          // slot in the arena
}

func (v *value) constant() bool { return v.producer == nil && v.input == 0 }

// A kernel computes out from in, all in row-major order. scratch has the length
// that the step requested and arbitrary contents.
type kernel func(out []float32, in [][]float32, scratch []float32)

// A step is one operator, ready to run.
type step struct {
	label   string // of the node, for errors
	op      string
	in      []*value
	out     *value
	run     kernel
	inPlace bool // whether out may overwrite in[0]
	scratch int  // number of float32
	work    int64
	// exact computes the same results for constant integers and booleans. It is
	// nil if unsupported, or if run is exact for all float32 values.
	exact func(out []int64, in [][]int64) error
	// sizes, if given, holds the lengths of the axes that the indices in in[1]
	// select from. run and exact do not check indices, so out-of-range indices
	// are refused first.
	sizes []int
	// pack, if not nil, prepares constants that are not among the inputs. It is
	// called after fusing.
	pack func() error
	// These fields mark candidates for fusing (fuse.go).
	conv       *conv
	affine     *affine
	bounds     *bounds
	linear     *linear
	meanOfRows bool
	product    *product
}

// A builder turns a graph into steps.
type builder struct {
	*state
	opset  int64
	outer  *builder // of the surrounding graph
	values map[string]*value
	failed map[string]error // tensors that cannot be computed, with reasons
	sorted []*onnx.Node
}

// A state is shared by all graphs of a model.
type state struct {
	limits    onnx.Limits
	functions map[string]*onnx.Function // by domain and name
	steps     []*step
	inputs    []*value
	bytes     int64 // of constants in memory
	work      int64 // of folding
	depth     int   // of nested graphs
	entered   int   // nodes of nested graphs
	noFusion  bool
}

// A call is one node during compilation.
type call struct {
	*builder
	node       *onnx.Node
	in         []*value // nil for an omitted optional input
	attributes map[string]*onnx.Attribute
	err        error // the first failure to read or compute (see fail)
}

// errLimit reports an exceeded limit. It ends a compilation even if no wanted
// tensor needs the node.
type errLimit struct{ error }

func limitError(format string, args ...any) error { return errLimit{fmt.Errorf(format, args...)} }

// Compile prepares a model. It does not retain the data of m.
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

// node compiles one node. A failure other than a limit is an error only if a
// wanted tensor needs the node.
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

type errUpstream struct{ error }

func (b *builder) call(n *onnx.Node) (*call, error) {
	c := &call{builder: b, node: n, attributes: map[string]*onnx.Attribute{}}
	for _, name := range n.In {
		v, err := b.lookup(name)
		if err != nil {
			return nil, errUpstream{err}
		}
		if v == nil && name != "" {
			// Sorting ensures that every input exists, except for outputs that
			// a node did not produce, such as Dropout's mask.
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
