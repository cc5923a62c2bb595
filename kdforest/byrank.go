package kdforest

import "math"

// The order ByRank is Algorithm 1 with a heap for its Path: the node that is
// gone back to is the one whose plane is nearest, not the one met last. As
// there, a node's record is visited when the search comes back to it, for the
// record lies on the plane: it is as near as the far side begins.
//
// Nearness is counted in ranks. The number of planes that lie between is a
// quantile where records are dense, but a field that is split often has more
// planes a quantile than one that is split at few nodes. Divided by the square
// root of the field's planes, ranks found most (doc.go): a field is split often
// because it varies much, and then a quantile in it is worth more.

// descendByRank is descend, keeping the way in the heap.
func (w *walk) descendByRank(k uint32, s *searcher) {
	base := w.ranks
	for k != None {
		node := &w.nodes[k]
		near, far := s.sides(node)
		ranks := base
		if node.Plane != None {
			between, of := s.ranker.Gap(node.Plane)
			// Converted: the same sum on every machine.
			ranks += float64((float64(between) + 1) / math.Sqrt(float64(max(of, 1))))
		}
		w.push(step{node: k, far: far, ranks: ranks})
		k = near
	}
}

// before orders steps for going back: fewest ranks first and, with equal ranks,
// the node further down (it has the greater number), as BottomUp would.
func (a step) before(b step) bool {
	return a.ranks < b.ranks || a.ranks == b.ranks && a.node > b.node
}

func (w *walk) push(a step) {
	w.path = append(w.path, a)
	h := w.path
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !a.before(h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = a
}

func (w *walk) popNearest() step {
	nearest := w.path[0]
	last := w.pop()
	h := w.path
	if len(h) == 0 {
		return nearest
	}
	i := 0
	for child := 1; child < len(h); child = 2*i + 1 {
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return nearest
}
