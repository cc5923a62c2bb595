package aspe

import (
	"encoding/binary"
	"fmt"
	"slices"

	"cpar/internal/wire"
	"cpar/kdforest"
	"cpar/model/vector"
	"cpar/user/internal/index"
)

// ledgerPart is the immutable part of the ledger for schemes cpar, ivf and capia.
type ledgerPart struct {
	order Order
	// trees is the number of trees, 0 without a forest.
	trees uint8
	lists uint32 // number of cells (groups of neighbouring records)
	// farthest is the largest Σz² (squared norm of the JL vector) of a record
	// or centroid. It bounds scores.
	farthest int64
	// split converts levels (quantised features) to the points that planes separate.
	split splitter
	// planes holds the distinct splits (dimension, value) in ascending order.
	// Their dimensions are the split fields SF.
	planes []kdforest.Plane[uint16]
	// centres holds the origin of planes and requests in each split field.
	centres []uint16
}

func (s *ledgerPart) appendBinary(b []byte) ([]byte, error) {
	le := binary.LittleEndian
	b = append(b, byte(s.order), s.trees)
	b = le.AppendUint32(b, s.lists)
	b = le.AppendUint64(b, uint64(s.farthest))
	b, err := s.split.appendBinary(b)
	if err != nil {
		return nil, err
	}
	b = le.AppendUint32(b, uint32(len(s.planes)))
	for _, p := range s.planes {
		b = le.AppendUint16(b, uint16(p.Dim))
		b = le.AppendUint16(b, p.Value)
	}
	return wire.AppendU16s(b, s.centres), nil
}

func readPart(r *wire.Reader) (*ledgerPart, error) {
	s := &ledgerPart{order: Order(r.U8("order scheme")), trees: r.U8("trees"), lists: r.U32("lists"), farthest: int64(r.U64("greatest norm"))}
	if !orders.Has(s.order) || s.farthest < 0 {
		r.Fail("order scheme %d, greatest norm %d", s.order, s.farthest)
	}
	var err error
	if s.split, err = readSplitter(r); err != nil {
		return nil, err
	}
	s.planes = make([]kdforest.Plane[uint16], r.Count(4, "planes"))
	for i := range s.planes {
		s.planes[i] = kdforest.Plane[uint16]{Dim: int(r.U16("plane dimension")), Value: r.U16("plane level")}
	}
	s.centres = r.U16s("centres")
	return s, r.Err()
}

func (s *ledgerPart) validate(x *index.Index) error {
	dims := x.Profile.Dimensions()
	if s.split.basis != nil && s.split.basis.In() != dims {
		return fmt.Errorf("a split space of %d levels, not %d", s.split.basis.In(), dims)
	}
	ascending := func(a, b kdforest.Plane[uint16]) bool { return a.Dim < b.Dim || a.Dim == b.Dim && a.Value < b.Value }
	points := s.split.dims(dims)
	for i, p := range s.planes {
		if p.Dim >= points || p.Value > vector.Beta || i > 0 && !ascending(s.planes[i-1], p) {
			return fmt.Errorf("plane %d", i)
		}
	}
	if fields := s.fields(); len(s.centres) != len(fields) {
		return fmt.Errorf("%d centres for %d split fields", len(s.centres), len(fields))
	}
	for _, level := range s.centres {
		if level > vector.Beta {
			return fmt.Errorf("level %d", level)
		}
	}
	return nil
}

// fields returns the split fields SF in ascending order.
func (s *ledgerPart) fields() (f []int) {
	for _, p := range s.planes {
		f = append(f, p.Dim)
	}
	return slices.Compact(f)
}
