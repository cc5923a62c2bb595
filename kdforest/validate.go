package kdforest

import "fmt"

// Validate checks that an untrusted forest is safe for Search. Every tree must
// hold every record exactly once. Every node but the root must be the child of
// exactly one earlier node. All numbers must be within range. Trees may have
// any depth. Validate refuses forests built with PlaceLeaf (see
// ValidateLeaves). It accepts records on the wrong side of a plane, because
// they only make Search find wrong records.
func (f *Forest) Validate() error { return f.validate(PlaceNode) }

// ValidateLeaves checks an untrusted forest built with PlaceLeaf. Every record
// must be in exactly one leaf of every tree. Every other node must have two
// children and no record.
func (f *Forest) ValidateLeaves() error { return f.validate(PlaceLeaf) }

func (f *Forest) validate(place Place) error {
	if f.Records == None {
		return fmt.Errorf("%w: %d records, which is too many", ErrCorrupt, f.Records)
	}
	if len(f.Trees) == 0 {
		return fmt.Errorf("%w: no trees", ErrCorrupt)
	}
	// Check the number of nodes first, so that a forged number of records
	// cannot cause a large allocation.
	nodes := uint64(f.Records)
	if place == PlaceLeaf && nodes > 0 {
		nodes = 2*nodes - 1
	}
	if nodes >= uint64(None) {
		return fmt.Errorf("%w: %d records, which is too many", ErrCorrupt, f.Records)
	}
	for t, tree := range f.Trees {
		if uint64(len(tree)) != nodes {
			return fmt.Errorf("%w: tree %d has %d nodes for %d records", ErrCorrupt, t, len(tree), f.Records)
		}
	}
	var records, children bitset
	for t, tree := range f.Trees {
		records.reset(int(f.Records))
		children.reset(len(tree))
		if err := tree.validate(place, f, &records, &children); err != nil {
			return fmt.Errorf("%w: tree %d: %w", ErrCorrupt, t, err)
		}
	}
	return nil
}

func (t Tree) validate(place Place, f *Forest, records, children *bitset) error {
	n := uint32(len(t))
	links := 0
	for i, node := range t {
		inner := place == PlaceLeaf && (node.Left != None || node.Right != None)
		switch {
		case inner && node.Record != None:
			return fmt.Errorf("node %d: record %d is not in a leaf", i, node.Record)
		case inner && (node.Left == None || node.Right == None):
			return fmt.Errorf("node %d: one child only", i)
		case inner:
		case node.Record >= f.Records:
			return fmt.Errorf("node %d: no record %d", i, node.Record)
		case records.add(node.Record):
			return fmt.Errorf("node %d: record %d occurs twice", i, node.Record)
		}
		switch {
		case node.Plane != None && node.Plane >= f.Planes:
			return fmt.Errorf("node %d: no plane %d", i, node.Plane)
		case node.Plane != None && node.Left == None && node.Right == None:
			return fmt.Errorf("node %d: a leaf with plane %d", i, node.Plane)
		}
		for _, child := range [2]uint32{node.Left, node.Right} {
			switch {
			case child == None:
				continue
			case child <= uint32(i) || child >= n:
				return fmt.Errorf("node %d: child %d out of order", i, child)
			case children.add(child):
				return fmt.Errorf("node %d: child %d has a parent already", i, child)
			}
			links++
		}
	}
	if n > 0 && links != len(t)-1 {
		return fmt.Errorf("%d of %d nodes cannot be reached", len(t)-1-links, n)
	}
	return nil
}

// bitset is a set of small numbers. Clearing a bitset writes n/64 words, which
// takes less time than scoring one record.
type bitset []uint64

func (b *bitset) reset(n int) {
	words := (n + 63) / 64
	if cap(*b) < words {
		*b = make(bitset, words)
		return
	}
	*b = (*b)[:words]
	clear(*b)
}

func (b bitset) add(i uint32) bool {
	word, bit := &b[i/64], uint64(1)<<(i%64)
	was := *word&bit != 0
	*word |= bit
	return was
}
