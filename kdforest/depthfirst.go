package kdforest

// walk is the state of the depth-first search of one tree. Unlike in the
// paper's recursive Algorithm 1, the stack is explicit, because the trees take
// turns and a hostile tree may be very deep. These corrections make the printed
// algorithm work:
//
//	printed                               here
//	return when Node_k is not null        return when it is
//	a node enters Path after its child's  it enters before; otherwise Path would
//	search, when Node_k is the leaf       hold the leaf once per level
//	no stop at the root                   an empty Path ends the walk
//	a sibling's subtree ends it           Path goes on where it was left
//	prune against an unfilled Queue       prune when Queue holds L hits
//	Vis holds nodes                       Vis holds records, over all trees
//	visited: turn back                    visited: not scored again, but searched below
type walk struct {
	nodes Tree
	path  []step // Path of Algorithm 1: the nodes to return to, beginning with the root
	ahead uint32 // the subtree to enter next, or None
	plane uint32 // the plane crossed on entering that subtree, or None
}

type step struct {
	node uint32
	far  uint32
}

func (w *walk) start(tree Tree) {
	w.nodes = tree
	w.path = w.path[:0]
	w.ahead, w.plane = None, None
	if len(tree) > 0 {
		w.ahead = 0
	}
}

// next returns the tree's next record that no tree has visited, and marks it as
// visited. The result ok is false at the end of the walk.
func (w *walk) next(s *searcher) (record uint32, ok bool) {
	for {
		// Algorithm 1, the sibling. Pruning happens only here, because only now
		// is the node's own score in the queue.
		if ahead := w.ahead; ahead != None {
			w.ahead = None
			if !s.prunes(w.plane) {
				w.descend(ahead, s)
			}
		}
		// Algorithm 1, backtracking. An empty path means that the root has been
		// visited.
		if len(w.path) == 0 {
			return 0, false
		}
		last := w.pop()
		node := &w.nodes[last.node]
		w.ahead, w.plane = last.far, node.Plane
		// Algorithm 1, Vis: a record visited in another tree is not scored
		// again. Unlike in the paper, the far side of this node is still
		// entered.
		if node.Record != None && !s.visited.add(node.Record) {
			return node.Record, true
		}
	}
}

func (w *walk) descend(k uint32, s *searcher) {
	// Algorithm 1: return when Node_k is null.
	for k != None {
		near, far := s.sides(&w.nodes[k])
		w.path = append(w.path, step{node: k, far: far})
		k = near
	}
}

func (w *walk) pop() step {
	last := w.path[len(w.path)-1]
	w.path = w.path[:len(w.path)-1]
	return last
}

func (s *searcher) sides(node *Node) (near, far uint32) {
	p := node.Plane + 1 // 0 in a leaf, or in a node whose records are all equal
	s.stats.PlanesCompared += int(min(p, 1))
	swap := (node.Left ^ node.Right) & -uint32(s.right[p/64]>>(p%64)&1)
	return node.Left ^ swap, node.Right ^ swap
}

func (s *searcher) prunes(plane uint32) bool {
	if !s.prune || plane == None || !s.queue.Full() {
		return false
	}
	if !s.space.Beyond(plane, s.queue.Worst()) {
		return false
	}
	s.stats.PlanesPruned++
	return true
}
