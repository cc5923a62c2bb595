package kdforest

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// In the order ByRank, all trees vote before any record is scored. In one tree,
// a record's distance is the sum of the ranks of the planes between the request
// and the record's cell (the region of its leaf). A plane's rank is its
// position among the planes of its dimension, counted from the request. The
// search visits the records with the smallest sum of distances over all trees.
//
//	tree 0 ──┐ ranks of each
//	tree 1 ──┤ cell within bound
//	   ⋮     ├─▶ votes by record: Σ (bound − ranks) ─▶ records with most votes
//	tree 9 ──┘                                         are scored, in memory order
//
// One tree compares a record with only a dozen planes and is often wrong. Ten
// trees compare it with over a hundred. At AP-10 (10 % of the records visited),
// ten trees find a share of 0.79 of the ten nearest records if searched depth
// first, 0.88 if each tree is searched by its own ranks, and 0.95 if searched
// by the sum of ranks. The method follows voting among random projection trees
// (Hyvönen et al., "Fast nearest neighbor search through sparse random
// projections and voting", 2016). Ranks are divided by the square root of the
// number of planes in their dimension, because a dimension with many splits has
// a large variance.
//
// Scores do not influence the visits. Therefore a search by rank cannot prune,
// and it reveals nothing beyond the request's ranks.

const (
	// rankUnit represents one rank in a field (a dimension) with one plane.
	// Ranks are integers, so their sums are equal on every machine.
	rankUnit = 1 << 12
	// farthest exceeds any cell's distance in a forest of ordinary depth. Cells
	// beyond it get no votes.
	farthest = 1 << 30
	block    = 64
)

// A Field describes the planes of one dimension, seen from a request.
type Field struct {
	// First to Last−1 are the numbers of the field's planes, in ascending order
	// of value.
	First, Last uint32
	// Beyond is the number of planes with smaller values than the request's.
	// These are the first planes of the field.
	Beyond uint32
}

// Ranker is a Space that also knows the fields. A Ranker can compute the fields
// by comparing the request with every plane.
type Ranker interface {
	Space

	// Fields returns all fields in ascending order of their planes. Every plane
	// is in exactly one field. Search reads the slice only while it runs.
	Fields() []Field
}

// FieldsOf appends the fields of `planes`, seen from `point`, to `dst`. The
// planes must be in the order that Build returns. It implements Ranker.Fields
// for a Space of plain values.
func FieldsOf[T Number](dst []Field, planes []Plane[T], point []T) []Field {
	for first := 0; first < len(planes); {
		dim := planes[first].Dim
		rest := planes[first:]
		rest = rest[:sort.Search(len(rest), func(i int) bool { return rest[i].Dim > dim })]
		beyond := sort.Search(len(rest), func(i int) bool { return rest[i].Left(point) })
		last := first + len(rest)
		dst = append(dst, Field{uint32(first), uint32(last), uint32(beyond)})
		first = last
	}
	return dst
}

// check refuses ballots of another forest, and record numbers that collide with
// the leaf mark. It also refuses planes without a field, because the search
// would use their distances from an earlier search.
func (b *Ballots) check(records, planes uint32, fields []Field) error {
	if b.records != records || b.planes != planes {
		return fmt.Errorf("%w: ballots of %d records and %d planes for a forest of %d and %d", ErrInput, b.records, b.planes, records, planes)
	}
	if records >= leaf-1 {
		return fmt.Errorf("%w: searching %d records by rank", ErrInput, records)
	}
	next := uint32(0)
	for i, field := range fields {
		if field.First != next || field.Last < next || field.Last > b.planes || field.Beyond > field.Last-field.First {
			return fmt.Errorf("%w: field %d, %+v, but the next plane is %d of %d", ErrInput, i, field, next, b.planes)
		}
		next = field.Last
	}
	if next != b.planes {
		return fmt.Errorf("%w: fields cover %d of %d planes", ErrInput, next, b.planes)
	}
	return nil
}

func (s *searcher) startByRank(b *Ballots, fields []Field, visits int) {
	s.candidates = s.election.run(b, fields, visits, s.candidates[:0])
	s.unscored = s.candidates
	if visits < int(b.records) {
		s.stats.PlanesCompared = int(b.planes)
	}
}

func (s *searcher) collectByRank() {
	n := min(DefaultBatch, len(s.unscored))
	s.records, s.trees = append(s.records[:0], s.unscored[:n]...), s.trees[:0]
	for range n {
		s.trees = append(s.trees, 0)
	}
	s.unscored = s.unscored[n:]
}

type election struct {
	// `away[p+1]` is the request's distance from plane p in units of rankUnit.
	// It is negative if the request lies beyond the plane. `away[0]` is 0 and
	// serves nodes without a plane, because None+1 is 0.
	away      []int32
	votes     []int64
	now, next []pendingBranch
	ranks     []int32
}

type pendingBranch struct {
	branch uint32
	ranks  int32
}

func (e *election) run(b *Ballots, fields []Field, visits int, dst []uint32) []uint32 {
	n := int(b.records)
	if visits >= n {
		for r := range b.records {
			dst = append(dst, r)
		}
		return dst
	}
	e.rank(int(b.planes), fields)
	e.votes = slices.Grow(e.votes[:0], n+1)[:n+1]
	clear(e.votes)
	votes := e.votes[1:]
	bound := int32(farthest)
	for t, tree := range b.trees {
		if t > 0 {
			e.poll(tree, bound)
			continue
		}
		e.pollAll(tree)
		if near := ballotSize(visits, n); near < n {
			// The first tree's bound suits all trees, because trees are
			// similar.
			bound = tighten(votes, near)
		}
	}
	least, ties := nth(votes, visits)
	for r, v := range votes {
		switch {
		case v < least:
			continue
		case v == least:
			if ties--; ties < 0 {
				continue
			}
		}
		dst = append(dst, uint32(r))
	}
	return dst
}

// ballotSize returns the number of records on which a tree votes. If trees
// voted on all records, recall would hardly rise, but the search would enter
// two to four times as many cells.
func ballotSize(visits, n int) int { return min(n, max(2*visits+n/20, 500)) }

func (e *election) rank(planes int, fields []Field) {
	e.away = slices.Grow(e.away[:0], planes+1)[:planes+1]
	e.away[0] = 0
	for _, field := range fields {
		if field.First == field.Last {
			continue
		}
		away := e.away[1:][field.First:field.Last]
		unit := uint64(max(1, math.Round(rankUnit/math.Sqrt(float64(len(away))))))
		for i := range away {
			if i := uint32(i); i < field.Beyond {
				away[i] = -int32(min(uint64(field.Beyond-i)*unit, farthest-1))
			} else {
				away[i] = int32(min(uint64(i-field.Beyond+1)*unit, farthest-1))
			}
		}
	}
}

// pollAll adds votes to every record, namely `farthest` minus the distance of
// the record's cell. For an inner node's record, it uses the distance of the
// node's plane.
func (e *election) pollAll(tree []branch) {
	e.ranks = slices.Grow(e.ranks[:0], len(tree))[:len(tree)]
	ranks := e.ranks
	ranks[0] = 0
	for i, b := range tree { // parents come before their children
		a := e.away[b.plane+1]
		// Limiting distances to `farthest` keeps sums along a path within an
		// int32.
		left, right := min(ranks[i]+max(-a, 0), farthest), min(ranks[i]+max(a, 0), farthest)
		e.votes[b.record+1] += int64(farthest - max(left, right))
		for _, c := range [2]pendingBranch{{b.left, left}, {b.right, right}} {
			if c.branch&leaf != 0 {
				e.votes[c.branch&^leaf] += int64(farthest - c.ranks)
			} else {
				ranks[c.branch] = c.ranks
			}
		}
	}
}

// poll is like pollAll, but only for cells within `bound`. It descends level by
// level without unpredictable branches, and overlaps the memory reads of a
// block of nodes.
func (e *election) poll(tree []branch, bound int32) {
	now, next := append(e.now[:0], pendingBranch{}), e.next
	var branches [block]branch
	var away [block]int32
	for len(now) > 0 {
		next = slices.Grow(next[:0], 2*len(now))[:2*len(now)]
		n := 0
		for cells := range slices.Chunk(now, block) {
			for i, c := range cells {
				branches[i] = tree[c.branch]
			}
			for i := range cells {
				away[i] = e.away[branches[i].plane+1]
			}
			for i, c := range cells {
				b := &branches[i]
				left, right := c.ranks+max(-away[i], 0), c.ranks+max(away[i], 0)
				e.votes[b.record+1] += int64(max(bound+c.ranks-left-right, 0))
				leftLeaf, rightLeaf := leafMask(b.left), leafMask(b.right)
				e.votes[b.left&leftLeaf&^leaf] += int64(max(bound-left, 0))
				e.votes[b.right&rightLeaf&^leaf] += int64(max(bound-right, 0))
				next[n] = pendingBranch{b.left, left}
				if left|int32(leftLeaf&farthest) < bound {
					n++
				}
				next[n] = pendingBranch{b.right, right}
				if right|int32(rightLeaf&farthest) < bound {
					n++
				}
			}
		}
		now, next = next[:n], now
	}
	e.now, e.next = now, next
}

func leafMask(child uint32) uint32 { return uint32(int32(child) >> 31) }

// tighten returns the bound within which the first tree has `wanted` records.
// It makes the votes relative to that bound.
func tighten(votes []int64, wanted int) (bound int32) {
	least, _ := nth(votes, wanted)
	least = max(least, 1) // it is below 1 only if a hostile tree has records beyond `farthest`
	for r, v := range votes {
		votes[r] = max(0, v-least+1)
	}
	return int32(farthest - least + 1)
}

// nth returns the kth largest value and its number of occurrences among the k
// largest values. It counts values in successively finer buckets.
func nth(values []int64, k int) (value int64, ties int) {
	const buckets = 1 << 12
	low, high := slices.Min(values), slices.Max(values)
	for low < high {
		shift := max(0, bits.Len64(uint64(high-low))-12)
		var count [buckets]uint32
		for _, v := range values {
			if low <= v && v <= high {
				count[uint64(high-v)>>shift]++
			}
		}
		b := int64(0)
		for ; k > int(count[b]); b++ {
			k -= int(count[b])
		}
		high -= b << shift
		low = max(low, high-(1<<shift-1))
	}
	return high, k
}

// Ballots hold the trees of a forest for searches by rank, in half the memory.
// Make them once per forest. Ballots are safe for concurrent use.
type Ballots struct {
	records, planes uint32
	trees           [][]branch
}

// A branch is a node with children, including those children that are leaves.
type branch struct {
	record uint32 // the node's record, or None
	plane  uint32 // the node's plane, or None
	// `left` and `right` each describe a child. The value is the index of a
	// branch, or leaf | (record + 1) for a leaf, or `leaf` if there is no
	// child.
	left, right uint32
}

const leaf = 1 << 31

// NewBallots converts a forest, which must come from Build or have passed
// Validate. It must have fewer than 2³¹ records, and fewer than 2³¹ nodes with
// children.
func NewBallots(f *Forest) *Ballots {
	b := &Ballots{records: f.Records, planes: f.Planes, trees: make([][]branch, len(f.Trees))}
	var place []uint32 // index of each node's branch
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
