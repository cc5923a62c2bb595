package letter

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// Each test TestErratum… restores one printed line of Algorithm 1 and shows its
// effect. docs/PAPER.md lists them.

func (s small) twin(t *testing.T) (Comparer, *Memory) {
	t.Helper()
	_, m, err := s.user.Request(s.requests[0])
	if err != nil {
		t.Fatal(err)
	}
	twin, err := s.user.Twin(s.cloud, m)
	if err != nil {
		t.Fatal(err)
	}
	return twin, m
}

// run searches in the clear with and without a printed line.
func run(t *testing.T, printed Printed, how Search) (with, without *Reply, err error) {
	t.Helper()
	s := system(t, printed)
	twin, m := s.twin(t)
	with, err = s.cloud.Search(twin, how)
	s.cloud.printed = Printed{}
	return with, s.inTheClear(t, m, how), err
}

func TestErratumLine4ReturnsIfNotNull(t *testing.T) {
	with, without, err := run(t, Printed{ReturnIfNotNull: true}, Search{L: smallL, AP: 0.3})
	if err != nil || with.Stats.Visited != 0 || without.Stats.Visited < 0.3*smallN {
		t.Errorf("%d visits as printed, %d corrected, %v", with.Stats.Visited, without.Stats.Visited, err)
	}
}

// Line 5 returns nothing, which lines 8 and 10 assign to Node_k at every leaf.
func TestErratumLine5ReturnsNothing(t *testing.T) {
	if _, _, err := run(t, Printed{LeavesHaveChildren: true}, Search{L: smallL, AP: 0.3}); !errors.Is(err, ErrStuck) {
		t.Error(err)
	}
}

func TestErratumLine7ComparesSplitsOfLeaves(t *testing.T) {
	if _, _, err := run(t, Printed{SplitAtLeaves: true}, Search{L: smallL, AP: 0.3}); !errors.Is(err, ErrStuck) {
		t.Error(err)
	}
}

// Line 14 follows the recursion, when Node_k is the leaf (lines 8 and 10). Path
// holds the leaf alone, so each tree visits one image.
func TestErratumLine14PathHoldsTheLeaf(t *testing.T) {
	with, without, err := run(t, Printed{PushAfterChild: true}, Search{L: smallL, AP: 1})
	if err != nil || with.Stats.Visited > trees || without.Stats.Visited != smallN {
		t.Errorf("%d visits as printed, %d corrected, %v", with.Stats.Visited, without.Stats.Visited, err)
	}
}

// With line 14 moved, lines 8, 10, 21 to 23 and 28 are right as printed: a tree
// visits its leaf first, then the parent, then what is below the sibling, and
// so on up to the root. That is its order from near to far.
func TestOrderOfTheText(t *testing.T) {
	s := system(t, Printed{})
	s.cloud.Trees = s.cloud.Trees[:1]
	for _, image := range s.requests {
		_, m, err := s.user.Request(image)
		if err != nil {
			t.Fatal(err)
		}
		twin, err := s.user.Twin(s.cloud, m)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := s.cloud.Search(nearPlanes{twin}, Search{L: smallL, AP: 1})
		if err != nil {
			t.Fatal(err)
		}
		w := &walk{search: &search{compare: twin}, nodes: s.cloud.Trees[0]}
		var want []int
		inner := 0
		var order func(k int)
		order = func(k int) {
			if k == none {
				return
			}
			n := &w.nodes[k]
			near := w.near(n)
			order(near)
			want = append(want, n.Image)
			if !n.leaf() {
				order(n.sibling(near))
				inner++
			}
		}
		order(0)
		if !slices.Equal(reply.Stats.Order, want) {
			t.Fatalf("visits %v, want %v", reply.Stats.Order, want)
		}
		if reply.Stats.Parents != inner {
			t.Errorf("lines 21 to 23 visit %d images of %d inner nodes", reply.Stats.Parents, inner)
		}
	}
}

func TestErratumLine19NothingEndsAtTheRoot(t *testing.T) {
	if _, _, err := run(t, Printed{EndlessRoot: true}, Search{L: smallL, AP: 1}); !errors.Is(err, ErrStuck) {
		t.Error(err)
	}
}

// nearPlanes puts every hyperplane at the request: line 25 never prunes.
type nearPlanes struct{ Comparer }

func (nearPlanes) compPlane(*Node) float64 { return math.Inf(-1) }

// farPlanes puts every hyperplane farther than any image: line 25 always
// prunes.
type farPlanes struct{ Comparer }

func (farPlanes) compPlane(*Node) float64 { return math.Inf(1) }

// Line 25 compares with the last image in Queue even if Queue is not full. With
// planes as far as the paper hopes, requests would get fewer than L images.
func TestErratumLine25PrunesUnfilledQueue(t *testing.T) {
	var got [2]int
	for i, printed := range []Printed{{UnfilledPrunes: true}, {}} {
		s := system(t, printed)
		twin, _ := s.twin(t)
		s.cloud.Trees = s.cloud.Trees[:1]
		r, err := s.cloud.Search(farPlanes{twin}, Search{L: 40, AP: 1})
		if err != nil {
			t.Fatal(err)
		}
		got[i] = len(r.Images)
	}
	if got[0] >= 40 || got[1] != 40 {
		t.Errorf("%d images as printed, %d corrected, of 40", got[0], got[1])
	}
}

// With line 28 as printed, the search never continues above a sibling.
func TestErratumLine28SiblingEndsTheSearch(t *testing.T) {
	with, without, err := run(t, Printed{SiblingEnds: true}, Search{L: smallL, AP: 1})
	if err != nil || with.Stats.Visited >= smallN/2 || without.Stats.Visited != smallN {
		t.Errorf("%d visits as printed, %d corrected, %v", with.Stats.Visited, without.Stats.Visited, err)
	}
}

// An image is a different node in each tree, so with line 12 its copies fill
// Queue.
func TestErratumLine12VisHoldsImages(t *testing.T) {
	with, without, err := run(t, Printed{VisHoldsNodes: true}, Search{L: smallL, AP: 10})
	if err != nil {
		t.Fatal(err)
	}
	distinct := func(r *Reply) int { return len(slices.Compact(slices.Sorted(slices.Values(r.Images)))) }
	if with.Stats.Visited < 4*smallN || distinct(with) > 2 || distinct(without) != smallL {
		t.Errorf("%d visits and %d different images as printed, %d images corrected", with.Stats.Visited, distinct(with), distinct(without))
	}
}

// Line 17 is evaluated only in backtracking. Trees that are on their way
// down then still visit their leaves, up to one each.
func TestErratumLine17AddsLeaves(t *testing.T) {
	most := 0
	for k := 1; k < 10; k++ {
		ap := float64(k) / 10
		with, without, err := run(t, Printed{LeavesPastAP: true}, Search{L: smallL, AP: ap})
		limit := int(ap*smallN) + 1
		if err != nil || without.Stats.Visited != limit || with.Stats.Visited < limit || with.Stats.Visited > limit+trees {
			t.Errorf("AP %g: %d visits as printed, %d corrected, %v", ap, with.Stats.Visited, without.Stats.Visited, err)
		}
		most = max(most, with.Stats.Visited-limit)
	}
	if most == 0 {
		t.Error("no tree adds a leaf")
	}
}

// Sec. VI counts AP-X per tree, and line 17 over all trees, a factor of about
// ten.
func TestErratumLine17CountsAllTrees(t *testing.T) {
	with, without, err := run(t, Printed{APOfTree: true, VisHoldsNodes: true}, Search{L: smallL, AP: 0.1})
	if err != nil || with.Stats.Visited < 3*without.Stats.Visited {
		t.Errorf("%d visits counted a tree, %d shared, %v", with.Stats.Visited, without.Stats.Visited, err)
	}
}

// The paper defines ties: "the left branch if V_req[s_i] ≤ V_i[s_i]". A request
// that equals an image descends to it in every tree.
func TestTiesGoLeft(t *testing.T) {
	s := system(t, Printed{})
	for i, image := range s.images[:20] {
		_, m, err := s.user.Request(image)
		if err != nil {
			t.Fatal(err)
		}
		twin, err := s.user.Twin(s.cloud, m)
		if err != nil {
			t.Fatal(err)
		}
		for tree, nodes := range s.cloud.Trees {
			w := &walk{search: &search{compare: twin}, nodes: nodes}
			k := 0
			for k != none && nodes[k].Image != i {
				k = w.near(&nodes[k])
			}
			if k == none {
				t.Errorf("image %d is not on its own way down in tree %d", i, tree)
			}
		}
	}
}
