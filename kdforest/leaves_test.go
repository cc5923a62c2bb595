package kdforest

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func checkLeaves[T Number](t *testing.T, rows [][]T, f *Forest, planes []Plane[T]) {
	t.Helper()
	if int(f.Planes) != len(planes) || !slices.IsSortedFunc(planes, comparePlanes[T]) {
		t.Fatalf("%d planes counted, %d listed, or not in order", f.Planes, len(planes))
	}
	used := map[uint32]bool{}
	for number, tree := range f.Trees {
		parent := make([]uint32, len(tree))
		for k, node := range tree {
			if node.Left != None {
				parent[node.Left], parent[node.Right] = uint32(k), uint32(k)
			}
			if node.Plane != None {
				used[node.Plane] = true
			}
			if node.Record == None {
				continue
			}
			for below := uint32(k); below != 0; below = parent[below] {
				above := tree[parent[below]]
				if above.Plane != None && planes[above.Plane].Left(rows[node.Record]) != (above.Left == below) {
					t.Fatalf("tree %d: record %d is on the wrong side of node %d", number, node.Record, parent[below])
				}
			}
		}
	}
	if len(used) != len(planes) {
		t.Fatalf("%d of %d planes are used", len(used), len(planes))
	}
}

func TestBuildLeaves(t *testing.T) {
	rng := testRand(50)
	for _, n := range []int{0, 1, 2, 3, 7, 150, 600} {
		for _, levels := range []int{1, 2, 5, 1000} {
			rows := coarse(rng, n, 6, levels)
			for _, split := range []Split{SplitMean, SplitMedian} {
				f, planes := mustBuild(t, rows, BuildOptions{Place: PlaceLeaf, Split: split})
				checkLeaves(t, rows, f, planes)
				again, _ := mustBuild(t, rows, BuildOptions{Place: PlaceLeaf, Split: split})
				if !reflect.DeepEqual(f, again) {
					t.Error("two builds differ")
				}
			}
		}
	}
	rows := make([][]float64, 500)
	for i := range rows {
		rows[i] = []float64{rng.NormFloat64(), 1e6 + rng.NormFloat64(), math.Copysign(0, rng.NormFloat64()), -rng.ExpFloat64()}
	}
	f, planes := mustBuild(t, rows, BuildOptions{Place: PlaceLeaf})
	checkLeaves(t, rows, f, planes)
	for i, tree := range f.Trees {
		if d := depth(tree); d > 18 {
			t.Errorf("tree %d of 500 records has depth %d", i, d)
		}
	}
	for _, p := range planes {
		if p.Dim == 2 {
			t.Fatalf("split between 0 and -0: %v", p)
		}
	}
}

func TestBuildLeavesIdentical(t *testing.T) {
	rows := coarse(testRand(51), 1024, 3, 1)
	f, planes := mustBuild(t, rows, BuildOptions{Place: PlaceLeaf, Trees: 1})
	if d := depth(f.Trees[0]); d != 10 || len(planes) != 0 {
		t.Errorf("depth %d with %d planes", d, len(planes))
	}
}

func TestCutValue(t *testing.T) {
	for _, c := range []struct {
		name         string
		values       []float64
		mean, median float64
	}{
		{"the mean itself", []float64{0, 1, 2, 9}, 3, 1.5},
		{"the mean is a value", []float64{0, 1, 2}, 1, 0.5},
		{"two", []float64{3, 4}, 3.5, 3.5},
		{"halves, negative", []float64{-4, -3, -1, -1}, -2.25, -2},
		{"an outlier", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1e9}, 15.5, 8.5},
		{"an outlier below", []float64{-1e9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 1.5, 7.5},
		{"ties that cannot be kept apart", []float64{3, 3, 3, 3, 3, 3, 3, 3, 9}, 3 + 6.0/9, 6},
		{"no mean in float64", []float64{-math.MaxFloat64, math.MaxFloat64}, 0, 0},
		{"neighbours in float64", []float64{1, math.Nextafter(1, 2)}, 1, 1},
	} {
		var rows [][]float64
		for _, x := range c.values {
			rows = append(rows, []float64{x})
		}
		for split, want := range []float64{c.mean, c.median} {
			g := newGrower(rows, BuildOptions{Place: PlaceLeaf, Split: Split(split)}.withDefaults(), 0)
			if got := g.cutValue(g.records, 0); got != want {
				t.Errorf("%s, split %d: %v, want %v", c.name, split, got, want)
			}
		}
		f, planes := mustBuild(t, rows, BuildOptions{Place: PlaceLeaf})
		checkLeaves(t, rows, f, planes)
	}
	// Integers: a mean is rounded to a level that still divides.
	for _, c := range []struct {
		values []int8
		want   int8
	}{{[]int8{-128, 127}, 0}, {[]int8{-3, -2}, -3}, {[]int8{4, 5}, 4}, {[]int8{1, 1, 1, 1, 9}, 2}} {
		var rows [][]int8
		for _, x := range c.values {
			rows = append(rows, []int8{x})
		}
		g := newGrower(rows, BuildOptions{Place: PlaceLeaf}.withDefaults(), 0)
		if got := g.cutValue(g.records, 0); got != c.want {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
	wide := [][]uint64{{math.MaxUint64 - 1}, {math.MaxUint64}} // one number as float64
	f, planes := mustBuild(t, wide, BuildOptions{Place: PlaceLeaf})
	checkLeaves(t, wide, f, planes)
}

// fourLeaves is ((0 1) (2 3)) over 10, 20, 30, 40, with planes 15, 25, 35.
func fourLeaves() (*Forest, *plainSpace) {
	const no = None
	tree := Tree{
		{Record: no, Plane: 1, Left: 1, Right: 4},
		{Record: no, Plane: 0, Left: 2, Right: 3},
		{Record: 0, Plane: no, Left: no, Right: no},
		{Record: 1, Plane: no, Left: no, Right: no},
		{Record: no, Plane: 2, Left: 5, Right: 6},
		{Record: 2, Plane: no, Left: no, Right: no},
		{Record: 3, Plane: no, Left: no, Right: no},
	}
	return &Forest{Records: 4, Planes: 3, Trees: []Tree{tree}}, &plainSpace{
		rows:    [][]uint16{{10}, {20}, {30}, {40}},
		planes:  []Plane[uint16]{{0, 15}, {0, 25}, {0, 35}},
		request: []uint16{24},
	}
}

func TestValidateLeavesRejects(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(f *Forest)
		want  string
	}{
		{"no trees", func(f *Forest) { f.Trees = nil }, "no trees"},
		{"records", func(f *Forest) { f.Records = None }, "too many"},
		{"records that make too many nodes", func(f *Forest) { f.Records = 1<<31 + 1 }, "too many"},
		{"short tree", func(f *Forest) { f.Trees[0] = f.Trees[0][:6] }, "tree 0 has 6 nodes for 4 records"},
		{"huge claim", func(f *Forest) { f.Records = 1 << 30 }, "7 nodes for"},
		{"record inside", func(f *Forest) { f.Trees[0][1].Record = 1 }, "node 1: record 1 is not in a leaf"},
		{"empty leaf", func(f *Forest) { f.Trees[0][2].Record = None }, "node 2: no record"},
		{"record range", func(f *Forest) { f.Trees[0][2].Record = 4 }, "node 2: no record 4"},
		{"record twice", func(f *Forest) { f.Trees[0][3].Record = 0 }, "record 0 occurs twice"},
		{"one child", func(f *Forest) { f.Trees[0][1].Right = None }, "node 1: one child only"},
		{"plane range", func(f *Forest) { f.Trees[0][0].Plane = 3 }, "no plane 3"},
		{"leaf plane", func(f *Forest) { f.Trees[0][2].Plane = 1 }, "a leaf with plane 1"},
		{"cycle", func(f *Forest) { f.Trees[0][4].Left = 0 }, "child 0 out of order"},
		{"child range", func(f *Forest) { f.Trees[0][4].Right = 7 }, "child 7 out of order"},
		{"shared child", func(f *Forest) { f.Trees[0][1].Right = 2 }, "child 2 has a parent already"},
	} {
		f, _ := fourLeaves()
		if err := f.ValidateLeaves(); err != nil {
			t.Fatal(err)
		}
		c.spoil(f)
		if err := f.ValidateLeaves(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestValidateRejectsTheOtherPlace(t *testing.T) {
	rng := testRand(52)
	for n := range 9 {
		rows := coarse(rng, n, 2, 10)
		atNodes, _ := mustBuild(t, rows, BuildOptions{})
		inLeaves, _ := mustBuild(t, rows, BuildOptions{Place: PlaceLeaf})
		same := n < 2
		if err := atNodes.ValidateLeaves(); (err == nil) != same {
			t.Errorf("%d records at nodes: ValidateLeaves says %v", n, err)
		}
		if err := inLeaves.Validate(); (err == nil) != same {
			t.Errorf("%d records in leaves: Validate says %v", n, err)
		}
	}
}

func isLeafForest(f *Forest) bool {
	for _, tree := range f.Trees {
		nodes, records := map[uint32]bool{}, map[uint32]bool{}
		var walk func(k, parent uint32) bool
		walk = func(k, parent uint32) bool {
			if int(k) >= len(tree) || nodes[k] || parent != None && k <= parent {
				return false
			}
			nodes[k] = true
			node := tree[k]
			if node.Left == None && node.Right == None {
				if node.Record >= f.Records || records[node.Record] || node.Plane != None {
					return false
				}
				records[node.Record] = true
				return true
			}
			return node.Record == None && (node.Plane == None || node.Plane < f.Planes) && walk(node.Left, k) && walk(node.Right, k)
		}
		if len(tree) > 0 && !walk(0, None) || len(nodes) != len(tree) || len(records) != int(f.Records) {
			return false
		}
	}
	return len(f.Trees) > 0
}

func FuzzValidateLeaves(f *testing.F) {
	f.Add([]byte{0, 0})
	f.Add([]byte{1, 0, 0, 255, 255, 255})
	f.Add([]byte{2, 1, 255, 0, 1, 2, 0, 255, 255, 255, 1, 255, 255, 255})
	f.Add([]byte{2, 1, 255, 255, 2, 1, 0, 255, 255, 255, 1, 255, 255, 255})
	f.Add([]byte{2, 1, 255, 0, 1, 255, 0, 255, 255, 255, 1, 255, 255, 255})
	f.Add([]byte{3, 2, 255, 0, 1, 4, 255, 1, 2, 3, 2, 255, 255, 255, 0, 255, 255, 255, 1, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		forest := forestFromBytes(data, PlaceLeaf)
		if forest == nil {
			return
		}
		err := forest.ValidateLeaves()
		if (err == nil) != isLeafForest(forest) {
			t.Fatalf("%+v: %v", forest, err)
		}
		if err == nil {
			wantAllFound(t, forest)
		}
	})
}

// Plane 25 is one level from the request, 15 is nine and 35 eleven. Depth first
// turns at the cell's own plane, best bin first at the root.
func TestBestBinTurnsAtTheNearestPlane(t *testing.T) {
	f, space := fourLeaves()
	order := func(opt Options) (records []uint32) {
		opt.Trace = func(v Visit) { records = append(records, v.Record) }
		f.search(space, opt)
		return records
	}
	wantOrder(t, order(Options{Visits: 4, L: 1}), 1, 0, 2, 3)
	wantOrder(t, order(Options{Visits: 4, L: 1, Order: BestBin}), 1, 2, 0, 3)
	// Record 1 is 4 away: nothing behind 15 or 35 can be nearer, but 25 may
	// hide something nearer.
	wantOrder(t, order(Options{Visits: 4, L: 1, Order: BestBin, Prune: true}), 1, 2)
	wantOrder(t, order(Options{Visits: 4, L: 4, Order: BestBin, Prune: true}), 1, 2, 0, 3)
}

// A tree with distant bins waits for one with near bins.
func TestBestBinSharesOneHeap(t *testing.T) {
	f, space := fourLeaves()
	far := slices.Clone(f.Trees[0])
	// The second tree splits the same records by a dimension with planes a
	// hundred away.
	space.planes = append(space.planes, Plane[uint16]{1, 100})
	space.request = []uint16{24, 0}
	for i, row := range space.rows {
		space.rows[i] = append(row, []uint16{0, 200, 200, 200}[i])
	}
	for k := range far {
		if far[k].Plane != None {
			far[k].Plane = 3
		}
	}
	f.Planes, f.Trees = 4, append(f.Trees, far)
	var visits []Visit
	f.search(space, Options{Visits: 4, L: 1, Order: BestBin, Trace: func(v Visit) { visits = append(visits, v) }})
	var trees []int
	var records []uint32
	for _, v := range visits {
		trees, records = append(trees, v.Tree), append(records, v.Record)
	}
	wantOrder(t, records, 1, 0, 2, 3)
	if !slices.Equal(trees, []int{0, 1, 0, 0}) {
		t.Errorf("visits by trees %v", trees)
	}
}

func TestSearchDeepLeaves(t *testing.T) {
	const n = 100000
	tree := make(Tree, 2*n-1)
	for i := range n - 1 {
		tree[2*i] = Node{Record: None, Plane: uint32(i), Left: uint32(2*i + 1), Right: uint32(2*i + 2)}
		tree[2*i+1] = Node{Record: uint32(i), Plane: None, Left: None, Right: None}
	}
	tree[2*n-2] = Node{Record: n - 1, Plane: None, Left: None, Right: None}
	f := &Forest{Records: n, Planes: n, Trees: []Tree{tree, tree}}
	if err := f.ValidateLeaves(); err != nil {
		t.Fatal(err)
	}
	for _, order := range everyOrder {
		hits, stats, err := f.Search(parity{f.Planes}, Options{Visits: n, L: 3, Order: order})
		if err != nil || stats.Visited != n || len(hits) != 3 {
			t.Errorf("%v, %+v, %v", hits, stats, err)
		}
	}
}
