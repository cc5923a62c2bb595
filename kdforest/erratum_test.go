package kdforest

import (
	"math"
	"slices"
	"testing"
)

// These tests cover the corrections of Algorithm 1 (walk). Each fails if the
// printed form is restored.
//
// Seven records at 10, 20, … 70 and a request at 25:
//
//	         3 (40)
//	    1 (20)      5 (60)
//	0 (10) 2 (30) 4 (50) 6 (70)
func sevenRecords(trees int) (*Forest, *plainSpace) {
	const no = None
	tree := Tree{
		{Record: 3, Plane: 1, Left: 1, Right: 4},
		{Record: 1, Plane: 0, Left: 2, Right: 3},
		{Record: 0, Plane: no, Left: no, Right: no},
		{Record: 2, Plane: no, Left: no, Right: no},
		{Record: 5, Plane: 2, Left: 5, Right: 6},
		{Record: 4, Plane: no, Left: no, Right: no},
		{Record: 6, Plane: no, Left: no, Right: no},
	}
	f := &Forest{Records: 7, Planes: 3}
	for range trees {
		f.Trees = append(f.Trees, tree)
	}
	return f, &plainSpace{
		rows:    [][]uint16{{10}, {20}, {30}, {40}, {50}, {60}, {70}},
		planes:  []Plane[uint16]{{0, 20}, {0, 40}, {0, 60}},
		request: []uint16{25},
	}
}

func visitOrder(t *testing.T, f *Forest, space Space, opt Options) []uint32 {
	t.Helper()
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	var order []uint32
	opt.Trace = func(v Visit) { order = append(order, v.Record) }
	if r, ok := space.(Ranker); ok {
		opt.fields, opt.Ballots = r.Fields(), NewBallots(f)
	}
	_, stats := f.search(space, opt)
	if stats.Visited != len(order) {
		t.Errorf("%d visits counted, %d made", stats.Visited, len(order))
	}
	return order
}

func wantOrder(t *testing.T, got []uint32, want ...uint32) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("visited %v, want %v", got, want)
	}
}

// Printed: return when Node_k is not null. Then nothing would be visited.
func TestErratumReturnsAtNull(t *testing.T) {
	f, space := sevenRecords(1)
	wantOrder(t, visitOrder(t, f, space, Options{Visits: 1, L: 1}), 2)
}

// Printed: Path gets Node_k after Node_k was overwritten with the result of
// searching its child. The way back would only contain the leaf.
func TestErratumChildDoesNotReplaceNode(t *testing.T) {
	f, space := sevenRecords(1)
	wantOrder(t, visitOrder(t, f, space, Options{Visits: 4, L: 1}), 2, 1, 0, 3)
}

// Printed: Path holds only the leaf, so backtracking never reaches its parent.
func TestErratumBacktracksToParent(t *testing.T) {
	f, space := sevenRecords(1)
	wantOrder(t, visitOrder(t, f, space, Options{Visits: 2, L: 1}), 2, 1)
}

// Printed: nothing stops at the root. Pruning leaves visits unused when the
// root is done.
func TestErratumStopsAtRoot(t *testing.T) {
	f, space := sevenRecords(1)
	wantOrder(t, visitOrder(t, f, alwaysBeyond{space}, Options{Visits: 7, L: 1, Prune: true}), 2, 1, 3)
}

// Printed: the search ends with the subtree of the first sibling.
func TestErratumResumesAfterSibling(t *testing.T) {
	f, space := sevenRecords(1)
	wantOrder(t, visitOrder(t, f, space, Options{Visits: 7, L: 1}), 2, 1, 0, 3, 4, 5, 6)
}

// Printed: a sibling is pruned by the worst hit even in an unfilled Queue. The
// request would get three neighbours instead of five.
func TestErratumUnfilledQueueDoesNotPrune(t *testing.T) {
	f, space := sevenRecords(1)
	wantOrder(t, visitOrder(t, f, alwaysBeyond{space}, Options{Visits: 7, L: 5, Prune: true}), 2, 1, 0, 3, 4, 5)
}

// Printed: Vis holds nodes. Each tree would score a record again and fill the
// Queue with copies. If nodes of two trees share a number, records would be
// missed.
func TestErratumVisHoldsRecords(t *testing.T) {
	f, space := sevenRecords(2)
	const no = None
	f.Trees[1] = Tree{ // a chain, the worst case
		{Record: 6, Plane: no, Left: 1, Right: no},
		{Record: 5, Plane: 2, Left: 2, Right: no},
		{Record: 4, Plane: no, Left: 3, Right: no},
		{Record: 3, Plane: 1, Left: 4, Right: no},
		{Record: 2, Plane: no, Left: 5, Right: no},
		{Record: 1, Plane: 0, Left: 6, Right: no},
		{Record: 0, Plane: no, Left: no, Right: no},
	}
	hits, _, err := f.Search(space, Options{Visits: 7, L: 7})
	if err != nil {
		t.Fatal(err)
	}
	var found []uint32
	for _, h := range hits {
		found = append(found, h.Record)
	}
	wantOrder(t, found, 1, 2, 0, 3, 4, 5, 6)
	slices.Sort(space.scored)
	wantOrder(t, space.scored, 0, 1, 2, 3, 4, 5, 6)
}

// Printed: the search turns back at a visited node. With two equal trees, tree
// 0 meets record 1 after tree 1 has visited it, and must continue to record 0.
func TestErratumVisitedRecordIsSearchedBelow(t *testing.T) {
	f, space := sevenRecords(2)
	wantOrder(t, visitOrder(t, f, space, Options{Visits: 7, L: 1}), 2, 1, 0, 3, 4, 5, 6)
}

// The search sends ties left (line 7), so the build must do so too (Sec. IV-A).
// Then a request equal to a record descends to it.
func TestErratumTiesGoLeft(t *testing.T) {
	rows := coarse(testRand(9), 600, 5, 3)
	f, planes := mustBuild(t, rows, BuildOptions{})
	for i, request := range rows {
		for number, tree := range f.Trees {
			met := false
			for k := uint32(0); k != None && !met; {
				met = slices.Equal(rows[tree[k].Record], request)
				switch plane := tree[k].Plane; {
				case plane == None || planes[plane].Left(request):
					k = tree[k].Left
				default:
					k = tree[k].Right
				}
			}
			if !met {
				t.Fatalf("tree %d: the way down misses record %d, which the request is equal to", number, i)
			}
		}
	}
}

type alwaysBeyond struct{ *plainSpace }

func (alwaysBeyond) Beyond(uint32, int64) bool { return true }

func (alwaysBeyond) Reach(int64) float64 { return math.Inf(-1) }
