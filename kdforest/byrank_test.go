package kdforest

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"testing"
)

// byRank computes ByRank's records from a list of every record's ranks in each
// tree.
func byRank(f *Forest, space *plainSpace, visits int) []uint32 {
	n := int(f.Records)
	ranks := make([][]int64, len(f.Trees)) // by tree and record
	for t, tree := range f.Trees {
		ranks[t] = make([]int64, n)
		var enter func(k uint32, there int64)
		enter = func(k uint32, there int64) {
			if k == None {
				return
			}
			node, away := tree[k], int64(0)
			left := true
			if node.Plane != None {
				between, of := space.gap(node.Plane)
				away = int64(between+1) * max(1, int64(math.Round(4096/math.Sqrt(float64(of)))))
				left = space.Left(node.Plane)
			}
			if node.Record != None {
				ranks[t][node.Record] = there + away
			}
			if left {
				enter(node.Left, there)
				enter(node.Right, there+away)
			} else {
				enter(node.Left, there+away)
				enter(node.Right, there)
			}
		}
		enter(0, 0)
	}
	bound := int64(math.MaxInt64)
	if near := max(2*visits+n/20, 500); near < n {
		bound = slices.Sorted(slices.Values(ranks[0]))[near-1] + 1
	}
	votes, records := make([]int64, n), make([]uint32, n)
	for r := range records {
		records[r] = uint32(r)
		for t := range f.Trees {
			votes[r] -= min(ranks[t][r], bound)
		}
	}
	slices.SortStableFunc(records, func(a, b uint32) int { return cmp.Compare(votes[b], votes[a]) })
	return slices.Sorted(slices.Values(records[:min(visits, n)]))
}

// The request lies in record 2's cell. Planes 20 and 40 are one rank of three
// away, plane 60 two ranks plus the root.
func TestByRankCountsPlanes(t *testing.T) {
	f, space := sevenRecords(1)
	for visits, want := range map[int][]uint32{1: {2}, 2: {0, 2}, 3: {0, 1, 2}, 5: {0, 1, 2, 3, 4}, 6: {0, 1, 2, 3, 4, 5}, 7: {0, 1, 2, 3, 4, 5, 6}} {
		wantOrder(t, visitOrder(t, f, space, Options{Visits: visits, L: 1, Order: ByRank}), want...)
		got, _, err := f.Candidates(space, Options{Visits: visits, L: 1, Order: ByRank}, []uint32{9})
		if err != nil {
			t.Fatal(err)
		}
		wantOrder(t, got, append([]uint32{9}, want...)...)
	}
}

// In each tree, the request's cell holds a record that is far away in the
// other. The record next to the cell in both trees comes first.
func TestByRankAddsUpTrees(t *testing.T) {
	four := func(planes [3]uint32, records [4]uint32) Tree {
		leaf := func(r uint32) Node { return Node{r, None, None, None} }
		return Tree{{None, planes[1], 1, 4}, {None, planes[0], 2, 3}, leaf(records[0]), leaf(records[1]),
			{None, planes[2], 5, 6}, leaf(records[2]), leaf(records[3])}
	}
	f := &Forest{Records: 4, Planes: 6, Trees: []Tree{
		four([3]uint32{0, 1, 2}, [4]uint32{0, 1, 2, 3}),
		four([3]uint32{3, 4, 5}, [4]uint32{2, 0, 3, 1}),
	}}
	if err := f.ValidateLeaves(); err != nil {
		t.Fatal(err)
	}
	space := &plainSpace{
		planes:  []Plane[uint16]{{0, 10}, {0, 20}, {0, 30}, {1, 10}, {1, 20}, {1, 30}},
		request: []uint16{15, 5},
		rows:    make([][]uint16, 4),
	}
	// Ranks: record 0: 1 + 1, record 1: 0 + 5, record 2: 1 + 0, record 3: 3 +
	// 2.
	for visits, want := range [][]uint32{1: {2}, 2: {0, 2}, 3: {0, 1, 2}} {
		if visits == 0 {
			continue
		}
		got, _, err := f.Candidates(space, Options{Visits: visits, L: 1, Order: ByRank}, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantOrder(t, got, want...)
	}
	f.Trees = f.Trees[:1]
	got, _, err := f.Candidates(space, Options{Visits: 1, L: 1, Order: ByRank}, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantOrder(t, got, 1)
}

func TestByRankMatchesLists(t *testing.T) {
	rng := testRand(30)
	bounded := 0
	for trial := range 60 {
		n := 100 + rng.IntN(2500)
		rows := coarse(rng, n, 2+rng.IntN(8), 2+rng.IntN(300))
		f, planes := mustBuild(t, rows, BuildOptions{Trees: 1 + rng.IntN(10), Seed: [32]byte{byte(trial)}, Place: Place(trial % 2)})
		space := &plainSpace{rows: rows, planes: planes, request: coarse(rng, 1, len(rows[0]), 300)[0]}
		visits := 1 + rng.IntN(n)
		if rng.IntN(2) == 0 {
			visits = 1 + rng.IntN(n/10)
		}
		if ballotSize(visits, n) < n {
			bounded++
		}
		got, _, err := f.Candidates(space, Options{Visits: visits, L: 1, Order: ByRank}, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantOrder(t, got, byRank(f, space, visits)...)
	}
	if bounded < 10 {
		t.Errorf("%d of 60 trials were bounded; the test is too weak", bounded)
	}
}

// Depth first needs more than twice as many visits.
func TestByRankFindsMore(t *testing.T) {
	rng := testRand(28)
	rows := clustered(rng, 2100, 32, 60)
	rows, requests := rows[:2000], rows[2000:]
	for place := range Place(2) {
		f, planes := mustBuild(t, rows, BuildOptions{Place: place})
		rank := recall(t, f, rows, planes, requests, 50, ByRank)
		depth := recall(t, f, rows, planes, requests, 100, DepthFirst)
		t.Logf("place %d: %.3f by 50 visits by rank, %.3f by 100 depth first", place, rank, depth)
		if rank < depth {
			t.Errorf("place %d: by rank finds %.3f with 50 visits, depth first %.3f with 100", place, rank, depth)
		}
	}
}

func TestFieldsMustCoverPlanes(t *testing.T) {
	f, space := sevenRecords(1)
	for _, fields := range [][]Field{nil, {{0, 2, 0}}, {{1, 3, 0}}, {{0, 4, 0}}, {{0, 2, 0}, {1, 3, 0}}, {{0, 2, 3}, {2, 3, 0}}, {{0, 3, 0}, {3, 2, 0}}} {
		wrong := fielded{space, fields}
		if _, _, err := f.Candidates(wrong, Options{Visits: 2, L: 1, Order: ByRank}, nil); !errors.Is(err, ErrInput) {
			t.Errorf("%v: %v", fields, err)
		}
		if _, _, err := f.Search(wrong, Options{Visits: 2, L: 1, Order: ByRank}); !errors.Is(err, ErrInput) {
			t.Errorf("searching, %v: %v", fields, err)
		}
	}
	if _, _, err := f.Candidates(space, Options{Visits: 0, L: 1, Order: ByRank}, nil); !errors.Is(err, ErrInput) {
		t.Errorf("no visits: %v", err)
	}
	other, _ := mustBuild(t, [][]uint16{{1}, {2}}, BuildOptions{})
	if _, _, err := f.Search(space, Options{Visits: 2, L: 1, Order: ByRank, Ballots: NewBallots(other)}); !errors.Is(err, ErrInput) {
		t.Errorf("ballots of another forest: %v", err)
	}
}

type fielded struct {
	*plainSpace
	fields []Field
}

func (s fielded) Fields() []Field { return s.fields }

// TestNth compares nth with sorting, over ranges from one value to the upper
// half of int64.
func TestNth(t *testing.T) {
	rng := testRand(29)
	for _, span := range []int64{1, 2, 3, 1 << 12, 1<<12 + 1, 1 << 13, 1 << 24, 1<<25 - 1, 1 << 40, math.MaxInt64} {
		for range 200 {
			values := make([]int64, 1+rng.IntN(300))
			for i := range values {
				values[i] = rng.Int64N(span)
			}
			k := 1 + rng.IntN(len(values))
			sorted := slices.Sorted(slices.Values(values))
			slices.Reverse(sorted)
			want, ties := sorted[k-1], 0
			for _, v := range sorted[:k] {
				if v == want {
					ties++
				}
			}
			if got, n := nth(values, k); got != want || n != ties {
				t.Fatalf("of %d below %d the %dth: %d, %d times; want %d, %d times", len(values), span, k, got, n, want, ties)
			}
		}
	}
}
