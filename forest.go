package cpar

import (
	"encoding/binary"
	"fmt"

	"cpar/internal/wire"
	"cpar/kdforest"
)

// A Plane is the part of a splitting plane that the cloud sees in addition to its
// encrypted row: which split field it cuts, and the order ciphertext of the split value.
// Field is an index into the |SF| split fields, not a dimension of the vector.
type Plane struct {
	Field uint16
	Order OrderCiphertext
}

func (p Plane) before(o Plane) bool {
	return p.Field < o.Field || p.Field == o.Field && p.Order < o.Order
}

// A Forest is an encrypted forest without its vectors: the shapes of the trees, the
// record at each node, and the planes that nodes share.
type Forest struct {
	kdforest.Forest
	// Cuts has Forest.Planes elements, ascending by (Field, Order).
	Cuts []Plane
}

// AppendBinary appends the encoding of f: field and order ciphertext of every plane
// (orderBytes each), then the nodes of every tree, 16 bytes each: record, plane, left,
// right.
func (f *Forest) AppendBinary(b []byte, orderBytes uint8) ([]byte, error) {
	for i, c := range f.Cuts {
		if orderBytes == 2 && c.Order > 1<<16-1 {
			return nil, fmt.Errorf("writing forest: order ciphertext of plane %d does not fit in 2 bytes", i)
		}
		b = binary.LittleEndian.AppendUint16(b, c.Field)
		b = appendOrder(b, c.Order, orderBytes)
	}
	for _, t := range f.Trees {
		for _, n := range t {
			for _, v := range [4]uint32{n.Record, n.Plane, n.Left, n.Right} {
				b = binary.LittleEndian.AppendUint32(b, v)
			}
		}
	}
	return b, nil
}

// DecodeForest reads the forest segment of an index. It checks that every tree is a valid
// tree over all records, so a search can trust it. Errors wrap ErrCorrupt.
func DecodeForest(m *Manifest, b []byte) (*Forest, error) {
	r := wire.NewReader(b, ErrCorrupt)
	want := m.forestBytes()
	if uint64(len(b)) != want {
		return nil, fmt.Errorf("reading forest: %w: %d bytes for %d planes and %d trees of %d nodes, want %d", ErrCorrupt, len(b), m.Planes, m.Trees, m.treeNodes(), want)
	}
	f := &Forest{Forest: kdforest.Forest{Records: m.Records, Planes: m.Planes}}
	f.Cuts = make([]Plane, m.Planes)
	for i := range f.Cuts {
		f.Cuts[i] = Plane{Field: r.U16("field"), Order: readOrder(r, m.OrderBytes)}
		if uint32(f.Cuts[i].Field) >= m.Fields {
			return nil, fmt.Errorf("reading forest: %w: plane %d cuts field %d of %d", ErrCorrupt, i, f.Cuts[i].Field, m.Fields)
		}
		if i > 0 && !f.Cuts[i-1].before(f.Cuts[i]) {
			return nil, fmt.Errorf("reading forest: %w: plane %d is out of order", ErrCorrupt, i)
		}
	}
	f.Trees = make([]kdforest.Tree, m.Trees)
	for t := range f.Trees {
		nodes := make(kdforest.Tree, m.treeNodes())
		for i := range nodes {
			b := r.Bytes(nodeSize, "node")
			le := binary.LittleEndian
			nodes[i] = kdforest.Node{Record: le.Uint32(b), Plane: le.Uint32(b[4:]), Left: le.Uint32(b[8:]), Right: le.Uint32(b[12:])}
		}
		f.Trees[t] = nodes
	}
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("reading forest: %w", err)
	}
	validate := f.Validate
	if m.Place == PlaceLeaf {
		validate = f.ValidateLeaves
	}
	if err := validate(); err != nil {
		return nil, fmt.Errorf("reading forest: %w: %w", ErrCorrupt, err)
	}
	return f, nil
}
