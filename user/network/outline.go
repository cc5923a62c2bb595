package network

import (
	"errors"
	"fmt"
	"slices"
)

// An outline is a file's structure without its weights: enough to choose the embedding,
// and to check that the file names no other file. ONNX Runtime supports operators and
// element types unknown to compile, so the outline decoder skips what it does not need,
// but looks into everything that can hold a tensor.

// maxDepth bounds nested graphs: the branches of If, the body of Loop.
const maxDepth = 16

// An outline describes a file that another runtime is to run.
type outline struct {
	fileInfo
	image     *value
	embedding string
	isOutput  bool // whether the embedding is already an output of the graph
}

func readOutline(data []byte, options Options) (*outline, error) {
	limits, err := options.check(data)
	if err != nil {
		return nil, err
	}
	d := &decoder{limits: limits, outline: true, empty: map[string]bool{}}
	proto, err := d.model(data)
	if err != nil {
		return nil, err
	}
	if err := d.checkEmpty(); err != nil {
		return nil, err
	}
	b := newBuilder(limits, proto, options)
	nodes, err := b.prepare(proto.graph)
	if err != nil {
		return nil, err
	}
	if len(proto.graph.outputs) == 0 {
		return nil, errNoOutput
	}
	name, err := b.chooseEmbedding(options.Embedding, nodes, proto.graph.outputs)
	if err != nil {
		return nil, err
	}
	o := &outline{fileInfo: newAbout(data, proto, b.image), image: b.image, embedding: name}
	for _, out := range proto.graph.outputs {
		o.isOutput = o.isOutput || out.name == name
	}
	return o, nil
}

// withOutput returns a file in which name is also an output of the graph. Repeated
// messages are merged, with lists concatenated (protobuf.dev/programming-guides/encoding,
// "last one wins"), so appending a second graph with only that output is enough.
func withOutput(data []byte, name string) []byte {
	inner := appendField(nil, 1, []byte(name)) // ValueInfoProto.name; its type is inferred
	graph := appendField(nil, 12, inner)       // GraphProto.output
	whole := make([]byte, len(data), len(data)+len(graph)+16)
	copy(whole, data)
	return appendField(whole, 7, graph) // ModelProto.graph
}

var errOtherFile = errors.New("its data are in another file; save the model as one file")

// outlineTensor reads the name of a tensor and skips its data. ONNX Runtime would read
// external_data from the disk, or from any address of this process's memory that it
// names.
func (d *decoder) outlineTensor(b []byte, t *tensorProto) error {
	var elem, size int64
	var dims []int64
	err := eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			dims, err = f.repeatedInts(dims, maxRank)
		case 2:
			elem, err = int64(f.bits), f.want(wireVarint)
		case 4, 5, 6, 7, 9, 10, 11: // the data in their various forms
			size += int64(len(f.bytes))
		case 8:
			t.name, err = f.text()
		case 3, 13:
			err = errOtherFile
		case 14:
			if f.kind != wireVarint || f.bits != 0 {
				err = errOtherFile
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	t.empty = slices.Contains(dims, 0)
	if elem == elemDouble { // plain Go keeps them as float32
		size /= 2
	}
	d.bytes += size
	return d.checkBytes()
}

// checkEmpty refuses constants without elements for operators that have no use for one.
// In that case ONNX Runtime, up to 1.22 at least, reads the bounds of a Clip from nowhere
// and crashes.
func (d *decoder) checkEmpty() error {
	for _, n := range d.all {
		if n.op == "Constant" && n.empty {
			for _, name := range n.out {
				d.empty[name] = true
			}
		}
	}
	for _, n := range d.all {
		if mayTakeEmpty[n.op] {
			continue
		}
		for _, name := range n.in {
			if d.empty[name] {
				return fmt.Errorf("%s: its input %.80q is empty", n.label(), name)
			}
		}
	}
	return nil
}

// mayTakeEmpty are the operators that real files use with empty constants: the region of
// a resize, a list of no axes, the shape of a scalar.
var mayTakeEmpty = map[string]bool{
	"Resize": true, "Upsample": true, "Reshape": true, "Expand": true, "ConstantOfShape": true, "Concat": true,
	"Squeeze": true, "Unsqueeze": true, "ReduceMean": true, "ReduceSum": true, "ReduceMax": true, "Identity": true, "Dropout": true,
	"If": true, "Loop": true,
}

// mustBePositive are attributes by which ONNX Runtime divides without checking them, and crashes.
var mustBePositive = map[string]bool{
	"strides": true, "dilations": true, "kernel_shape": true, "group": true, "num_groups": true,
	"blocksize": true, "upscale_factor": true,
}

// outlineAttribute looks for tensors and graphs in an attribute.
func (d *decoder) outlineAttribute(b []byte, n *nodeProto) error {
	a := &attributeProto{}
	err := eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			a.name, err = f.text()
		case 3:
			a.i, err = int64(f.bits), f.want(wireVarint)
		case 5, 10: // t, tensors
			return message(f, "tensor", func(b []byte) error {
				t := &tensorProto{}
				err := d.tensor(b, t)
				n.empty = n.empty || t.empty
				return err
			})
		case 6, 11: // g, graphs
			n.hasGraph = true
			return message(f, "graph", func(b []byte) error { return d.graph(b, &graphProto{}) })
		case 8: // ints: a long list for some operators, but not for those on images
			a.ints, err = f.repeatedInts(a.ints, maxInts)
		case 20:
			a.kind, err = int64(f.bits), f.want(wireVarint)
		case 22, 23: // sparse_tensor, sparse_tensors
			return message(f, "sparse tensor", func(b []byte) error { return d.outlineSparse(b, &graphProto{}) })
		}
		return err
	})
	if err != nil || !mustBePositive[a.name] {
		return err
	}
	if a.kind == kindInt || a.kind == 0 && len(a.ints) == 0 {
		a.ints = append(a.ints, a.i) // 0 if it is left out
	}
	for _, v := range a.ints {
		if v < 1 {
			return fmt.Errorf("%s holds %d", a.name, v)
		}
	}
	return nil
}

// outlineSparse reads a SparseTensorProto: its values carry the name of the whole.
func (d *decoder) outlineSparse(b []byte, g *graphProto) error {
	return eachField(b, func(f field) error {
		switch f.number {
		case 1, 2: // values, indices
			t := &tensorProto{}
			if f.number == 1 {
				g.constants = append(g.constants, t)
			}
			return message(f, "part", func(b []byte) error { return d.tensor(b, t) })
		}
		return nil
	})
}

// outlineFunction reads a FunctionProto.
func (d *decoder) outlineFunction(b []byte) error {
	return eachField(b, func(f field) error {
		switch f.number {
		case 7: // node
			return d.nodeOf(f, &graphProto{})
		case 11: // attribute_proto
			return message(f, "attribute", func(b []byte) error { return d.outlineAttribute(b, &nodeProto{}) })
		}
		return nil
	})
}
