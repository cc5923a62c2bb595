package kmeans

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"cpar"
	"cpar/ivf"
	"cpar/kdforest"
	"cpar/model/vectorlayout"
	"cpar/user/scorevector"
)

func collection(rng *rand.Rand, n, groups, jl, bins int, spread float64) (z [][]int16, histograms [][]float64) {
	centre := make([][]float64, groups)
	peak := make([]int, groups)
	for g := range centre {
		for range jl {
			centre[g] = append(centre[g], 30*rng.NormFloat64())
		}
		peak[g] = rng.IntN(bins)
	}
	for i := range n {
		x, v, sum := make([]int16, jl), make([]float64, bins), 0.0
		for j := range x {
			x[j] = int16(math.Round(centre[i%groups][j] + spread*rng.NormFloat64()))
		}
		for j := range v {
			v[j] = 0.01 + 0.01*rng.Float64()
			if j == peak[i%groups] {
				v[j]++
			}
			sum += v[j]
		}
		for j := range v {
			v[j] /= sum
		}
		z, histograms = append(z, x), append(histograms, v)
	}
	return z, histograms
}

func mustPhotos(t testing.TB, z [][]int16, histograms [][]float64, unit float64, opt Options) *Partition {
	t.Helper()
	l, err := FitPhotos(context.Background(), z, histograms, unit, opt)
	if err != nil {
		t.Fatal(err)
	}
	check(t, l, len(z))
	return l
}

func TestPhotosOfAGroupShareACell(t *testing.T) {
	const unit = 64 * 499.5
	for name, spread := range map[string]float64{"near": 0.5, "farther": 4} {
		z, v := collection(testRand(20), 400, 8, 64, 48, spread)
		l := mustPhotos(t, z, v, unit, Options{Cells: 8})
		for i := range z {
			if l.Cell[i] != l.Cell[i%8] {
				t.Fatalf("%s: photos %d and %d of one group are in lists %d and %d", name, i%8, i, l.Cell[i%8], l.Cell[i])
			}
		}
	}
}

// Photos that differ in one part are separated by it. With unit 0 the histogram
// is ignored.
func TestBothPartsCount(t *testing.T) {
	z, v := collection(testRand(21), 300, 2, 64, 48, 3)
	for i := range z {
		v[i][i%2], v[i][1-i%2] = 0.9, 0.001
	}
	same := func(l *Partition) (together, apart bool) {
		together, apart = true, true
		for i := range l.Cell {
			together = together && l.Cell[i] == l.Cell[i%2]
			apart = apart && (i%2 == 0 || l.Cell[i] != l.Cell[0])
		}
		return
	}
	plainZ, plainV := slices.Clone(z), slices.Clone(v)
	for i := range z {
		plainZ[i], plainV[i] = z[0], v[0]
	}
	if together, apart := same(mustPhotos(t, z, plainV, 64*499.5, Options{Cells: 2})); !together || !apart {
		t.Error("z alone does not tell photos apart")
	}
	if together, apart := same(mustPhotos(t, plainZ, v, 64*499.5, Options{Cells: 2})); !together || !apart {
		t.Error("histograms alone do not tell photos apart")
	}
	if together, _ := same(mustPhotos(t, plainZ, v, 0, Options{Cells: 2})); together {
		t.Error("histograms count at a unit of 0")
	}
}

func TestRowsHaveTheDistanceOfRecords(t *testing.T) {
	const unit = 64 * 499.5
	z, v := collection(testRand(22), 60, 3, 64, 48, 10)
	layout := photoRows{z: z, histograms: v, scale: math.Sqrt(2 * unit)}
	rows := layout.rows(0, 60, 1)
	for a := range z {
		for b := a % 3; b < len(z); b += 3 {
			want, got := 0.0, float64(squaredL2(rows[a], rows[b]))
			for j := range z[a] {
				d := float64(z[a][j]) - float64(z[b][j])
				want += d * d
			}
			for j, x := range v[a] {
				want += unit * x * math.Log(x/v[b][j])
			}
			if math.Abs(got-want) > 0.03*want+1e-3 {
				t.Fatalf("photos %d and %d: %g, want %g", a, b, got, want)
			}
		}
	}
	if every := layout.rows(7, 59, 5); len(every) != 11 || !slices.Equal(every[3], rows[22]) {
		t.Error("every fifth row is another")
	}
}

func TestPhotosOnAnyNumberOfCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	z, v := collection(testRand(23), 1500, 40, 160, 48, 40)
	var first *Partition
	for _, cores := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(cores)
		l := mustPhotos(t, z, v, 160*499.5, Options{Seed: [32]byte{1}})
		if first == nil {
			first = l
		}
		if !reflect.DeepEqual(l, first) {
			t.Errorf("lists differ between 1 core and %d", cores)
		}
	}
}

func TestShortVectorsKeepAllCoordinates(t *testing.T) {
	for _, jl := range []int{maxShort - 48, maxShort - 47} {
		z, v := collection(testRand(30), 500, 20, jl, 48, 60)
		got := mustPhotos(t, z, v, 1000, Options{Cells: 25})
		layout := photoRows{z: z, histograms: v, scale: math.Sqrt(2 * 1000.)}
		whole := mustKMeans(t, layout.rows(0, len(z), 1), Options{Cells: 25})
		if same := reflect.DeepEqual(got, whole); same != (jl+48 <= maxShort) {
			t.Errorf("%d numbers: as they are %v", jl+48, same)
		}
	}
}

func TestFewOrEqualPhotos(t *testing.T) {
	z, v := collection(testRand(24), 10, 2, 64, 48, 5)
	for n := 1; n <= 10; n++ {
		if l := mustPhotos(t, z[:n], v[:n], 30000, Options{}); l.Len() != min(n, DefaultCells(n, 112)) {
			t.Errorf("%d photos: %d lists", n, l.Len())
		}
	}
	same := make([][]int16, 300)
	bins := make([][]float64, 300)
	for i := range same {
		same[i], bins[i] = z[0], v[0]
	}
	if l := mustPhotos(t, same, bins, 30000, Options{}); l.Len() != DefaultCells(300, 112) {
		t.Errorf("300 equal photos: %d lists", l.Len())
	}
	many, hist := collection(testRand(25), basisRows+projectedRows, 5, 8, 4, 1)
	l := mustPhotos(t, many, hist, 1000, Options{Cells: 5})
	for i := range many {
		if l.Cell[i] != l.Cell[i%5] {
			t.Fatalf("photo %d of %d is not with its group", i, len(many))
		}
	}
}

func TestPhotosRefuses(t *testing.T) {
	z, v := collection(testRand(26), 4, 2, 8, 4, 5)
	nan := [][]float64{v[0], v[1], {0.1, math.NaN(), 0, 0}, v[3]}
	below := [][]float64{v[0], v[1], {0.1, -0.1, 0, 0}, v[3]}
	for name, f := range map[string]func() (*Partition, error){
		"nothing": func() (*Partition, error) { return FitPhotos(context.Background(), nil, nil, 1, Options{}) },
		"fewer":   func() (*Partition, error) { return FitPhotos(context.Background(), z, v[:3], 1, Options{}) },
		"ragged z": func() (*Partition, error) {
			return FitPhotos(context.Background(), [][]int16{z[0], z[1][:3]}, v[:2], 1, Options{})
		},
		"ragged v": func() (*Partition, error) {
			return FitPhotos(context.Background(), z[:2], [][]float64{v[0], v[1][:3]}, 1, Options{})
		},
		"empty": func() (*Partition, error) {
			return FitPhotos(context.Background(), make([][]int16, 2), make([][]float64, 2), 1, Options{})
		},
		"NaN":         func() (*Partition, error) { return FitPhotos(context.Background(), z, nan, 1, Options{}) },
		"below 0":     func() (*Partition, error) { return FitPhotos(context.Background(), z, below, 1, Options{}) },
		"unit":        func() (*Partition, error) { return FitPhotos(context.Background(), z, v, math.NaN(), Options{}) },
		"unit, again": func() (*Partition, error) { return FitPhotos(context.Background(), z, v, -1, Options{}) },
		"lists":       func() (*Partition, error) { return FitPhotos(context.Background(), z, v, 1, Options{Cells: -1}) },
	} {
		if l, err := f(); !errors.Is(err, cpar.ErrInput) || l != nil {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
}

func TestCentroidIsTheMean(t *testing.T) {
	z, v := collection(testRand(27), 200, 4, 32, 48, 60)
	z[0], z[1] = slices.Clone(z[0]), slices.Clone(z[1])
	z[0][0], z[1][0], z[0][1], z[1][1] = 2, 3, -2, -3
	lists := make([]uint32, len(z))
	for i := range lists {
		if i > 1 {
			lists[i] = 1 + uint32(i%5)
		}
	}
	l := newPartition(lists, 6)
	for c := range l.Len() {
		mean, hist := l.Centroid(c, z, v)
		for j := range mean {
			sum := 0.0
			for _, i := range l.Members(c) {
				sum += float64(z[i][j])
			}
			if want := math.Round(sum / float64(len(l.Members(c)))); float64(mean[j]) != want {
				t.Fatalf("list %d, coordinate %d: %d, want %g", c, j, mean[j], want)
			}
		}
		sum := 0.0
		for j := range hist {
			want := 0.0
			for _, i := range l.Members(c) {
				want += v[i][j] / float64(len(l.Members(c)))
			}
			if math.Abs(hist[j]-want) > 1e-12 {
				t.Fatalf("list %d, bin %d: %g, want %g", c, j, hist[j], want)
			}
			sum += hist[j]
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("list %d: a histogram of sum %g", c, sum)
		}
	}
	if mean, _ := l.Centroid(0, z, v); mean[0] != 3 || mean[1] != -3 {
		t.Errorf("means of 2, 3 and of -2, -3: %v", mean[:2])
	}
}

type twin struct {
	budget  *scorevector.Budget
	rows    [][]int64
	request []int64
}

func (s *twin) Run(first uint32, scores []int64) {
	for i := range scores {
		scores[i] = s.budget.PlainScore(s.rows[int(first)+i], s.request)
	}
}

func TestSearchOfClusteredRecords(t *testing.T) {
	const n, jl, bins = 1200, 96, 48
	rng := testRand(28)
	budget, err := scorevector.NewLargestScale(vectorlayout.L1KL(jl, bins, 999))
	if err != nil {
		t.Fatal(err)
	}
	z, v := collection(rng, n, 60, jl, bins, 12)
	l := mustPhotos(t, z, v, budget.Unit(), Options{})
	record := func(z []int16, v []float64) []int64 {
		if budget.Clamp(z) {
			t.Fatal("a vector leaves the budget")
		}
		row := make([]int64, budget.Dim())
		if err := budget.Record(row, z, v, 0); err != nil {
			t.Fatal(err)
		}
		return row
	}
	records, centroids := &twin{budget: budget}, &twin{budget: budget}
	for _, i := range l.Order {
		records.rows = append(records.rows, record(z[i], v[i]))
	}
	for c := range l.Len() {
		centroids.rows = append(centroids.rows, record(l.Centroid(c, z, v)))
	}
	lists := &ivf.Cells{First: l.Starts}
	if err := lists.Validate(); err != nil {
		t.Fatal(err)
	}
	found, requests := 0, 100
	for range requests {
		near := rng.IntN(n)
		request := slices.Clone(z[near])
		for j := range request {
			request[j] += int16(10 * rng.NormFloat64())
		}
		records.request = make([]int64, budget.Dim())
		if err := budget.Request(records.request, request, v[near], 1500, 0); err != nil {
			t.Fatal(err)
		}
		centroids.request = records.request
		all, _, err := lists.Search(centroids, records, ivf.Options{Visits: n, L: 10})
		if err != nil {
			t.Fatal(err)
		}
		tenth, _, err := lists.Search(centroids, records, ivf.Options{Visits: n / 10, L: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range tenth {
			if slices.ContainsFunc(all, func(g kdforest.Hit) bool { return g == h }) {
				found++
			}
		}
	}
	if recall := float64(found) / float64(10*requests); recall < 0.95 {
		t.Errorf("a tenth of the visits finds %.3f", recall)
	}
}

func BenchmarkPhotos(b *testing.B) {
	z, v := collection(testRand(29), 4500, 300, 1296, 48, 60)
	for b.Loop() {
		mustPhotos(b, z, v, 1296*499.5, Options{})
	}
}

func BenchmarkCentroids(b *testing.B) {
	z, v := collection(testRand(30), 4500, 300, 1296, 48, 60)
	l := newPartition(make([]uint32, len(z)), 1)
	for b.Loop() {
		l.Centroid(0, z, v)
	}
}
