package kdforest

// The order BestBin is the search of FLANN's randomized trees (Muja and Lowe,
// "Fast approximate nearest neighbors with automatic algorithm configuration";
// Silpa-Anan and Hartley): every tree is descended once; from then on the
// nearest bin of all trees is entered and descended. A bin is as far as the
// planes crossed to get there, added up, the same dimension twice if it was
// crossed twice, as FLANN adds them (KDTreeIndex::searchLevel).
//
// FLANN's bound on checks is Options.Visits: it too counts distinct records, and
// a record met in a second tree costs nothing there either.
//
// Prune ends the search at the first bin beyond Metric.Reach of the worst hit,
// since no later bin is nearer. FLANN always does so. Because planes of one
// dimension add up, the bound may be too great and a true neighbour be missed.
// FLANN looks at the worst hit anew after every record, a search here after
// every batch, so here it ends up to a batch later.
//
// In a forest with a record at every node, a node's record is as far as its
// plane, on which it lies.

// startBestBin puts the roots ahead.
func (s *searcher) startBestBin() {
	s.bins, s.ahead, s.fresh = s.bins[:0], bin{step: step{far: None}}, 0
}

// collectBestBin gathers the next round: as many records as there are trees,
// at most room of them.
func (s *searcher) collectBestBin(room int) {
	s.records, s.trees = s.records[:0], s.trees[:0]
	for len(s.records) < min(room, len(s.walks)) {
		switch {
		case s.outOfReach(s.ahead.away):
			s.stats.PlanesPruned += 1 + len(s.bins)
			s.bins, s.ahead.far = s.bins[:0], None
			return
		case s.ahead.far != None:
			k := s.ahead.far
			s.ahead.far = None
			s.descendBestBin(s.ahead.tree, k, s.ahead.away)
		case s.fresh < len(s.walks):
			s.ahead = bin{step: step{far: s.walks[s.fresh].ahead}, tree: uint32(s.fresh)}
			s.fresh++
		case len(s.bins) > 0:
			s.ahead = s.bins.pop()
			if !s.outOfReach(s.ahead.away) {
				s.visit(s.ahead.tree, s.walks[s.ahead.tree].nodes[s.ahead.node].Record)
			}
		default:
			return
		}
	}
}

// descendBestBin goes down to the cell of the request below node k, which is
// away from the request, leaves the bins of the other sides in the heap, and
// visits the leaf: nothing is nearer than its cell.
func (s *searcher) descendBestBin(tree, k uint32, away float64) {
	nodes := s.walks[tree].nodes
	for {
		node := &nodes[k]
		near, far := s.sides(node)
		if near == None && far == None {
			s.visit(tree, node.Record)
			return
		}
		there := away
		if node.Plane != None {
			there += s.metric.Distance(node.Plane)
		}
		// What is out of reach now will never be in reach again: the worst hit
		// only gets nearer.
		if s.outOfReach(there) {
			s.stats.PlanesPruned++
		} else {
			s.bins.push(bin{step: step{node: k, far: far}, tree: tree, away: there})
		}
		if near == None {
			return
		}
		k = near
	}
}

// visit adds a record to the round, unless there is none or a tree had it.
func (s *searcher) visit(tree, record uint32) {
	if record != None && !s.visited.add(record) {
		s.records = append(s.records, record)
		s.trees = append(s.trees, int(tree))
	}
}

// outOfReach reports whether a bin so far away cannot hold a hit. Before the
// queue is full anything may still be among the L nearest.
func (s *searcher) outOfReach(away float64) bool {
	return s.prune && s.queue.Full() && away > s.metric.Reach(s.queue.Worst())
}
