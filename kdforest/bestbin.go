package kdforest

// The order BestBin is the search of FLANN's randomized trees (Muja and Lowe,
// "Fast approximate nearest neighbors with automatic algorithm configuration").
// It descends every tree once, and then always enters the nearest bin. Bins are
// the subtrees that earlier descents passed by. The distance of a bin is the
// sum of the request's distances from the planes crossed to reach it. As in
// FLANN, two crossed planes of one dimension both count. Options.Visits
// corresponds to FLANN's bound on checks.
//
// Pruning, which FLANN always does, ends the search at the first bin whose
// distance exceeds Metric.Reach of the worst hit. It may miss a true neighbour,
// because distances from several planes of one dimension add up. FLANN checks
// this bound after every record. This search does so after every batch.

func (s *searcher) startBestBin() {
	s.bins, s.ahead, s.fresh = s.bins[:0], bin{step: step{far: None}}, 0
}

func (s *searcher) collectBestBin(room int) {
	s.records, s.trees = s.records[:0], s.trees[:0]
	for len(s.records) < min(room, len(s.walks)) {
		switch {
		case s.outOfReach(s.ahead.distance):
			s.stats.PlanesPruned += 1 + len(s.bins)
			s.bins, s.ahead.far = s.bins[:0], None
			return
		case s.ahead.far != None:
			k := s.ahead.far
			s.ahead.far = None
			s.descendBestBin(s.ahead.tree, k, s.ahead.distance)
		case s.fresh < len(s.walks):
			s.ahead = bin{step: step{far: s.walks[s.fresh].ahead}, tree: uint32(s.fresh)}
			s.fresh++
		case len(s.bins) > 0:
			s.ahead = s.bins.pop()
			if !s.outOfReach(s.ahead.distance) {
				s.visit(s.ahead.tree, s.walks[s.ahead.tree].nodes[s.ahead.node].Record)
			}
		default:
			return
		}
	}
}

// descendBestBin descends from node k, whose bin has distance `away`, to a leaf
// and visits its record. It pushes the bins on the far sides of the planes.
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
		// A bin out of reach can be dropped, because the worst hit only
		// improves.
		if s.outOfReach(there) {
			s.stats.PlanesPruned++
		} else {
			s.bins.push(bin{step: step{node: k, far: far}, tree: tree, distance: there})
		}
		if near == None {
			return
		}
		k = near
	}
}

func (s *searcher) visit(tree, record uint32) {
	if record != None && !s.visited.add(record) {
		s.records = append(s.records, record)
		s.trees = append(s.trees, int(tree))
	}
}

func (s *searcher) outOfReach(away float64) bool {
	return s.prune && s.queue.Full() && away > s.metric.Reach(s.queue.Worst())
}

type bin struct {
	step
	tree uint32
	// distance is the sum of the distances from the planes crossed to reach the
	// far child.
	distance float64
}

// before orders bins by distance, then by tree, then by depth. Deeper nodes
// have larger numbers and come first, as in DepthFirst.
func (a bin) before(b bin) bool {
	switch {
	case a.distance != b.distance:
		return a.distance < b.distance
	case a.tree != b.tree:
		return a.tree < b.tree
	}
	return a.node > b.node
}

type bins []bin

func (b *bins) push(a bin) {
	*b = append(*b, a)
	h := *b
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

func (b *bins) pop() bin {
	h := *b
	nearest, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*b = h
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
