package kdforest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// checkPlanes checks every record against the planes above it, and the planes
// against Build's guarantees.
func checkPlanes[T Number](t *testing.T, rows [][]T, f *Forest, planes []Plane[T]) {
	t.Helper()
	if int(f.Planes) != len(planes) {
		t.Fatalf("%d planes counted, %d listed", f.Planes, len(planes))
	}
	for i := 1; i < len(planes); i++ {
		if comparePlanes(planes[i-1], planes[i]) >= 0 {
			t.Fatalf("planes %d and %d are not ascending: %v %v", i-1, i, planes[i-1], planes[i])
		}
	}
	used := make([]bool, len(planes))
	for number, tree := range f.Trees {
		parent := make([]uint32, len(tree))
		for k, node := range tree {
			if node.Left != None {
				parent[node.Left] = uint32(k)
			}
			if node.Right != None {
				parent[node.Right] = uint32(k)
			}
			if node.Plane != None {
				used[node.Plane] = true
				if p := planes[node.Plane]; rows[node.Record][p.Dim] != p.Value {
					t.Fatalf("tree %d, node %d: its record is at %v, its plane is %v", number, k, rows[node.Record][p.Dim], p)
				}
			}
			for below, above := uint32(k), parent[k]; below != 0; below, above = above, parent[above] {
				if plane := tree[above].Plane; plane != None {
					if left := planes[plane].Left(rows[node.Record]); left != (tree[above].Left == below) {
						t.Fatalf("tree %d: record %d is on the wrong side of node %d", number, node.Record, above)
					}
				}
			}
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		t.Fatalf("no node uses plane %d", i)
	}
}

func depth(tree Tree) int {
	deepest := 0
	at := make([]int, len(tree))
	for k, node := range tree {
		for _, child := range []uint32{node.Left, node.Right} {
			if child != None {
				at[child] = at[k] + 1
				deepest = max(deepest, at[child])
			}
		}
	}
	return deepest
}

func TestBuildPutsRecordsOnTheirSides(t *testing.T) {
	rng := testRand(1)
	for _, n := range []int{0, 1, 2, 3, 7, 150, 1000} {
		for _, levels := range []int{1, 2, 5, 1000} {
			rows := coarse(rng, n, 6, levels)
			f, planes := mustBuild(t, rows, BuildOptions{})
			if len(f.Trees) != 10 {
				t.Fatalf("%d trees", len(f.Trees))
			}
			checkPlanes(t, rows, f, planes)
		}
	}
	rows := clustered(rng, 1000, 40, 20)
	f, planes := mustBuild(t, rows, BuildOptions{})
	checkPlanes(t, rows, f, planes)
	for i, tree := range f.Trees {
		if d := depth(tree); d > 18 { // log2(1000) is 10, and means are not medians
			t.Errorf("tree %d has depth %d", i, d)
		}
	}
}

func TestBuildFloats(t *testing.T) {
	rng := testRand(2)
	rows := make([][]float64, 500)
	for i := range rows {
		rows[i] = []float64{rng.NormFloat64(), 1e6 + rng.NormFloat64(), math.Copysign(0, rng.NormFloat64()), -rng.ExpFloat64()}
	}
	f, planes := mustBuild(t, rows, BuildOptions{})
	checkPlanes(t, rows, f, planes)
	for _, p := range planes {
		if p.Dim == 2 {
			t.Fatalf("split between 0 and -0: %v", p)
		}
	}
}

func TestBuildDrawsFromTheTop(t *testing.T) {
	rng := testRand(3)
	rows := make([][]float32, 101)
	for i := range rows {
		rows[i] = make([]float32, 12)
		for j := range rows[i] {
			rows[i][j] = float32(rng.NormFloat64() * math.Pow(3, float64(-j)))
		}
	}
	for _, top := range []int{1, 5} {
		f, planes := mustBuild(t, rows, BuildOptions{Trees: 200, Top: top, Sample: 1000, Draw: DrawEvenly, Split: SplitMedian})
		drawn := map[int]int{}
		for i, tree := range f.Trees {
			p := planes[tree[0].Plane]
			drawn[p.Dim]++
			left := 0
			for _, row := range rows {
				if p.Left(row) {
					left++
				}
			}
			if left != 51 {
				t.Fatalf("tree %d: %d of 101 records left of the root or on it", i, left)
			}
		}
		for d := range 12 {
			if d < top != (drawn[d] > 0) || d < top && drawn[d] < 100/top {
				t.Errorf("top %d: dimension %d was drawn %d times of 200", top, d, drawn[d])
			}
		}
	}
}

func TestBuildDrawsByVariance(t *testing.T) {
	var rows [][]float64
	for i := range 256 { // every combination of ±, without chance
		row := []float64{2, math.Sqrt2, 1, 1, 0.9}
		for j := range row {
			if i>>j&1 == 1 {
				row[j] = -row[j]
			}
		}
		rows = append(rows, row)
	}
	f, planes := mustBuild(t, rows, BuildOptions{Trees: 1600, Top: 4, Sample: 256})
	drawn := make([]int, 5)
	for _, tree := range f.Trees {
		drawn[planes[tree[0].Plane].Dim]++
	}
	for d, want := range []int{800, 400, 200, 200, 0} {
		if got := drawn[d]; got < want-want/5 || got > want+want/5 { // 0.2·200 is three deviations
			t.Errorf("dimension %d was drawn %d times, want about %d", d, got, want)
		}
	}
}

func TestBuildSplitsNearTheMean(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"mean 4.4", []float64{0, 1, 1, 2, 3, 4, 5, 8, 10, 10}, 4},
		{"mean −3.6", []float64{-10, -9, -8, -3, -2, -2, -1, -1, 0, 0}, -3},
		{"half way between 1 and 3", []float64{0, 1, 3, 4}, 1},
		// At least two of 17 on either side: the 15th value, not the last.
		{"an outlier", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1e9}, 15},
		{"an outlier below", []float64{-1e9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 2},
		{"ties that cannot be kept apart", []float64{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 9}, 3},
		{"no mean in float64", []float64{-math.MaxFloat64, 0, math.MaxFloat64}, -math.MaxFloat64},
	} {
		var rows [][]float64
		for _, x := range c.values {
			rows = append(rows, []float64{x})
		}
		g := newGrower(rows, BuildOptions{}.withDefaults(), 0)
		if got, _ := g.splitValue(g.records, 0); got != c.want {
			t.Errorf("%s: split at %v, want %v", c.name, got, c.want)
		}
		f, planes := mustBuild(t, rows, BuildOptions{})
		checkPlanes(t, rows, f, planes)
	}
}

// Each value is far beyond all previous ones. The mean alone would separate one
// at a time.
func TestBuildSkewedStaysShallow(t *testing.T) {
	rows := make([][]float64, 1000)
	for i := range rows {
		rows[i] = []float64{math.Exp2(float64(i))}
	}
	f, planes := mustBuild(t, rows, BuildOptions{Trees: 2})
	checkPlanes(t, rows, f, planes)
	if d := depth(f.Trees[0]); d > 52 { // log2(1000)/log2(8/7)
		t.Errorf("depth %d", d)
	}
}

// 60 records have one value and 40 the other, so a split keeps all 99 others
// left or divides 59 to 40.
func TestBuildSplitsDuplicatesEvenly(t *testing.T) {
	rows := make([][]uint8, 100)
	for i := range rows {
		rows[i] = []uint8{7}
		if i%5 < 2 {
			rows[i][0] = 9
		}
	}
	f, planes := mustBuild(t, rows, BuildOptions{})
	if len(planes) != 1 || planes[0] != (Plane[uint8]{0, 7}) {
		t.Fatalf("planes %v", planes)
	}
	owners := map[uint32]bool{}
	for i, tree := range f.Trees {
		if tree[0].Left != 1 || tree[0].Right != 60 {
			t.Errorf("tree %d: children of the root at %d and %d", i, tree[0].Left, tree[0].Right)
		}
		owners[tree[0].Record] = true
	}
	if len(owners) < 5 {
		t.Errorf("ten trees have only %d records at the root, of 60 on the plane", len(owners))
	}
}

func TestBuildIdenticalPoints(t *testing.T) {
	rows := make([][]uint16, 20000)
	for i := range rows {
		rows[i] = []uint16{5, 5, 5}
	}
	f, planes := mustBuild(t, rows, BuildOptions{Trees: 2})
	if len(planes) != 0 {
		t.Fatalf("planes %v through one point", planes)
	}
	if d := depth(f.Trees[0]); d != 14 {
		t.Errorf("depth %d for 20000 identical points", d)
	}
	// A single different record must be found even if the sample misses it.
	rows[777] = []uint16{5, 6, 5}
	f, planes = mustBuild(t, rows, BuildOptions{Trees: 2})
	if len(planes) != 1 {
		t.Errorf("planes %v with two distinct points", planes)
	}
	checkPlanes(t, rows, f, planes)
}

func TestBuildDeepTree(t *testing.T) {
	const n = 300
	rows := make([][]uint8, n)
	for i := range rows {
		rows[i] = make([]uint8, n)
		rows[i][i] = 1
	}
	f, planes := mustBuild(t, rows, BuildOptions{Trees: 2})
	checkPlanes(t, rows, f, planes)
	if d := depth(f.Trees[0]); d < n/3 {
		t.Fatalf("depth %d; this test wants a deep tree", d)
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	rows := clustered(testRand(5), 500, 20, 10)
	seed := sha256.Sum256([]byte("a"))
	a, planesA := mustBuild(t, rows, BuildOptions{Seed: seed})
	b, planesB := mustBuild(t, rows, BuildOptions{Seed: seed})
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(planesA, planesB) {
		t.Error("one seed, two forests")
	}
	fewer, _ := mustBuild(t, rows, BuildOptions{Seed: seed, Trees: 3})
	for i := range fewer.Trees {
		for k, node := range fewer.Trees[i] { // plane numbers differ
			if other := a.Trees[i][k]; node.Record != other.Record || node.Right != other.Right {
				t.Fatalf("tree %d depends on how many there are", i)
			}
		}
	}
	other, _ := mustBuild(t, rows, BuildOptions{Seed: sha256.Sum256([]byte("b"))})
	if reflect.DeepEqual(a.Trees[0], other.Trees[0]) {
		t.Error("two seeds, one tree")
	}
	if reflect.DeepEqual(a.Trees[0], a.Trees[1]) {
		t.Error("two trees are one")
	}
}

// A seed's forest is part of an index, so it must not change with versions of
// Go or this package.
func TestBuildPinned(t *testing.T) {
	rows := clustered(testRand(6), 300, 16, 8)
	f, planes := mustBuild(t, rows, BuildOptions{Trees: 3, Seed: sha256.Sum256([]byte("pinned"))})
	h := sha256.New()
	for _, tree := range f.Trees {
		binary.Write(h, binary.LittleEndian, tree)
	}
	for _, p := range planes {
		binary.Write(h, binary.LittleEndian, []uint32{uint32(p.Dim), uint32(p.Value)})
	}
	const want = "c863f9942c5cea07"
	if got := hex.EncodeToString(h.Sum(nil)[:8]); got != want {
		t.Errorf("forest %s, want %s", got, want)
	}
}

func TestBuildRefuses(t *testing.T) {
	ok := [][]float64{{1, 2}, {3, 4}}
	for _, c := range []struct {
		name string
		rows [][]float64
		opt  BuildOptions
		want string
	}{
		{"ragged", [][]float64{{1, 2}, {3}}, BuildOptions{}, "row 1 has 1 dimensions"},
		{"empty rows", [][]float64{{}, {}}, BuildOptions{}, "no dimensions"},
		{"NaN", [][]float64{{1}, {math.NaN()}}, BuildOptions{}, "row 1, dimension 0"},
		{"Inf", [][]float64{{1}, {math.Inf(-1)}}, BuildOptions{}, "not finite"},
		{"trees", ok, BuildOptions{Trees: -1}, "-1 trees"},
		{"top", ok, BuildOptions{Top: -1}, "-1 best"},
		{"draw", ok, BuildOptions{Draw: 2}, "draw 2"},
		{"split", ok, BuildOptions{Split: 2}, "split 2"},
		{"sample", ok, BuildOptions{Sample: 1}, "1 records"},
	} {
		if _, _, err := Build(c.rows, c.opt); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
