package kdforest

import "math"

// The order ByRank is Algorithm 1 with a heap for its Path: the node that is
// gone back to is the one whose plane is nearest, not the one met last. As
// there, a node's record is visited when the search comes back to it, for the
// record lies on the plane: it is as near as the far side begins. A leaf is as
// near as its cell, so the search turns to it at once.
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
		w.bins.push(bin{step: step{node: k, far: far}, away: ranks})
		k = near
	}
}
