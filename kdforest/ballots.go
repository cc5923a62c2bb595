package kdforest

// Ballots are the trees of a forest as a search by rank reads them: half as much
// memory for each record, in half as many pieces. They are made once for a forest and
// may be searched by many goroutines at once.
type Ballots struct {
	records, planes uint32
	trees           [][]branch
}

// A branch is a node with children. Leaves are folded into it.
type branch struct {
	record uint32 // its own, or None
	plane  uint32 // or None
	// left and right are other branches of the tree, or leaf and 1 + the record
	// there, or leaf alone where there is no child.
	left, right uint32
}

const leaf = 1 << 31

// NewBallots makes the ballots of a forest, which must be valid (Build, Validate).
// Records and nodes with children are fewer than 2³¹.
func NewBallots(f *Forest) *Ballots {
	b := &Ballots{records: f.Records, planes: f.Planes, trees: make([][]branch, len(f.Trees))}
	var place []uint32 // of a node's branch
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
