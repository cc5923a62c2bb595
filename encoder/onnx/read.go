package onnx

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"cpar/internal/hint"
)

// The numbers in the switches below are field numbers in onnx.proto.

// These constants bound decoding in addition to Limits. Lists need bounds
// because an entry of two bytes in the file takes fifty bytes in memory.
const (
	maxText       = 1 << 20 // bytes of a name or of a metadata value
	maxNames      = 1 << 17 // names of inputs and outputs in the whole file
	maxTensors    = 1 << 16
	maxAttributes = 32 // per node
	maxList       = 64 // entries of an attribute
	maxRank       = 8
	maxInts       = 1 << 16 // entries of a list of integers in an outline (outline.go)
	maxMetadata   = 1000
	maxOpsets     = 1000
	maxDepth      = 16 // depth of nested graphs, such as the branches of If and the body of Loop
	maxDimension  = math.MaxInt32
)

type decoder struct {
	limits   Limits
	outline  bool // whether to decode an outline (outline.go)
	external func(name string) ([]byte, error)
	depth    int   // nesting depth of the current graph
	nodes    int   // number of nodes and functions so far
	names    int   // number of names so far
	tensors  int   // number of tensors so far
	bytes    int64 // bytes of weights so far
	// Field `all` holds every node of every graph if `outline` is set.
	all []*Node
	// Field `empty` holds the names of empty constants if `outline` is set.
	empty map[string]bool
}

// Read decodes a file. The result points into data. Function `external` returns
// the bytes of another file that the model names. If `external` is nil, a model
// that names other files is an error.
func Read(data []byte, limits Limits, external func(name string) ([]byte, error)) (*Model, error) {
	return (&decoder{limits: limits.OrDefault(), external: external}).read(data)
}

// ReadOutline decodes a file for ONNX Runtime, without weights and attributes.
// It refuses files with damage that is known to crash that runtime.
func ReadOutline(data []byte, limits Limits, external func(name string) ([]byte, error)) (*Model, error) {
	return (&decoder{limits: limits.OrDefault(), external: external, outline: true, empty: map[string]bool{}}).read(data)
}

func (d *decoder) read(data []byte) (*Model, error) {
	if int64(len(data)) > d.limits.FileBytes {
		return nil, fmt.Errorf("the file has more than the %d bytes accepted", d.limits.FileBytes)
	}
	m, err := d.model(data)
	if err == nil {
		err = d.checkEmpty()
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (d *decoder) model(data []byte) (*Model, error) {
	m := &Model{Metadata: map[string]string{}}
	err := eachField(data, func(f field) (err error) {
		switch f.number {
		case 1: // ir_version
			m.ir, err = f.integer()
			return err
		case 7: // graph
			if m.Graph != nil {
				return errors.New("it has two graphs")
			}
			m.Graph = &Graph{}
			return message(f, "graph", func(b []byte) error { return d.graph(b, m.Graph) })
		case 8: // opset_import
			if m.opsets++; m.opsets > maxOpsets {
				return fmt.Errorf("more than %d opsets", maxOpsets)
			}
			m.kept = append(m.kept, appendField(nil, f.number, f.bytes))
			return message(f, "opset", func(b []byte) error { return m.readOpset(b) })
		case 14: // metadata_props
			return message(f, "metadata", func(b []byte) error {
				key, value, err := textPair(b)
				if len(m.Metadata) >= maxMetadata {
					return fmt.Errorf("more than %d entries", maxMetadata)
				}
				m.Metadata[key] = value
				return err
			})
		case 25: // functions, counted as nodes
			if d.nodes++; d.nodes > d.limits.Nodes {
				return fmt.Errorf("more than the %d nodes and functions accepted", d.limits.Nodes)
			}
			m.kept = append(m.kept, appendField(nil, f.number, f.bytes))
			return message(f, "function", func(b []byte) error { return d.function(b, m) })
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if m.Graph == nil {
		return nil, errors.New("it holds no graph; is it an ONNX file?")
	}
	return m, nil
}

func (m *Model) readOpset(b []byte) error {
	var domain string
	var version int64
	err := eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			domain, err = f.text()
		case 2:
			version, err = f.integer()
		}
		return err
	})
	// Other domains (namespaces of operators) matter only if a node uses them.
	if domain == "" || domain == "ai.onnx" {
		m.Opset = version
	}
	return err
}

func (d *decoder) name(f field, to *[]string) error {
	if d.names++; d.names > maxNames {
		return fmt.Errorf("more than %d names", maxNames)
	}
	name, err := f.text()
	*to = append(*to, name)
	return err
}

func (d *decoder) function(b []byte, m *Model) error {
	fn, g := &Function{}, &Graph{}
	m.Functions = append(m.Functions, fn)
	err := eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			fn.Name, err = f.text()
		case 4:
			err = d.name(f, &fn.In)
		case 5:
			err = d.name(f, &fn.Out)
		case 6:
			err = d.name(f, &fn.Attributes)
		case 7:
			err = d.nodeOf(f, g)
		case 10:
			fn.Domain, err = f.text()
		case 11:
			err = d.attributeOf(f, &Node{}, &fn.Defaults)
		}
		return err
	})
	fn.Nodes = g.Nodes
	return err
}

func (d *decoder) graph(b []byte, g *Graph) error {
	if d.depth++; d.depth > maxDepth {
		return fmt.Errorf("graphs are nested more than %d deep", maxDepth)
	}
	defer func() { d.depth-- }()
	return eachField(b, func(f field) error {
		switch f.number {
		case 1:
			return d.nodeOf(f, g)
		case 5:
			t := &Tensor{}
			g.Constants = append(g.Constants, t)
			// Only constants of the outermost graph may lie in other files,
			// because Extract copies only these.
			external := d.external
			if d.depth > 1 {
				external = nil
			}
			return message(f, fmt.Sprintf("initializer %d", len(g.Constants)-1), func(b []byte) error { return d.tensor(b, t, external) })
		case 11, 12:
			list := &g.Inputs
			if f.number == 12 {
				list = &g.Outputs
			}
			if d.names++; d.names > maxNames {
				return fmt.Errorf("more than %d names", maxNames)
			}
			*list = append(*list, ValueInfo{})
			return message(f, "input or output", (&(*list)[len(*list)-1]).read)
		case 15:
			return errSparse
		}
		return nil
	})
}

func (d *decoder) nodeOf(f field, g *Graph) error {
	if d.nodes++; d.nodes > d.limits.Nodes {
		return fmt.Errorf("more than the %d nodes accepted", d.limits.Nodes)
	}
	n := &Node{body: f.bytes}
	g.Nodes = append(g.Nodes, n)
	if d.outline {
		d.all = append(d.all, n)
	}
	return message(f, fmt.Sprintf("node %d", len(g.Nodes)-1), func(b []byte) error { return d.node(b, n) })
}

func (d *decoder) node(b []byte, n *Node) error {
	return eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			err = d.name(f, &n.In)
		case 2:
			err = d.name(f, &n.Out)
		case 3:
			n.Name, err = f.text()
		case 4:
			n.Op, err = f.text()
		case 5:
			err = d.attributeOf(f, n, &n.Attributes)
		case 7:
			n.Domain, err = f.text()
		}
		return err
	})
}

func (f field) elements() (Type, error) {
	if f.bits > 1000 {
		return 0, fmt.Errorf("unknown element type %d", int64(f.bits))
	}
	return Type(f.bits), f.want(protowire.VarintType)
}

// tensor reads a TensorProto. `external` is nil if the tensor's data may not
// lie in another file.
func (d *decoder) tensor(b []byte, t *Tensor, external func(string) ([]byte, error)) error {
	if d.tensors++; d.tensors > maxTensors {
		return fmt.Errorf("more than %d tensors", maxTensors)
	}
	err := d.readTensor(b, t, external)
	if err == nil {
		if d.outline && t.empty() && t.Name != "" {
			d.empty[t.Name] = true
		}
		if d.bytes > d.limits.Memory {
			err = hint.Add(fmt.Errorf("the weights take more than the %d bytes accepted", d.limits.Memory), "if you trust the file, pass --limit-memory")
		}
	}
	if err != nil {
		return fmt.Errorf("tensor %.80q: %w", t.Name, err)
	}
	return nil
}

func (d *decoder) readTensor(b []byte, t *Tensor, external func(string) ([]byte, error)) error {
	t.body = b
	var dims []int64
	var at location
	var counts lists
	entries := 0
	err := eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			dims, err = f.repeatedInts(dims, maxRank)
		case 2:
			t.Type, err = f.elements()
		case 4, 5, 6, 7, 10, 11:
			err = counts.add(f)
		case 8:
			t.Name, err = f.text()
		case 9:
			t.raw, err = f.bytes, f.want(protowire.BytesType)
			t.isRaw = true
		case 3:
			err = errors.New("its data are in several segments; export the model again")
		case 13:
			if entries++; entries > maxEntries {
				return fmt.Errorf("more than %d entries about another file", maxEntries)
			}
			t.outside = true
			err = message(f, "place in another file", at.entry)
		case 14:
			if err = f.want(protowire.VarintType); f.bits != 0 {
				t.outside = true
			}
		}
		return err
	})
	if err == nil {
		err = t.setDims(dims, d.limits)
	}
	if err == nil && t.outside {
		t.raw, err = at.find(t.rawBytes(), external)
		t.isRaw = true
	}
	if err != nil {
		return err
	}
	return d.count(t, counts)
}

// count checks the length of a tensor's data and counts its bytes in memory, as
// float32 or int64 for plain Go. For an outline, the size in the file counts.
func (d *decoder) count(t *Tensor, counts lists) error {
	want, size := t.rawBytes(), int64(len(t.raw))
	switch {
	case want < 0 && !d.outline:
		return Unsupported("elements of type %s are not supported", t.Type)
	case t.isRaw && want >= 0 && size != want:
		return fmt.Errorf("%d bytes of data where its shape %v asks for %d", size, t.Dims, want)
	case !t.isRaw && !d.outline && counts[t.Type.list()] != t.Count():
		return fmt.Errorf("%d elements where its shape %v asks for %d", counts[t.Type.list()], t.Dims, t.Count())
	case !d.outline && t.Type.Floating():
		size = 4 * int64(t.Count())
	case !d.outline:
		size = 8 * int64(t.Count())
	case !t.isRaw:
		size = int64(len(t.body))
	}
	if d.outline && t.Type == Double { // count doubles as float32, as for plain Go
		size /= 2
	}
	d.bytes += size
	return nil
}

func (v *ValueInfo) read(b []byte) error {
	dimension := func(b []byte) error {
		if len(v.Dims) >= maxRank {
			return fmt.Errorf("%.80q has more than %d dimensions", v.Name, maxRank)
		}
		n := -1
		err := eachField(b, func(f field) error {
			if f.number != 1 {
				return nil
			}
			if f.bits > maxDimension {
				return fmt.Errorf("%.80q has a dimension of %d", v.Name, int64(f.bits))
			}
			n = int(f.bits)
			return f.want(protowire.VarintType)
		})
		v.Dims = append(v.Dims, n)
		return err
	}
	shape := func(b []byte) error {
		v.HasShape = true
		return messages(b, 1, "dimension", dimension)
	}
	tensor := func(b []byte) error {
		return eachField(b, func(f field) (err error) {
			switch f.number {
			case 1:
				v.Type, err = f.elements()
			case 2:
				err = message(f, "shape", shape)
			}
			return err
		})
	}
	return eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			v.Name, err = f.text()
		case 2:
			err = message(f, "type", func(b []byte) error { return messages(b, 1, "tensor type", tensor) })
		}
		return err
	})
}
