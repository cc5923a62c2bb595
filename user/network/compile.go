package network

import (
	"errors"
	"fmt"
	"slices"
)

const (
	minOpset, maxOpset = 7, 25
	maxSide            = 4096 // side of an image
	maxWindow          = 64   // of kernels, strides and pads
	usualEmbedding     = "embedding"
)

// operators is everything that can be computed. Each entry checks its inputs and
// attributes, determines the shape of its output and emits the steps.
var operators = map[string]func(*call) error{
	"Conv": compileConv, "Gemm": compileGemm, "MatMul": compileMatMul,
	"BatchNormalization": compileBatchNorm,
	"Clip":               compileClip, "Relu": compileRelu, "LeakyRelu": compileLeakyRelu,
	"Sigmoid": compileSigmoid, "HardSigmoid": compileHardSigmoid, "HardSwish": compileHardSwish,
	"Tanh": compileTanh, "Softmax": compileSoftmax,
	"Add": compileBinary, "Sub": compileBinary, "Mul": compileBinary, "Div": compileBinary,
	"GlobalAveragePool": compileGlobalAverage, "ReduceMean": compileReduceMean,
	"AveragePool": compilePool, "MaxPool": compilePool,
	"Flatten": compileFlatten, "Reshape": compileReshape, "Concat": compileConcat,
	"Identity": compileIdentity, "Dropout": compileIdentity, "Constant": compileConstant,
}

// A value is a tensor of the graph: the image, a constant, or the output of a step.
type value struct {
	name     string
	shape    []int
	floats   []float32 // data of a constant
	ints     []int64   // data of a constant of integers
	isInt    bool
	made     *step // the step that makes it; nil for the image and constants
	retained bool  // needed after the run
	last     int   // the last step that reads it
	slot     int   // slot in the arena; -1 for the image and constants
}

func (v *value) constant() bool { return v.floats != nil || v.isInt }

// A kernel computes out from in, all in row-major order. scratch has the length that the
// step requested and arbitrary contents.
type kernel func(out []float32, in [][]float32, scratch []float32)

// A step is one operator, ready to run.
type step struct {
	in           []*value
	out          *value
	run          kernel
	conv         *conv // set for a convolution, so that later steps can be folded in
	inPlace      bool  // whether out may overwrite in[0]
	scratch      int   // number of float32
	forEmbedding bool
}

// A builder turns a graph into steps.
type builder struct {
	limits    Limits
	opset     int64
	side      int
	values    map[string]*value
	readers   map[string]int // how many nodes and outputs read a name
	steps     []*step
	image     *value
	outputs   []*value
	embedding *value
	bytes     int64 // of weights
	work      int64 // multiply-adds
}

// A call is one node during compilation.
type call struct {
	*builder
	node       *nodeProto
	in         []*value // nil where an optional input is left out
	attributes map[string]*attributeProto
}

func (b *builder) compile(g *graphProto, embedding string) error {
	if b.opset < minOpset || b.opset > maxOpset {
		return unsupported("opset %d is not supported (%d to %d are); export the model for another", b.opset, minOpset, maxOpset)
	}
	nodes, err := b.prepare(g)
	if err != nil {
		return err
	}
	for _, o := range g.outputs {
		b.readers[o.name]++
	}
	// Nothing may be folded into a tensor that is visible from outside.
	b.readers[usualEmbedding]++
	b.readers[embedding]++
	for _, n := range nodes {
		if err := b.node(n); err != nil {
			return fmt.Errorf("%s: %w", n.label(), err)
		}
	}
	if err := b.findOutputs(g.outputs); err != nil {
		return err
	}
	return b.findEmbedding(embedding, nodes, g.outputs)
}

// prepare finds the constants and the image, and orders the nodes.
func (b *builder) prepare(g *graphProto) ([]*nodeProto, error) {
	b.values, b.readers = map[string]*value{}, map[string]int{}
	for _, t := range g.constants {
		if _, twice := b.values[t.name]; twice || t.name == "" {
			return nil, fmt.Errorf("initializer %.80q has no name of its own", t.name)
		}
		b.values[t.name] = constantOf(t.name, t)
	}
	if err := b.findImage(g.inputs); err != nil {
		return nil, err
	}
	return b.sort(g.nodes)
}

func constantOf(name string, t *tensorProto) *value {
	v := &value{name: name, shape: t.dims, floats: t.floats, ints: t.ints, isInt: t.isInt, slot: -1}
	if v.floats == nil && !v.isInt {
		v.floats = []float32{} // an empty tensor is still a constant
	}
	return v
}

// findImage finds the only input that is not a constant: 1×3×H×W.
func (b *builder) findImage(inputs []valueInfo) error {
	for _, in := range inputs {
		if _, isConstant := b.values[in.name]; isConstant {
			continue // before IR 4, constants were also listed as inputs
		}
		if b.image != nil {
			return fmt.Errorf("it has two inputs, %.80q and %.80q; a network of one image is needed", b.image.name, in.name)
		}
		d := slices.Clone(in.dims)
		if in.name == "" || in.elem != elemFloat || len(d) != 4 {
			return fmt.Errorf("its input %.80q is not a float32 image of 1×3×H×W", in.name)
		}
		for i, open := range []int{1, 3, b.side, b.side} {
			if d[i] == -1 {
				d[i] = open
			}
		}
		if d[0] != 1 || d[1] != 3 || d[2] < 1 || d[3] < 1 || d[2] > maxSide || d[3] > maxSide {
			return fmt.Errorf("its input %.80q has shape %v; 1×3×H×W with sides up to %d is needed", in.name, in.dims, maxSide)
		}
		b.image = &value{name: in.name, shape: d, slot: -1}
		b.values[in.name] = b.image
	}
	if b.image == nil {
		return errors.New("it has no input")
	}
	return nil
}

// sort orders the nodes so that each comes after its inputs (Kahn 1962), keeping the
// file's order where possible. The standard demands sorted files, but some writers do not
// comply.
func (b *builder) sort(nodes []*nodeProto) ([]*nodeProto, error) {
	maker := map[string]int{}
	for i, n := range nodes {
		for _, name := range n.out {
			if name == "" {
				continue
			}
			if _, twice := maker[name]; twice || b.values[name] != nil {
				return nil, fmt.Errorf("%s: %.80q is made twice", n.label(), name)
			}
			maker[name] = i
		}
	}
	waiting := make([]int, len(nodes))
	followers := make([][]int, len(nodes))
	var ready []int
	for i, n := range nodes {
		for _, name := range n.in {
			if name == "" {
				continue
			}
			b.readers[name]++
			if b.values[name] != nil {
				continue
			}
			from, ok := maker[name]
			if !ok {
				return nil, fmt.Errorf("%s: its input %.80q is made by nothing", n.label(), name)
			}
			waiting[i]++
			followers[from] = append(followers[from], i)
		}
		if waiting[i] == 0 {
			ready = append(ready, i)
		}
	}
	var sorted []*nodeProto
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
		return nil, fmt.Errorf("%s: it waits for its own output; the graph has a cycle", nodes[i].label())
	}
	return sorted, nil
}

// standard reports whether the operator is part of the ONNX specification.
func (n *nodeProto) standard() bool { return n.domain == "" || n.domain == "ai.onnx" }

func (b *builder) node(n *nodeProto) error {
	compile := operators[n.op]
	if compile == nil || !n.standard() {
		return unsupported("this operator is not supported by the built-in runtime")
	}
	c := &call{builder: b, node: n, attributes: map[string]*attributeProto{}}
	for _, name := range n.in {
		// After the sort every named input exists, unless its node did not produce it:
		// the mask of Dropout, say.
		v := b.values[name]
		if v == nil && name != "" {
			return unsupported("its input %.80q is an output that is not supported", name)
		}
		c.in = append(c.in, v)
	}
	for _, a := range n.attributes {
		if a.other || c.attributes[a.name] != nil {
			return unsupported("attribute %.80q is not understood", a.name)
		}
		c.attributes[a.name] = a
	}
	if len(n.out) == 0 || n.out[0] == "" {
		return errors.New("it has no output")
	}
	if err := compile(c); err != nil {
		return err
	}
	for name := range c.attributes {
		return unsupported("attribute %.80q is not supported", name)
	}
	return nil
}

// findOutputs marks the outputs and compares them with their declared shapes.
func (b *builder) findOutputs(outputs []valueInfo) error {
	if len(outputs) == 0 {
		return errNoOutput
	}
	for _, o := range outputs {
		v := b.values[o.name]
		if v == nil || v.isInt {
			return fmt.Errorf("its output %.80q is made by nothing", o.name)
		}
		if o.hasShape && len(o.dims) > 0 {
			agrees := len(o.dims) == len(v.shape)
			for i := 0; agrees && i < len(o.dims); i++ {
				agrees = o.dims[i] == -1 || o.dims[i] == v.shape[i]
			}
			if !agrees {
				return fmt.Errorf("its output %.80q has shape %v where the file says %v", o.name, v.shape, o.dims)
			}
		}
		v.retained = true
		// A convolution with a folded-in clipping has the clipping's name.
		if v.name != o.name {
			v = b.alias(v, o.name)
		}
		b.outputs = append(b.outputs, v)
	}
	return nil
}

// alias returns the same tensor under another name, for reporting.
func (b *builder) alias(v *value, name string) *value {
	s := &step{in: []*value{v}, run: copyKernel, inPlace: true}
	s.out = &value{name: name, shape: v.shape, made: s, retained: true}
	b.steps = append(b.steps, s)
	return s.out
}

func (b *builder) findEmbedding(name string, nodes []*nodeProto, outputs []valueInfo) error {
	name, err := b.chooseEmbedding(name, nodes, outputs)
	if err != nil {
		return err
	}
	for _, v := range b.outputs {
		if v.name == name {
			b.embedding = v
		}
	}
	if b.embedding == nil {
		v := b.values[name]
		if v == nil {
			return errNoTensor(name)
		}
		if v.isInt || v.made == nil {
			return errNotOfImage(name)
		}
		b.embedding = b.alias(v, name)
	}
	return nil
}

// volume returns the number of elements of a shape, at most limit.
func volume(shape []int, limit int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > limit/d {
			return 0, fmt.Errorf("a tensor of shape %v has more than the %d elements accepted", shape, limit)
		}
		n *= d
	}
	return n, nil
}

// count is volume for a shape that has already been checked.
func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
