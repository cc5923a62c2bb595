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

// descendByRank is descend, keeping the way in the heap. A leaf is returned and
// not kept: nothing in the heap is nearer than the cell just entered.
func (w *walk) descendByRank(k uint32, s *searcher) (leaf uint32) {
	base := w.ranks
	for k != None {
		node := &w.nodes[k]
		near, far, ranks := node.Left, node.Right, base
		if node.Plane != None {
			away := s.rankedAway(node.Plane)
			if away < 0 {
				near, far, away = far, near, -away
			}
			ranks += away
		} else if near == None && far == None {
			return k
		}
		w.bins.push(bin{step: step{node: k, far: far}, away: ranks})
		k = near
	}
	return None
}

// rankedAway is how far the request is from a plane, in ranks over the root of
// the field's planes; negative if the request lies beyond it, on its right. A
// plane is shared by many nodes and is asked about once.
func (s *searcher) rankedAway(plane uint32) float64 {
	away := s.away[plane]
	if away == 0 {
		between, of := s.ranker.Gap(plane)
		away = (float64(between) + 1) / math.Sqrt(float64(max(of, 1)))
		s.stats.PlanesAsked++
		if !s.space.Left(plane) {
			away = -away
		}
		s.away[plane] = away
	}
	return away
}
