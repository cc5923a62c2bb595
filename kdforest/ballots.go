package kdforest

// Ballots hold the trees of a forest in the form that a search by rank reads: half the
// memory per record, in half as many pieces. Make them once per forest. They are safe for
// concurrent use.
type Ballots struct {
	records, planes uint32
	trees           [][]branch
}

// A branch is a node with children. Its leaves are folded into it.
type branch struct {
	record uint32 // the node's record, or None
	plane  uint32 // the node's plane, or None
	// left and right are each a branch of the tree, or leaf | (record + 1) for a leaf, or
	// leaf alone if there is no child.
	left, right uint32
}

const leaf = 1 << 31

// NewBallots converts a forest, which must be valid (Build, Validate). The numbers of
// records and of nodes with children must be below 2³¹.
func NewBallots(f *Forest) *Ballots {
	b := &Ballots{records: f.Records, planes: f.Planes, trees: make([][]branch, len(f.Trees))}
	var place []uint32 // of each node's branch
	for t, tree := range f.Trees {
		place = append(place[:0], make([]uint32, len(tree))...)
		n := uint32(0)
		for k, node := range tree {
			if place[k] = n; !node.isLeaf() {
				n++
			}
		}
		child := func(k uint32) uint32 {
			switch {
			case k == None:
				return leaf
			case tree[k].isLeaf():
				return leaf | (tree[k].Record + 1)
			}
			return place[k]
		}
		b.trees[t] = make([]branch, 0, n)
		for _, node := range tree {
			if !node.isLeaf() {
				b.trees[t] = append(b.trees[t], branch{node.Record, node.Plane, child(node.Left), child(node.Right)})
			}
		}
	}
	return b
}

func (n *Node) isLeaf() bool { return n.Left == None && n.Right == None }
