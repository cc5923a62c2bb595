package network

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The messages of onnx.proto (github.com/onnx/onnx, onnx/onnx.proto), as far as inference
// needs them. The numbers in the switches are its field numbers.

// What a file may contain, in addition to Limits. Lists are bounded because an entry of
// two bytes in the file takes fifty in memory.
const (
	maxText       = 1 << 20 // bytes of a name or of a metadata value
	maxNames      = 1 << 17 // inputs and outputs of all nodes together
	maxTensors    = 1 << 16
	maxAttributes = 32 // per node
	maxList       = 64 // entries of an attribute
	maxRank       = 8
	maxInts       = 1 << 16 // per tensor: they serve only as shapes, and a byte of the file takes eight in memory
	maxMetadata   = 1000
)

type modelProto struct {
	opset    int64
	graph    *graphProto
	metadata map[string]string
}

type graphProto struct {
	nodes           []*nodeProto
	constants       []*tensorProto
	inputs, outputs []valueInfo
}

type nodeProto struct {
	name, op, domain string
	in, out          []string
	attributes       []*attributeProto
	hasGraph, empty  bool // only in an outline: an attribute is a graph or an empty tensor
}

// label returns the name of a node for errors.
func (n *nodeProto) label() string {
	name := n.name
	if name == "" && len(n.out) > 0 {
		name = n.out[0]
	}
	op := n.op
	if n.domain != "" && n.domain != "ai.onnx" {
		op = n.domain + "." + op
	}
	return fmt.Sprintf("node %.80q (%.80s)", name, op)
}

type attributeProto struct {
	name   string
	kind   int64 // AttributeProto.AttributeType; 0 if the file leaves it out
	f      float32
	i      int64
	s      string
	tensor *tensorProto
	floats []float32
	ints   []int64
	other  bool // graphs, lists of strings and the like
}

// A tensorProto holds floats or integers, whatever their width in the file.
type tensorProto struct {
	name   string
	dims   []int
	floats []float32
	ints   []int64
	isInt  bool
	empty  bool // only in an outline
}

// A valueInfo is a file's description of a graph's input or output; an open dimension is -1.
type valueInfo struct {
	name     string
	elem     int64
	dims     []int
	hasShape bool
}

// A decoder counts the resources that a file requests.
type decoder struct {
	limits  Limits
	outline bool // see outline.go
	depth   int  // nesting depth of graphs
	nodes   int
	names   int
	tensors int
	bytes   int64 // bytes of weights
	// Only in an outline: every node of every graph, and the empty initializers.
	all   []*nodeProto
	empty map[string]bool
}

func (d *decoder) model(data []byte) (*modelProto, error) {
	m := &modelProto{metadata: map[string]string{}}
	err := eachField(data, func(f field) error {
		switch f.number {
		case 7: // graph
			if m.graph != nil {
				return errors.New("it has two graphs")
			}
			m.graph = &graphProto{}
			return message(f, "graph", func(b []byte) error { return d.graph(b, m.graph) })
		case 8: // opset_import
			return message(f, "opset", func(b []byte) error { return m.readOpset(b) })
		case 14: // metadata_props
			return message(f, "metadata", func(b []byte) error { return m.readMetadata(b) })
		case 25: // functions
			if d.outline {
				return message(f, "function", d.outlineFunction)
			}
			return unsupported("it defines functions of its own, which are not supported; export it without them")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if m.graph == nil {
		return nil, errors.New("it holds no graph; is it an ONNX file?")
	}
	return m, nil
}

// message opens a nested message and adds its name to errors.
func message(f field, what string, read func([]byte) error) error {
	err := f.want(wireBytes)
	if err == nil {
		err = read(f.bytes)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (m *modelProto) readOpset(b []byte) error {
	var domain string
	var version int64
	err := eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			domain, err = f.text()
		case 2:
			version, err = int64(f.bits), f.want(wireVarint)
		}
		return err
	})
	// Other domains are harmless unless a node uses one.
	if domain == "" || domain == "ai.onnx" {
		m.opset = version
	}
	return err
}

func (m *modelProto) readMetadata(b []byte) error {
	var key, value string
	err := eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			key, err = f.text()
		case 2:
			value, err = f.text()
		}
		return err
	})
	if len(m.metadata) >= maxMetadata {
		return fmt.Errorf("more than %d entries", maxMetadata)
	}
	m.metadata[key] = value
	return err
}

func (d *decoder) graph(b []byte, g *graphProto) error {
	if d.depth++; d.depth > maxDepth {
		return fmt.Errorf("graphs within graphs, more than %d deep", maxDepth)
	}
	defer func() { d.depth-- }()
	return eachField(b, func(f field) error {
		switch f.number {
		case 1:
			return d.nodeOf(f, g)
		case 5:
			t := &tensorProto{}
			g.constants = append(g.constants, t)
			return message(f, fmt.Sprintf("initializer %d", len(g.constants)-1), func(b []byte) error { return d.tensor(b, t) })
		case 11, 12:
			list := &g.inputs
			if f.number == 12 {
				list = &g.outputs
			}
			if d.names++; d.names > maxNames {
				return fmt.Errorf("more than %d names", maxNames)
			}
			*list = append(*list, valueInfo{})
			return message(f, "input or output", (&(*list)[len(*list)-1]).read)
		case 15:
			if d.outline {
				return message(f, "sparse initializer", func(b []byte) error { return d.outlineSparse(b, g) })
			}
			return unsupported("sparse initializers are not supported")
		}
		return nil
	})
}

// nodeOf appends a node to those of g.
func (d *decoder) nodeOf(f field, g *graphProto) error {
	if d.nodes++; d.nodes > d.limits.Nodes {
		return fmt.Errorf("more than the %d nodes accepted", d.limits.Nodes)
	}
	n := &nodeProto{}
	g.nodes = append(g.nodes, n)
	if d.outline {
		d.all = append(d.all, n)
	}
	return message(f, fmt.Sprintf("node %d", len(g.nodes)-1), func(b []byte) error { return d.node(b, n) })
}

func (d *decoder) node(b []byte, n *nodeProto) error {
	return eachField(b, func(f field) (err error) {
		switch f.number {
		case 1, 2:
			if d.names++; d.names > maxNames {
				return fmt.Errorf("more than %d names", maxNames)
			}
			name, err := f.text()
			if f.number == 1 {
				n.in = append(n.in, name)
			} else {
				n.out = append(n.out, name)
			}
			return err
		case 3:
			n.name, err = f.text()
		case 4:
			n.op, err = f.text()
		case 5:
			if d.outline {
				return message(f, "attribute", func(b []byte) error { return d.outlineAttribute(b, n) })
			}
			if len(n.attributes) >= maxAttributes {
				return fmt.Errorf("more than %d attributes", maxAttributes)
			}
			a := &attributeProto{}
			n.attributes = append(n.attributes, a)
			return message(f, "attribute", func(b []byte) error { return d.attribute(b, a) })
		case 7:
			n.domain, err = f.text()
		}
		return err
	})
}

func (d *decoder) attribute(b []byte, a *attributeProto) error {
	return eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			a.name, err = f.text()
		case 2:
			a.f, err = math.Float32frombits(uint32(f.bits)), f.want(wireFixed32)
		case 3:
			a.i, err = int64(f.bits), f.want(wireVarint)
		case 4:
			a.s, err = f.text()
		case 5:
			a.tensor = &tensorProto{}
			err = message(f, "tensor", func(b []byte) error { return d.tensor(b, a.tensor) })
		case 7:
			a.floats, err = f.repeatedFloats(a.floats, maxList)
		case 8:
			a.ints, err = f.repeatedInts(a.ints, maxList)
		case 20:
			a.kind, err = int64(f.bits), f.want(wireVarint)
		case 6, 9, 10, 11, 14, 15, 21, 22, 23:
			a.other = true
		}
		return err
	})
}

// The element types of TensorProto that are supported.
const (
	elemFloat   = 1
	elemInt32   = 6
	elemInt64   = 7
	elemFloat16 = 10
	elemDouble  = 11
)

func (d *decoder) tensor(b []byte, t *tensorProto) error {
	if d.tensors++; d.tensors > maxTensors {
		return fmt.Errorf("more than %d tensors", maxTensors)
	}
	if d.outline {
		if err := d.outlineTensor(b, t); err != nil {
			return fmt.Errorf("tensor %.80q: %w", t.name, err)
		}
		if t.empty && t.name != "" {
			d.empty[t.name] = true
		}
		return nil
	}
	var dims []int64
	var elem int64
	var raw []byte
	var hasRaw bool
	err := eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			dims, err = f.repeatedInts(dims, maxRank)
		case 2:
			elem, err = int64(f.bits), f.want(wireVarint)
		case 4:
			t.floats, err = f.repeatedFloats(t.floats, d.limits.Elements)
		case 5, 7:
			t.ints, err = f.repeatedInts(t.ints, maxInts)
		case 8:
			t.name, err = f.text()
		case 9:
			raw, hasRaw, err = f.bytes, true, f.want(wireBytes)
		case 3, 13:
			err = errOtherFile
		case 14:
			if f.bits != 0 {
				err = errOtherFile
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("tensor %.80q: %w", t.name, err)
	}
	if err := t.finish(dims, elem, raw, hasRaw, d.limits); err != nil {
		return fmt.Errorf("tensor %.80q: %w", t.name, err)
	}
	d.bytes += 4*int64(len(t.floats)) + 8*int64(len(t.ints))
	return d.checkBytes()
}

func (d *decoder) checkBytes() error {
	if d.bytes > d.limits.Memory {
		return fmt.Errorf("the weights take more than the %d bytes accepted", d.limits.Memory)
	}
	return nil
}

// finish converts the data into floats or ints and checks them against the shape.
func (t *tensorProto) finish(dims []int64, elem int64, raw []byte, hasRaw bool, limits Limits) error {
	for _, n := range dims {
		if n < 0 || n > int64(limits.Elements) {
			return fmt.Errorf("a dimension of %d", n)
		}
		t.dims = append(t.dims, int(n))
	}
	want, err := volume(t.dims, limits.Elements)
	if err != nil {
		return err
	}
	width := map[int64]int{elemFloat: 4, elemInt32: 4, elemInt64: 8, elemFloat16: 2, elemDouble: 8}[elem]
	if width == 0 {
		return unsupported("elements of type %d are not supported (float, double, float16, int32 and int64 are)", elem)
	}
	t.isInt = elem == elemInt32 || elem == elemInt64
	if t.isInt && want > maxInts {
		return fmt.Errorf("%d integers, more than the %d accepted", want, maxInts)
	}
	if hasRaw {
		if len(raw) != want*width {
			return fmt.Errorf("%d bytes of data where its shape %v asks for %d", len(raw), t.dims, want*width)
		}
		t.readRaw(raw, elem, want)
		return nil
	}
	if elem == elemFloat16 || elem == elemDouble {
		return unsupported("its data are in a form that is not supported; save it with raw data")
	}
	have := len(t.floats)
	if t.isInt {
		have = len(t.ints)
	}
	if have != want {
		return fmt.Errorf("%d elements where its shape %v asks for %d", have, t.dims, want)
	}
	return nil
}

func (t *tensorProto) readRaw(raw []byte, elem int64, n int) {
	t.floats, t.ints = nil, nil
	if t.isInt {
		t.ints = make([]int64, n)
	} else {
		t.floats = make([]float32, n)
	}
	le := binary.LittleEndian
	for i := range n {
		switch elem {
		case elemFloat:
			t.floats[i] = math.Float32frombits(le.Uint32(raw[4*i:]))
		case elemFloat16:
			t.floats[i] = halfFloat(le.Uint16(raw[2*i:]))
		case elemDouble:
			t.floats[i] = float32(math.Float64frombits(le.Uint64(raw[8*i:])))
		case elemInt32:
			t.ints[i] = int64(int32(le.Uint32(raw[4*i:])))
		case elemInt64:
			t.ints[i] = int64(le.Uint64(raw[8*i:]))
		}
	}
}

// halfFloat widens an IEEE 754 binary16; float32 represents each exactly.
func halfFloat(h uint16) float32 {
	sign := float32(1)
	if h&0x8000 != 0 {
		sign = -1
	}
	exponent, fraction := int(h>>10&31), float64(h&1023)
	switch exponent {
	case 0:
		return sign * float32(math.Ldexp(fraction, -24))
	case 31:
		if fraction != 0 {
			return float32(math.NaN())
		}
		return sign * float32(math.Inf(1))
	}
	return sign * float32(math.Ldexp(1024+fraction, exponent-25))
}

func (v *valueInfo) read(b []byte) error {
	dimension := func(b []byte) error {
		if len(v.dims) >= maxRank {
			return fmt.Errorf("%.80q has more than %d dimensions", v.name, maxRank)
		}
		n := -1
		err := eachField(b, func(f field) error {
			if f.number != 1 {
				return nil
			}
			if f.bits > math.MaxInt32 {
				return fmt.Errorf("%.80q has a dimension of %d", v.name, int64(f.bits))
			}
			n = int(f.bits)
			return f.want(wireVarint)
		})
		v.dims = append(v.dims, n)
		return err
	}
	shape := func(b []byte) error {
		v.hasShape = true
		return eachField(b, func(f field) error {
			if f.number != 1 {
				return nil
			}
			return message(f, "dimension", dimension)
		})
	}
	tensor := func(b []byte) error {
		return eachField(b, func(f field) error {
			switch f.number {
			case 1:
				v.elem = int64(f.bits)
				return f.want(wireVarint)
			case 2:
				return message(f, "shape", shape)
			}
			return nil
		})
	}
	return eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			v.name, err = f.text()
		case 2:
			err = message(f, "type", func(b []byte) error {
				return eachField(b, func(f field) error {
					if f.number != 1 {
						return nil
					}
					return message(f, "tensor type", tensor)
				})
			})
		}
		return err
	})
}
