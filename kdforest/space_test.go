package kdforest

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainSpace answers from plain levels, with L1 distances and exact bounds.
type plainSpace struct {
	rows    [][]uint16
	planes  []Plane[uint16]
	request []uint16
	scored  []uint32 // every record passed to Score
}

func (s *plainSpace) Left(p uint32) bool { return s.planes[p].Left(s.request) }

func (s *plainSpace) Score(records []uint32, scores []int64) {
	s.scored = append(s.scored, records...)
	for i, r := range records {
		scores[i] = l1(s.rows[r], s.request)
	}
}

// Beyond: records left of a plane are at most on it, records right of it at
// least one level further.
func (s *plainSpace) Beyond(p uint32, worst int64) bool {
	bound := int64(s.planes[p].Value) - int64(s.request[s.planes[p].Dim])
	if bound >= 0 {
		return bound+1 > worst
	}
	return -bound > worst
}

// gap counts the planes between the request and a plane, and all planes of that
// dimension.
func (s *plainSpace) gap(p uint32) (between, of uint32) {
	x, end := s.request[s.planes[p].Dim], s.planes[p].Value
	for _, plane := range s.planes {
		if plane.Dim != s.planes[p].Dim {
			continue
		}
		of++
		if x <= plane.Value && plane.Value < end || end < plane.Value && plane.Value < x {
			between++
		}
	}
	return between, of
}

func (s *plainSpace) Fields() []Field { return FieldsOf(nil, s.planes, s.request) }

// Distance is L1. Planes of one dimension add up, as BestBin defines it.
func (s *plainSpace) Distance(p uint32) float64 {
	d := float64(s.request[s.planes[p].Dim]) - float64(s.planes[p].Value)
	return math.Abs(d)
}

func (s *plainSpace) Reach(worst int64) float64 { return float64(worst) }

func l1(a, b []uint16) int64 {
	var sum int64
	for j, x := range a {
		d := int64(x) - int64(b[j])
		sum += max(d, -d)
	}
	return sum
}

// opaqueSpace gives plainSpace's answers from other numbers: the request's
// position among a dimension's planes, and transformed scores.
type opaqueSpace struct {
	plain plainSpace
	place []int // by dimension: number of planes that the request is beyond
	rank  []int // by plane: its position among its dimension's planes
	dim   []int // by plane
	count []int // by dimension: its planes
}

func newOpaque(rows [][]uint16, planes []Plane[uint16], request []uint16) *opaqueSpace {
	s := &opaqueSpace{plain: plainSpace{rows: rows, planes: planes, request: request}, place: make([]int, len(request))}
	s.count = make([]int, len(request))
	for _, p := range planes { // ascending
		s.dim = append(s.dim, p.Dim)
		s.rank = append(s.rank, s.count[p.Dim])
		s.count[p.Dim]++
		if request[p.Dim] > p.Value {
			s.place[p.Dim] = s.count[p.Dim]
		}
	}
	return s
}

func (s *opaqueSpace) Left(p uint32) bool { return s.place[s.dim[p]] <= s.rank[p] }

func (s *opaqueSpace) Score(records []uint32, scores []int64) {
	s.plain.Score(records, scores)
	for i, x := range scores {
		scores[i] = stretch(x)
	}
}

func (s *opaqueSpace) Beyond(uint32, int64) bool { return false }

func (s *opaqueSpace) Fields() (out []Field) {
	first := 0
	for d, n := range s.count { // dimensions without planes are empty fields
		out = append(out, Field{uint32(first), uint32(first + n), uint32(s.place[d])})
		first += n
	}
	return out
}

// Distance is scaled by a power of two, so that sums round the same way.
func (s *opaqueSpace) Distance(p uint32) float64 { return 16 * s.plain.Distance(p) }

func (s *opaqueSpace) Reach(int64) float64 { return math.Inf(1) }

func stretch(x int64) int64 { return 3*x*x + x - 1<<40 }

// recursion yields the nodes of a tree in the order of the corrected Algorithm
// 1. It calls pruned on reaching a sibling.
func recursion(tree Tree, left func(plane uint32) bool, pruned func(plane uint32) bool) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		var visit func(k uint32) bool
		visit = func(k uint32) bool {
			if k == None {
				return true
			}
			node := tree[k]
			near, far := node.Left, node.Right
			if node.Plane != None && !left(node.Plane) {
				near, far = far, near
			}
			if !visit(near) {
				return false
			}
			if !yield(node.Record) {
				return false
			}
			return far == None || node.Plane != None && pruned(node.Plane) || visit(far)
		}
		if len(tree) > 0 {
			visit(0)
		}
	}
}

func bestBin(trees []Tree, space Metric, beyond func(away float64) bool) iter.Seq2[int, uint32] {
	return func(yield func(int, uint32) bool) {
		var list []bin
		enter := func(t int, k uint32, away float64) bool {
			if k != None && beyond(away) {
				return false
			}
			for k != None {
				node := trees[t][k]
				if node.Left == None && node.Right == None {
					return yield(t, node.Record)
				}
				b := bin{step: step{node: k, far: node.Right}, tree: uint32(t), distance: away}
				next := node.Left
				if node.Plane != None {
					b.distance += space.Distance(node.Plane)
					if !space.Left(node.Plane) {
						next, b.far = b.far, next
					}
				}
				list = append(list, b)
				k = next
			}
			return true
		}
		for t, tree := range trees {
			if len(tree) > 0 && !enter(t, 0, 0) {
				return
			}
		}
		for len(list) > 0 {
			least := slices.MinFunc(list, func(a, b bin) int {
				return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.tree, b.tree), -cmp.Compare(a.node, b.node))
			})
			list = slices.DeleteFunc(list, func(b bin) bool { return b == least })
			t := int(least.tree)
			if beyond(least.distance) || !yield(t, trees[t][least.node].Record) || !enter(t, least.far, least.distance) {
				return
			}
		}
	}
}

// searchRecursively is search's simple reference.
func searchRecursively(f *Forest, space Space, opt Options) (hits []Hit, visits []Visit) {
	visited := map[uint32]bool{None: true} // None is never new
	visitsLeft := func() bool { return len(visited)-1 < opt.Visits }
	score := func(batch []Visit) {
		for i := range batch {
			var score [1]int64
			space.Score([]uint32{batch[i].Record}, score[:])
			batch[i].Score = score[0]
			hits = insertHit(hits, batch[i].Hit, opt.L)
		}
		visits = append(visits, batch...)
	}
	if opt.Order == BestBin {
		next, stop := iter.Pull2(bestBin(f.Trees, space.(Metric), func(away float64) bool {
			return opt.Prune && len(hits) >= opt.L && away > space.(Metric).Reach(hits[len(hits)-1].Score)
		}))
		defer stop()
		more := true
		for round := 0; more && visitsLeft(); round++ {
			var batch []Visit
			for more && visitsLeft() && len(batch) < len(f.Trees) {
				var t int
				var r uint32
				if t, r, more = next(); more && !visited[r] {
					visited[r] = true
					batch = append(batch, Visit{Round: round, Tree: t, Hit: Hit{Record: r}})
				}
			}
			score(batch)
		}
		return hits, visits
	}
	if opt.Order == ByRank {
		for i, r := range byRank(f, space.(*plainSpace), opt.Visits) {
			score([]Visit{{Round: i / DefaultBatch, Hit: Hit{Record: r}}})
		}
		return hits, visits
	}
	pruned := func(plane uint32) bool {
		return opt.Prune && len(hits) >= opt.L && space.Beyond(plane, hits[len(hits)-1].Score)
	}
	var nexts []func() (uint32, bool)
	for _, tree := range f.Trees {
		next, stop := iter.Pull(recursion(tree, space.Left, pruned))
		defer stop()
		nexts = append(nexts, next)
	}
	for round := 0; visitsLeft(); round++ {
		var batch []Visit
		for t, next := range nexts {
			for visitsLeft() {
				r, ok := next()
				if !ok {
					break
				}
				if !visited[r] {
					visited[r] = true
					batch = append(batch, Visit{Round: round, Tree: t, Hit: Hit{Record: r}})
					break
				}
			}
		}
		if len(batch) == 0 {
			break
		}
		score(batch)
	}
	return hits, visits
}

func insertHit(hits []Hit, h Hit, limit int) []Hit {
	at := 0
	for at < len(hits) && hits[at].Before(h) {
		at++
	}
	hits = append(hits[:at:at], append([]Hit{h}, hits[at:]...)...)
	return hits[:min(limit, len(hits))]
}

// clustered makes n rows of d levels around centres whose coordinates vary
// unequally, as features do.
func clustered(rng *rand.Rand, n, d, centres int) [][]uint16 {
	middle := make([][]float64, centres)
	for c := range middle {
		middle[c] = make([]float64, d)
		for j := range middle[c] {
			middle[c][j] = 500 + 200*rng.NormFloat64()/(1+float64(j%16))
		}
	}
	rows := make([][]uint16, n)
	for i := range rows {
		c := middle[rng.IntN(centres)]
		rows[i] = make([]uint16, d)
		for j := range rows[i] {
			rows[i][j] = uint16(min(max(c[j]+60*rng.NormFloat64()/(1+float64(j%16)), 0), 999))
		}
	}
	return rows
}

// coarse makes n rows of d levels 0…levels−1. Few levels make many ties.
func coarse(rng *rand.Rand, n, d, levels int) [][]uint16 {
	rows := make([][]uint16, n)
	for i := range rows {
		rows[i] = make([]uint16, d)
		for j := range rows[i] {
			rows[i][j] = uint16(rng.IntN(levels))
		}
	}
	return rows
}

func testRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func mustBuild[T Number](t testing.TB, rows [][]T, opt BuildOptions) (*Forest, []Plane[T]) {
	t.Helper()
	f, planes, err := Build(rows, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.validate(opt.Place); err != nil {
		t.Fatal(err)
	}
	return f, planes
}
