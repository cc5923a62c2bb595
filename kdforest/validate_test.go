package kdforest

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestValidateRejects(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(f *Forest)
		want  string
	}{
		{"no trees", func(f *Forest) { f.Trees = nil }, "no trees"},
		{"records", func(f *Forest) { f.Records = None }, "too many"},
		{"short tree", func(f *Forest) { f.Trees[1] = f.Trees[1][:6] }, "tree 1 has 6 nodes for 7 records"},
		{"huge claim", func(f *Forest) { f.Records = None - 1 }, "7 nodes for"},
		{"record range", func(f *Forest) { f.Trees[1][2].Record = 7 }, "tree 1: node 2: no record 7"},
		{"record none", func(f *Forest) { f.Trees[1][2].Record = None }, "no record"},
		{"record twice", func(f *Forest) { f.Trees[1][2].Record = 3 }, "record 3 occurs twice"},
		{"plane range", func(f *Forest) { f.Trees[1][0].Plane = 3 }, "no plane 3"},
		{"leaf plane", func(f *Forest) { f.Trees[1][2].Plane = 1 }, "a leaf with plane 1"},
		{"child range", func(f *Forest) { f.Trees[1][4].Right = 7 }, "child 7 out of order"},
		{"self", func(f *Forest) { f.Trees[1][1].Left = 1 }, "child 1 out of order"},
		{"cycle", func(f *Forest) { f.Trees[1][4].Left = 0 }, "child 0 out of order"},
		{"shared child", func(f *Forest) { f.Trees[1][1].Left = 3 }, "child 3 has a parent already"},
		{"shared by parents", func(f *Forest) { f.Trees[1][2].Left = 3 }, "child 3 has a parent already"},
		{"lost child", func(f *Forest) { f.Trees[1][4].Left = None }, "1 of 7 nodes cannot be reached"},
	} {
		f, _ := sevenRecords(1)
		f.Trees = append(f.Trees, slices.Clone(f.Trees[0]))
		if err := f.Validate(); err != nil {
			t.Fatal(err)
		}
		c.spoil(f)
		if err := f.Validate(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func isForest(f *Forest) bool {
	for _, tree := range f.Trees {
		nodes, records := map[uint32]bool{}, map[uint32]bool{}
		var walk func(k uint32) bool
		walk = func(k uint32) bool {
			if k == None {
				return true
			}
			if int(k) >= len(tree) || nodes[k] {
				return false
			}
			nodes[k] = true
			node := tree[k]
			leaf := node.Left == None && node.Right == None
			if records[node.Record] || node.Record >= f.Records || node.Plane != None && (leaf || node.Plane >= f.Planes) {
				return false
			}
			records[node.Record] = true
			inOrder := (node.Left == None || node.Left > k) && (node.Right == None || node.Right > k)
			return inOrder && walk(node.Left) && walk(node.Right)
		}
		if len(tree) != int(f.Records) || len(tree) > 0 && !walk(0) || len(nodes) != len(tree) {
			return false
		}
	}
	return len(f.Trees) > 0
}

// FuzzValidate makes small forests from bytes. Those that Validate accepts must
// be forests and searchable to the last record.
func FuzzValidate(f *testing.F) {
	f.Add([]byte{0, 0})
	f.Add([]byte{1, 0, 0, 255, 255, 255})
	f.Add([]byte{2, 1, 0, 0, 1, 255, 1, 255, 255, 255, 1, 255, 255, 1, 0, 255, 255, 255})
	f.Add([]byte{3, 2, 0, 0, 1, 2, 1, 255, 255, 255, 2, 255, 255, 255})
	f.Add([]byte{3, 2, 0, 0, 1, 1, 1, 255, 255, 255, 2, 255, 0, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		forest := forestFromBytes(data, PlaceNode)
		if forest == nil {
			return
		}
		err := forest.Validate()
		if (err == nil) != isForest(forest) {
			t.Fatalf("%+v: %v", forest, err)
		}
		if err == nil {
			wantAllFound(t, forest)
		}
	})
}

// forestFromBytes reads numbers of records and planes, then nodes of four
// bytes, 255 for None. It returns nil for data of unsuitable length.
func forestFromBytes(data []byte, place Place) *Forest {
	if len(data) < 2 || len(data) > 1000 || data[0] > 20 {
		return nil
	}
	forest := &Forest{Records: uint32(data[0]), Planes: uint32(data[1])}
	var nodes Tree
	number := func(b byte) uint32 {
		if b == 255 {
			return None
		}
		return uint32(b)
	}
	for rest := data[2:]; len(rest) >= 4; rest = rest[4:] {
		nodes = append(nodes, Node{number(rest[0]), number(rest[1]), number(rest[2]), number(rest[3])})
	}
	n := max(int(forest.Records), 1)
	if place == PlaceLeaf {
		n = 2*n - 1
	}
	for first := 0; first < len(nodes); first += n {
		forest.Trees = append(forest.Trees, nodes[first:min(first+n, len(nodes))])
	}
	return forest
}

func wantAllFound(t *testing.T, f *Forest) {
	t.Helper()
	for _, order := range everyOrder {
		hits, stats, err := f.Search(parity{f.Planes}, Options{Visits: 1000, L: 1000, Order: order})
		if err != nil || len(hits) != int(f.Records) || stats.Visited != len(hits) {
			t.Fatalf("%+v, order %d: %d hits, %+v, %v", f, order, len(hits), stats, err)
		}
		for i, h := range hits {
			if h.Record != uint32(i) {
				t.Fatalf("hits %v", hits)
			}
		}
	}
	// By rank, AP-100 visits everything. Smaller numbers of visits are exact,
	// too.
	for visits := 1; visits <= int(f.Records); visits += 1 + int(f.Records)/4 {
		_, stats, err := f.Search(parity{f.Planes}, Options{Visits: visits, L: 1, Order: ByRank})
		if err != nil || stats.Visited != visits {
			t.Fatalf("%+v, %d visits by rank: %+v, %v", f, visits, stats, err)
		}
	}
}

// parity is a space without dimensions, with the given number of planes.
type parity struct{ planes uint32 }

func (parity) Left(plane uint32) bool            { return plane%2 == 0 }
func (parity) Beyond(uint32, int64) bool         { return false }
func (parity) Score(records []uint32, s []int64) { clear(s) }
func (p parity) Fields() []Field                 { return []Field{{0, p.planes, p.planes / 2}} }
func (parity) Distance(plane uint32) float64     { return float64(plane % 5) }
func (parity) Reach(int64) float64               { return -1 }

func TestSearchDeepChain(t *testing.T) {
	const n = 200000
	tree := make(Tree, n)
	for k := range tree {
		tree[k] = Node{Record: uint32(k), Plane: uint32(k), Left: uint32(k + 1), Right: None}
	}
	tree[n-1].Plane, tree[n-1].Left = None, None
	f := &Forest{Records: n, Planes: n, Trees: []Tree{tree, tree}}
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, order := range everyOrder {
		hits, stats, err := f.Search(parity{f.Planes}, Options{Visits: n, L: 3, Order: order})
		if err != nil || stats.Visited != n || len(hits) != 3 {
			t.Errorf("%v, %+v, %v", hits, stats, err)
		}
	}
	if _, stats, err := f.Search(parity{f.Planes}, Options{Visits: n / 10, L: 3, Order: ByRank}); err != nil || stats.Visited != n/10 {
		t.Errorf("by rank: %+v, %v", stats, err)
	}
}
