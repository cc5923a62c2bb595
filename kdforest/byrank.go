package kdforest

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"sync"
)

// The order ByRank asks all trees about a record before it is visited. To a tree a
// record is as far as its cell: so many ranks away as there are planes between
// the request and every plane that must be crossed to get there, added up. The
// records visited are those that are nearest by the sum over all trees.
//
//	tree 0 ──┐ of each cell nearer
//	tree 1 ──┤ than bound: ranks
//	   ⋮     ├─▶ votes, by record: Σ (bound − ranks) ─▶ those of most votes are
//	tree 9 ──┘                                          scored, in order of memory
//
// Trees that walk by themselves, each back to its nearest plane, visit a record as
// soon as one of them thinks it near, and one is often wrong: it knows a dozen planes
// about a record. Ten know over a hundred. Depth first and by ranks, but tree by
// tree, ten trees find 0.79 and 0.88 of the true ten nearest at AP-10, by the sum
// 0.95 (doc.go says of what). The idea is that of voting among random projection
// trees (Hyvönen et al., "Fast nearest neighbor search through sparse random
// projections and voting", 2016) and of rank aggregation (Fagin, Kumar, Sivakumar,
// "Efficient similarity search and classification via rank aggregation", 2003).
//
// The number of planes that lie between is a quantile where records are dense, but
// a field that is split often has more planes a quantile than one that is split
// at few nodes. Divided by the square root of the field's planes, ranks found most:
// a field is split often because it varies much, and then a quantile in it is worth
// more. Powers from 0.25 to 1 of the one and from 0.75 to 1.5 of the other change
// what is found by less than 0.02.
//
// No score has a say in what is visited. So a search by rank cannot prune, and
// tells whoever watches it nothing that the request's ranks do not.

const (
	// rankUnit is one rank in a field of one plane. All sums are whole numbers,
	// which come out alike on every machine.
	rankUnit = 1 << 12
	// everything is farther than cells are: depth times √planes times rankUnit comes
	// to less. Where it does not, as in a hostile forest, what is so far has no votes.
	everything = 1 << 30
	// block is how many cells are looked at together.
	block = 64
)

// A Field is the planes of one dimension, as a request sees them.
type Field struct {
	// First…Last−1 are the planes, in ascending order of their values.
	First, Last uint32
	// Beyond is how many of them, the first ones, the request lies beyond. A
	// request on a plane counts as just short of it, as for Space.Left.
	Beyond uint32
}

// Ranker is a Space that can also tell which planes are of one field and how many
// of them the request lies beyond. Whoever can compare the request with every plane
// can count that: dense ranks say it directly, and nothing more is revealed.
type Ranker interface {
	Space

	// Fields returns all fields in ascending order of their planes, of which each is
	// in one field. The slice is only read, and only during the search.
	Fields() []Field
}

// FieldsOf appends to dst the fields of planes as Build returns them, seen from a
// point: what a Space of plain values answers to Fields.
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

// Candidates appends to dst the records that a search by rank with so many visits
// scores, ascending; all of them if visits ≥ n. Errors wrap ErrInput.
func (b *Ballots) Candidates(space Ranker, visits int, dst []uint32) ([]uint32, error) {
	if visits < 1 {
		return dst, fmt.Errorf("%w: searching with %d visits", ErrInput, visits)
	}
	fields := space.Fields()
	if err := b.check(b.records, b.planes, fields); err != nil {
		return dst, err
	}
	e := elections.Get().(*election)
	defer elections.Put(e)
	return e.hold(b, fields, visits, dst), nil
}

var elections = sync.Pool{New: func() any { return new(election) }}

// check refuses what would be answered wrongly: ballots of another forest, records
// without room for a mark beside them, and a plane that no field has, which would be
// as far as in another search.
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
			return fmt.Errorf("%w: field %d, %+v, where plane %d of %d is the next", ErrInput, i, field, next, b.planes)
		}
		next = field.Last
	}
	if next != b.planes {
		return fmt.Errorf("%w: fields of %d planes of %d", ErrInput, next, b.planes)
	}
	return nil
}

// startByRank settles all visits.
func (s *searcher) startByRank(b *Ballots, fields []Field, visits int) {
	s.candidates = s.election.hold(b, fields, visits, s.candidates[:0])
	s.unscored = s.candidates
	if visits < int(b.records) {
		s.stats.PlanesAsked = int(b.planes)
	}
}

// collectByRank makes a round of the next candidates.
func (s *searcher) collectByRank() {
	n := min(DefaultBatch, len(s.unscored))
	s.records, s.trees = append(s.records[:0], s.unscored[:n]...), s.trees[:0]
	for range n {
		s.trees = append(s.trees, 0)
	}
	s.unscored = s.unscored[n:]
}

// election is the memory of one search by rank.
type election struct {
	// away is, by plane, how far the request is from it; negative where the
	// request lies beyond it, on its right. That of plane p is away[p+1]; away[0]
	// is 0 and for nodes without a plane, None+1 being 0.
	away []int32
	// votes are by record, in the same way.
	votes []int64
	// now and next are cells of a tree, all of one depth.
	now, next []cell
	// ranks are those to the nodes of the first tree.
	ranks []int32
}

// A cell is a subtree within bound and how far it is.
type cell struct {
	branch uint32
	ranks  int32
}

func (e *election) hold(b *Ballots, fields []Field, visits int, dst []uint32) []uint32 {
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
	bound := int32(everything)
	for t, tree := range b.trees {
		if t > 0 {
			e.poll(tree, bound)
			continue
		}
		e.pollAll(tree)
		if near := ballot(visits, n); near < n {
			// What is near is about as near in every tree: they are alike.
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

// ballot is how many of n records a tree votes on where so many shall be visited.
// Trees that vote on all find 0.003 more at AP-10 and 0.02 to 0.03 more at AP-2.5,
// and enter more than twice and four times as many cells. A few hundred take no time.
func ballot(visits, n int) int { return min(n, max(2*visits+n/20, 500)) }

// rank notes how far all planes are.
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
				away[i] = -int32(min(uint64(field.Beyond-i)*unit, everything-1))
			} else {
				away[i] = int32(min(uint64(i-field.Beyond+1)*unit, everything-1))
			}
		}
	}
}

// pollAll gives every record of a tree as many votes as its cell is nearer than
// everything. A node's own record lies on its plane and is as far as that.
func (e *election) pollAll(tree []branch) {
	e.ranks = slices.Grow(e.ranks[:0], len(tree))[:len(tree)]
	ranks := e.ranks
	ranks[0] = 0
	for i, b := range tree { // parents come first
		a := e.away[b.plane+1]
		// Far sides of far sides stay within an int32.
		left, right := min(ranks[i]+max(-a, 0), everything), min(ranks[i]+max(a, 0), everything)
		e.votes[b.record+1] += int64(everything - max(left, right))
		for _, c := range [2]cell{{b.left, left}, {b.right, right}} {
			if c.branch&leaf != 0 {
				e.votes[c.branch&^leaf] += int64(everything - c.ranks)
			} else {
				ranks[c.branch] = c.ranks
			}
		}
	}
}

// poll is pollAll for a bound: only cells that are nearer are entered.
//
// It goes down level by level, and without a branch that depends on the request:
// nobody could predict it. A level is taken in blocks, and of a block first all
// branches and then all planes are fetched: so many reads wait for memory at once.
func (e *election) poll(tree []branch, bound int32) {
	now, next := append(e.now[:0], cell{}), e.next
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
				next[n] = cell{b.left, left}
				if left|int32(leftLeaf&everything) < bound {
					n++
				}
				next[n] = cell{b.right, right}
				if right|int32(rightLeaf&everything) < bound {
					n++
				}
			}
		}
		now, next = next[:n], now
	}
	e.now, e.next = now, next
}

// leafMask is all ones for a leaf, and for no child.
func leafMask(child uint32) uint32 { return uint32(int32(child) >> 31) }

// tighten returns the bound within which the first tree has as many records as
// wanted, and takes from its votes what goes beyond.
func tighten(votes []int64, wanted int) (bound int32) {
	least, _ := nth(votes, wanted)
	least = max(least, 1) // less where some of a hostile tree's are too far
	for r, v := range votes {
		votes[r] = max(0, v-least+1)
	}
	return int32(everything - least + 1)
}

// nth returns the kth greatest of the values, and how many values that are equal
// to it are among the k greatest. It sorts by buckets, each pass into finer ones.
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
