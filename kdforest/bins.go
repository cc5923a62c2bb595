package kdforest

// A bin is a step of a search that returns to the nearest step and not to the last.
type bin struct {
	step
	tree uint32
	// distance is the distance of the far child: the sum over the planes crossed to get there.
	distance float64
}

// before orders bins: nearest first; at equal distances the first tree, and within a tree
// the deeper node (it has the greater number), as DepthFirst does.
func (a bin) before(b bin) bool {
	switch {
	case a.distance != b.distance:
		return a.distance < b.distance
	case a.tree != b.tree:
		return a.tree < b.tree
	}
	return a.node > b.node
}

// bins is a heap, nearest first.
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

// pop removes the nearest bin from a non-empty heap.
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
