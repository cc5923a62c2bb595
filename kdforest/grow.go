package kdforest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// grower grows one tree over `points`, an n×d matrix. Its stack is explicit,
// because unfavourable values make deep trees.
type grower[T Number] struct {
	points [][]T
	opt    BuildOptions
	rng    *rand.Rand

	tree   Tree
	planes []Plane[T] // plane of each node (Dim is −1 if the node has no plane)

	records []uint32 // all records, grouped by subtree
	todo    []subtree
	values  []T       // a node's coordinates in its split dimension, ascending
	beyond  []uint32  // records that go right while a node is divided
	sum     []float64 // per dimension
	square  []float64
	top     []dimension
}

type subtree struct {
	first, last int
	parent      uint32
	right       bool // whether the subtree is its parent's right child
	equal       bool // whether all records are known to be equal
}

type dimension struct {
	dim      int
	variance float64
}

func newGrower[T Number](points [][]T, opt BuildOptions, tree int) *grower[T] {
	g := &grower[T]{points: points, opt: opt, rng: newRand(opt.Seed, tree)}
	n := len(points)
	nodes := n
	if opt.Place == PlaceLeaf {
		nodes = max(2*n-1, 0)
	}
	g.tree = make(Tree, 0, nodes)
	g.planes = make([]Plane[T], 0, nodes)
	g.records = make([]uint32, n)
	for i := range g.records {
		g.records[i] = uint32(i)
	}
	if n > 0 {
		g.sum = make([]float64, len(points[0]))
		g.square = make([]float64, len(points[0]))
		g.todo = append(g.todo, subtree{last: n, parent: None})
	}
	return g
}

func (g *grower[T]) grow() {
	for len(g.todo) > 0 {
		s := g.todo[len(g.todo)-1]
		g.todo = g.todo[:len(g.todo)-1]

		k := uint32(len(g.tree))
		switch {
		case s.parent == None:
		case s.right:
			g.tree[s.parent].Right = k
		default:
			g.tree[s.parent].Left = k
		}
		// `records[first:left]` and `records[right:last]` form the subtrees
		// below.
		left, plane, equal := g.divide(s)
		right, record := left, None
		if g.opt.Place == PlaceNode {
			right, record = left+1, g.records[left]
		}
		if s.last-s.first == 1 {
			record = g.records[s.first]
		}
		g.tree = append(g.tree, Node{Record: record, Plane: None, Left: None, Right: None})
		g.planes = append(g.planes, plane)
		if s.last-s.first == 1 {
			continue
		}
		if right < s.last {
			g.todo = append(g.todo, subtree{first: right, last: s.last, parent: k, right: true, equal: equal})
		}
		if s.first < left {
			g.todo = append(g.todo, subtree{first: s.first, last: left, parent: k, equal: equal})
		}
	}
}

// divide groups the records of s around index `at`. With PlaceNode, records[at]
// becomes the node's own record. With PlaceLeaf, neither side is empty. If the
// records are equal in all dimensions, divide halves them without a plane.
func (g *grower[T]) divide(s subtree) (at int, plane Plane[T], equal bool) {
	middle := s.first + (s.last-s.first)/2
	noPlane := Plane[T]{Dim: -1}
	if s.equal || s.last-s.first == 1 {
		return middle, noPlane, s.equal
	}
	dim, ok := g.drawDimension(s)
	if !ok {
		return middle, noPlane, true
	}
	records := g.records[s.first:s.last]
	if g.opt.Place == PlaceLeaf {
		value := g.cutValue(records, dim)
		return s.first + g.cut(records, dim, value), Plane[T]{Dim: dim, Value: value}, false
	}
	value, ties := g.splitValue(records, dim)
	return s.first + g.group(records, dim, value, g.rng.IntN(ties)), Plane[T]{Dim: dim, Value: value}, false
}

// drawDimension draws the split dimension from the opt.Top dimensions of
// highest variance. Result ok is false if no dimension varies.
func (g *grower[T]) drawDimension(s subtree) (dim int, ok bool) {
	records := g.records[s.first:s.last]
	sample := records
	if g.opt.Sample < len(records) {
		// Shuffling in place is safe, because the order within a subtree has no
		// meaning.
		for i := range g.opt.Sample {
			j := i + g.rng.IntN(len(records)-i)
			records[i], records[j] = records[j], records[i]
		}
		sample = records[:g.opt.Sample]
	}
	g.rankDimensions(sample)
	if len(g.top) == 0 && len(sample) < len(records) {
		g.rankDimensions(records)
	}
	if len(g.top) == 0 {
		return 0, false
	}
	if g.opt.Draw == DrawEvenly {
		return g.top[g.rng.IntN(len(g.top))].dim, true
	}
	total := 0.0
	for _, d := range g.top {
		total += d.variance
	}
	// The conversion prevents a fused multiply-add, which only some machines
	// have and which rounds differently.
	at := float64(g.rng.Float64() * total)
	for _, d := range g.top {
		if at -= d.variance; at < 0 {
			return d.dim, true
		}
	}
	return g.top[len(g.top)-1].dim, true // reached only because of rounding
}

// rankDimensions sets g.top to the non-constant dimensions of highest variance,
// in descending order. Ties are in order of dimension.
func (g *grower[T]) rankDimensions(records []uint32) {
	// Subtracting the first record makes the variance of a constant dimension
	// exactly 0. Converting the products prevents fused multiply-adds, so that
	// every machine grows the same tree.
	origin := g.points[records[0]]
	clear(g.sum)
	clear(g.square)
	sum, square := g.sum[:len(origin)], g.square[:len(origin)]
	for _, r := range records[1:] {
		row := g.points[r][:len(origin)]
		for j, x := range row {
			v := float64(x) - float64(origin[j])
			sum[j] += v
			square[j] += float64(v * v)
		}
	}
	g.top = g.top[:0]
	n := float64(len(records))
	for j := range sum {
		d := dimension{dim: j, variance: square[j] - float64(sum[j]*sum[j])/n}
		if !(d.variance > 0) || len(g.top) == g.opt.Top && d.variance <= g.top[len(g.top)-1].variance {
			continue
		}
		at, _ := slices.BinarySearchFunc(g.top, d, func(a, b dimension) int {
			return cmp.Or(cmp.Compare(b.variance, a.variance), -1)
		})
		if len(g.top) == g.opt.Top {
			g.top = g.top[:len(g.top)-1]
		}
		g.top = slices.Insert(g.top, at, d)
	}
}

// splitValue returns the value of dimension `dim` that divides a node's
// records, and the number of records with that value. If two values are equally
// good, it returns the smaller.
func (g *grower[T]) splitValue(records []uint32, dim int) (value T, ties int) {
	g.sortValues(records, dim)
	m := len(g.values)
	mean := g.mean()
	// SplitMedian takes the value that divides most evenly. SplitMean takes the
	// value nearest the mean that leaves at least an eighth of the records on
	// each side, or else acts as SplitMedian.
	allowed := -1
	if g.opt.Split == SplitMean {
		allowed = m - 1 - 2*((m-1)/8)
	}
	skewed, off := m, math.Inf(1)
	for first := 0; first < m; {
		last := first // end of the run of equal values
		for last+1 < m && g.values[last+1] == g.values[first] {
			last++
		}
		// The left side gets `last` records and the right side gets m−1−last.
		// The node's own record is on neither side.
		skew, away := max(2*last-(m-1), m-1-2*last), 0.0
		if skew <= allowed {
			skew, away = allowed, math.Abs(float64(g.values[first])-mean)
		}
		if skew < skewed || skew == skewed && away < off {
			skewed, off, value, ties = skew, away, g.values[first], last-first+1
		}
		first = last + 1
	}
	return value, ties
}

func (g *grower[T]) sortValues(records []uint32, dim int) {
	g.values = g.values[:0]
	for _, r := range records {
		g.values = append(g.values, g.points[r][dim])
	}
	slices.Sort(g.values)
}

func (g *grower[T]) mean() float64 {
	origin, sum := float64(g.values[0]), 0.0
	for _, x := range g.values {
		sum += float64(x) - origin
	}
	return origin + sum/float64(len(g.values))
}

// group reorders a node's records: first the records ≤ `value`, then the nth
// record equal to `value`, then the records > `value`. It returns the index of
// that nth record.
func (g *grower[T]) group(records []uint32, dim int, value T, nth int) int {
	g.beyond = g.beyond[:0]
	var own uint32
	left := 0
	for _, r := range records {
		x := g.points[r][dim]
		switch {
		case x > value:
			g.beyond = append(g.beyond, r)
			continue
		case x == value:
			if nth--; nth == -1 {
				own = r
				continue
			}
		}
		records[left] = r // Records equal to value go left.
		left++
	}
	records[left] = own
	copy(records[left+1:], g.beyond)
	return left
}
