package kmeans

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"cpar"
)

func testRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x636c7573)) }

func blobs(rng *rand.Rand, n, d, groups int, spread float64) [][]float32 {
	centres := make([][]float64, groups)
	for g := range centres {
		for range d {
			centres[g] = append(centres[g], rng.NormFloat64())
		}
	}
	rows := make([][]float32, n)
	for i := range rows {
		for _, c := range centres[i%groups] {
			rows[i] = append(rows[i], float32(c+spread*rng.NormFloat64()))
		}
	}
	return rows
}

func mustKMeans(t testing.TB, rows [][]float32, opt Options) *Partition {
	t.Helper()
	l, err := Fit(context.Background(), rows, opt)
	if err != nil {
		t.Fatal(err)
	}
	check(t, l, len(rows))
	return l
}

func check(t testing.TB, l *Partition, n int) {
	t.Helper()
	if len(l.Cell) != n || len(l.Order) != n || l.Starts[0] != 0 || int(l.Starts[l.Len()]) != n {
		t.Fatalf("%d records: %d in lists, %d in order, first %v", n, len(l.Cell), len(l.Order), l.Starts)
	}
	seen := make([]bool, n)
	for c := range l.Len() {
		members := l.Members(c)
		if len(members) == 0 {
			t.Fatalf("list %d is empty", c)
		}
		if !slices.IsSorted(members) {
			t.Fatalf("list %d is not in the order given: %v", c, members)
		}
		for _, i := range members {
			if seen[i] || l.Cell[i] != uint32(c) {
				t.Fatalf("record %d of list %d: seen before %v, list %d", i, c, seen[i], l.Cell[i])
			}
			seen[i] = true
		}
	}
}

// lloydRound is one textbook round in float64.
func lloydRound(rows [][]float64, centroids [][]float64) (list []uint32, moved [][]float64) {
	list = make([]uint32, len(rows))
	moved = make([][]float64, len(centroids))
	count := make([]float64, len(centroids))
	for c := range moved {
		moved[c] = make([]float64, len(rows[0]))
	}
	for i, x := range rows {
		least := math.Inf(1)
		for c, y := range centroids {
			d := 0.0
			for j := range x {
				d += (x[j] - y[j]) * (x[j] - y[j])
			}
			if d < least {
				least, list[i] = d, uint32(c)
			}
		}
		for j := range x {
			moved[list[i]][j] += x[j]
		}
		count[list[i]]++
	}
	for c := range moved {
		for j := range moved[c] {
			moved[c][j] /= count[c]
		}
	}
	return list, moved
}

func wide(flat []float32, d int) [][]float64 {
	var rows [][]float64
	for at := 0; at < len(flat); at += d {
		row := make([]float64, d)
		for j := range row {
			row[j] = float64(flat[at+j])
		}
		rows = append(rows, row)
	}
	return rows
}

func TestRoundsEqualTextbookLloyd(t *testing.T) {
	for round := range 20 {
		rng := testRand(uint64(round))
		rows := blobs(rng, 1100, 1+round, 12, 0.6)
		points, err := newPoints(rows)
		if err != nil {
			t.Fatal(err)
		}
		m := &lloyd{points: points, k: 5 + round, rng: newRand([32]byte{byte(round)})}
		m.start()
		x := wide(m.data, m.d)
		for step := range 5 {
			want, moved := lloydRound(x, wide(m.centroids, m.d))
			m.assign()
			differ := 0
			for i := range want {
				if m.cell[i] != want[i] {
					differ++ // two centroids equally near to seven digits
				}
			}
			if differ > 1 {
				t.Fatalf("round %d, step %d: %d rows of %d are in other lists", round, step, differ, len(want))
			}
			m.update()
			if differ > 0 {
				break
			}
			for c, got := range wide(m.centroids, m.d) {
				for j := range got {
					if math.Abs(got[j]-moved[c][j]) > 1e-5 {
						t.Fatalf("round %d, step %d: centroid %d is %v, want %v", round, step, c, got, moved[c])
					}
				}
			}
		}
	}
}

func TestGroupsAreFound(t *testing.T) {
	rows := blobs(testRand(1), 600, 16, 7, 0.02)
	l := mustKMeans(t, rows, Options{Cells: 7, Seed: [32]byte{1}})
	for i := range rows {
		if l.Cell[i] != l.Cell[i%7] {
			t.Fatalf("rows %d and %d of one group are in lists %d and %d", i%7, i, l.Cell[i%7], l.Cell[i])
		}
	}
	for c := range l.Len() {
		if got := len(l.Members(c)); got < 85 || got > 86 {
			t.Errorf("list %d has %d of 600 records, want a seventh", c, got)
		}
	}
}

func TestStartSpreads(t *testing.T) {
	rows := blobs(testRand(2), 400, 8, 20, 1e-3)
	points, err := newPoints(rows)
	if err != nil {
		t.Fatal(err)
	}
	m := &lloyd{points: points, k: 20, rng: newRand([32]byte{})}
	m.start()
	groups := map[int]bool{}
	for c := range m.k {
		for i := range rows {
			if slices.Equal(m.row(i), m.centroids[c*m.d:(c+1)*m.d]) {
				groups[i%20] = true
			}
		}
	}
	if len(groups) != 20 {
		t.Errorf("%d of 20 groups", len(groups))
	}
}

func TestTiesGoToTheLowerCell(t *testing.T) {
	points, err := newPoints([][]float32{{-2}, {0}, {2}})
	if err != nil {
		t.Fatal(err)
	}
	m := &lloyd{points: points, k: 2, rng: newRand([32]byte{})}
	m.start()
	for _, c := range [][]float32{{-1, 1}, {1, -1}} {
		copy(m.centroids, c)
		if m.assign(); m.cell[1] != 0 {
			t.Errorf("centroids %v: lists %v", c, m.cell)
		}
	}
}

// An empty cell takes the farthest row, from the largest cell among equals.
func TestFillSplitsTheWorstCell(t *testing.T) {
	for name, c := range map[string]struct {
		list     []uint32
		distance []float32
		want     []uint32
	}{
		"the farthest":          {[]uint32{0, 0, 2, 2}, []float32{1, 2, 3, 2}, []uint32{0, 0, 1, 2}},
		"not an only row":       {[]uint32{0, 0, 2}, []float32{1, 2, 9}, []uint32{0, 1, 2}},
		"of the largest list":   {[]uint32{0, 0, 2, 2, 2}, []float32{3, 3, 3, 3, 3}, []uint32{0, 0, 1, 2, 2}},
		"two lists at one time": {[]uint32{2, 2, 2}, []float32{1, 2, 3}, []uint32{2, 1, 0}},
	} {
		m := &lloyd{points: &points{n: len(c.list)}, k: 3, cell: c.list, distance: c.distance, size: make([]int, 3)}
		m.fill()
		if !slices.Equal(m.cell, c.want) {
			t.Errorf("%s: %v, want %v", name, m.cell, c.want)
		}
	}
}

// Rows far from 0 but near each other stay distinct, although 1000.5² exceeds
// float32's precision.
func TestFarFromTheOrigin(t *testing.T) {
	rng := testRand(6)
	rows := make([][]float32, 200)
	for i := range rows {
		rows[i] = []float32{1000 + float32(i%2)/16, float32(1000 + rng.Float64()/200)}
	}
	l := mustKMeans(t, rows, Options{Cells: 2})
	for i := range rows {
		if l.Cell[i] != l.Cell[i%2] {
			t.Fatalf("rows %d and %d are in lists %d and %d", i%2, i, l.Cell[i%2], l.Cell[i])
		}
	}
}

func TestFewOrEqualRows(t *testing.T) {
	equal := make([][]float32, 1000)
	for i := range equal {
		equal[i] = []float32{3, -1, 4}
	}
	two := slices.Clone(equal)
	for i := range 3 {
		two[300*i] = []float32{3, -1, 5}
	}
	for _, c := range []struct {
		name      string
		rows      [][]float32
		ask, want int
	}{
		{"one row", equal[:1], 1, 1}, {"one row, many lists", equal[:1], 50, 1},
		{"two rows", equal[:2], 5, 2}, {"equal rows", equal, 63, 63},
		{"a list a row", equal[:40], 40, 40}, {"more lists than rows", equal[:40], 41, 40},
		{"one list", two, 1, 1}, {"two values, many lists", two, 30, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			if l := mustKMeans(t, c.rows, Options{Cells: c.ask}); l.Len() != c.want {
				t.Errorf("%d lists, want %d", l.Len(), c.want)
			}
		})
	}
	l := mustKMeans(t, two, Options{Cells: 2})
	for i := range two {
		if same := two[i][2] == two[0][2]; same != (l.Cell[i] == l.Cell[0]) {
			t.Errorf("row %d: list %d, row 0: %d", i, l.Cell[i], l.Cell[0])
		}
	}
}

func TestCoresChangeNothing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, d := range []int{1, 5, 48, 67} {
		rows := blobs(testRand(3), 2500, d, 30, 1)
		var first *Partition
		for _, cores := range []int{1, 2, 3, 8} {
			runtime.GOMAXPROCS(cores)
			l := mustKMeans(t, rows, Options{Cells: 40, Seed: [32]byte{9}})
			if first == nil {
				first = l
			}
			if !reflect.DeepEqual(l, first) {
				t.Errorf("%d dimensions: lists differ between 1 core and %d", d, cores)
			}
		}
		if other := mustKMeans(t, rows, Options{Cells: 40, Seed: [32]byte{10}}); reflect.DeepEqual(other, first) {
			t.Errorf("%d dimensions: another seed, the same lists", d)
		}
	}
}

func TestKMeansLeavesRowsAlone(t *testing.T) {
	rows := blobs(testRand(4), 300, 6, 3, 1)
	before := make([][]float32, len(rows))
	for i := range rows {
		before[i] = slices.Clone(rows[i])
	}
	mustKMeans(t, rows, Options{Cells: 2})
	if !reflect.DeepEqual(rows, before) {
		t.Error("rows were written to")
	}
}

func TestKMeansRefuses(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	ok := [][]float32{{1, 2}, {3, 4}}
	for name, c := range map[string]struct {
		rows [][]float32
		opt  Options
	}{
		"no rows":       {nil, Options{Cells: 2}},
		"no dimensions": {[][]float32{{}, {}}, Options{Cells: 2}},
		"ragged":        {[][]float32{{1, 2}, {3}}, Options{Cells: 2}},
		"not a number":  {[][]float32{{1, 2}, {nan, 3}}, Options{Cells: 2}},
		"infinite":      {[][]float32{{1, 2}, {inf, 3}}, Options{Cells: 2}},
		"too large":     {[][]float32{{1e30}, {-1e30}}, Options{Cells: 2}},
		"lists below 0": {ok, Options{Cells: -1}},
		"no lists":      {ok, Options{}},
	} {
		if l, err := Fit(context.Background(), c.rows, c.opt); !errors.Is(err, cpar.ErrInput) || l != nil {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Fit(ctx, ok, Options{Cells: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestDefaultCells(t *testing.T) {
	for n, want := range map[int][2]int{0: {1, 1}, 1: {2, 2}, 100: {20, 20}, 400: {40, 40}, 1000: {63, 100}, 4500: {134, 402}, 20000: {283, 849}} {
		for i, width := range []int{maxShort + 1, maxShort} {
			if got := DefaultCells(n, width); got != want[i] {
				t.Errorf("%d records of %d numbers: %d lists, want %d", n, width, got, want[i])
			}
		}
	}
}

func BenchmarkKMeans(b *testing.B) {
	for _, size := range [][3]int{{4500, 48, 134}, {20000, 48, 283}, {20000, 128, 256}} {
		rows := blobs(testRand(5), size[0], size[1], 500, 1)
		b.Run(fmt.Sprintf("%dx%d/k=%d", size[0], size[1], size[2]), func(b *testing.B) {
			for b.Loop() {
				mustKMeans(b, rows, Options{Cells: size[2]})
			}
		})
	}
}
