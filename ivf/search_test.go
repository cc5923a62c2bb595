package ivf

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"cpar/kdforest"
)

type column struct {
	scores []int64
	asked  [][2]int // first, length
}

func (c *column) Run(first uint32, scores []int64) {
	c.asked = append(c.asked, [2]int{int(first), len(scores)})
	copy(scores, c.scores[first:int(first)+len(scores)])
}

func (c *column) Score(records []uint32, scores []int64) {
	for i, r := range records {
		scores[i] = c.scores[r]
	}
}

func testRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x697666)) }

func randomLists(rng *rand.Rand, k, mean int) *Cells {
	l := &Cells{First: []uint32{0}}
	for range k {
		l.First = append(l.First, l.First[len(l.First)-1]+1+uint32(rng.IntN(2*mean-1)))
	}
	return l
}

// randomScores has few distinct values, which makes ties, or many.
func randomScores(rng *rand.Rand, n int, values int64) *column {
	c := &column{scores: make([]int64, n)}
	for i := range c.scores {
		c.scores[i] = rng.Int64N(values) - values/2
	}
	return c
}

// brute is Search by definition, on a list of all visits.
func brute(l *Cells, centroids, records []int64, visits, want int) ([]kdforest.Hit, []Visit) {
	order := make([]int, l.Len())
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return centroids[order[i]] < centroids[order[j]] })
	var seen []Visit
	for _, c := range order {
		for r := l.First[c]; r < l.First[c+1]; r++ {
			seen = append(seen, Visit{Cell: uint32(c), Hit: kdforest.Hit{Record: r, Score: records[r]}})
		}
	}
	seen = seen[:min(visits, len(seen))]
	var hits []kdforest.Hit
	for _, v := range seen {
		hits = append(hits, v.Hit)
	}
	sort.Slice(hits, func(i, j int) bool {
		a, b := hits[i], hits[j]
		return a.Score < b.Score || a.Score == b.Score && a.Record < b.Record
	})
	return hits[:min(want, len(hits))], seen
}

func TestSearchEqualsBruteForce(t *testing.T) {
	rng := testRand(1)
	for round := range 400 {
		l := randomLists(rng, 1+rng.IntN(60), 1+rng.IntN(9)) // small sorts are stable
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		n := l.Records()
		values := []int64{1, 3, math.MaxInt64}[round%3]
		centroids, records := randomScores(rng, l.Len(), values), randomScores(rng, n, values)
		visits, want := 1+rng.IntN(n+3), 1+rng.IntN(n+3)
		var trace []Visit
		hits, stats, err := l.Search(centroids, records, Options{Visits: visits, L: want, Trace: func(v Visit) { trace = append(trace, v) }})
		if err != nil {
			t.Fatal(err)
		}
		wantHits, wantTrace := brute(l, centroids.scores, records.scores, visits, want)
		if !slices.Equal(hits, wantHits) {
			t.Fatalf("round %d: hits %v, want %v", round, hits, wantHits)
		}
		if !slices.Equal(trace, wantTrace) {
			t.Fatalf("round %d: visits %v, want %v", round, trace, wantTrace)
		}
		entered := 0
		for i, v := range trace {
			if i == 0 || v.Cell != trace[i-1].Cell {
				entered++
			}
		}
		if stats != (Stats{Centroids: l.Len(), Cells: entered, Visited: min(visits, n), Runs: entered}) {
			t.Fatalf("round %d: %+v for %d lists and %d visits", round, stats, entered, min(visits, n))
		}
		if len(centroids.asked) != 1 || centroids.asked[0] != [2]int{0, l.Len()} {
			t.Fatalf("round %d: centroids asked for as %v", round, centroids.asked)
		}
	}
}

func TestAllVisitsEqualScan(t *testing.T) {
	rng := testRand(2)
	for _, values := range []int64{1, 20, math.MaxInt64} {
		l := randomLists(rng, 40, 30)
		n := l.Records()
		records := randomScores(rng, n, values)
		want, err := kdforest.Scan(records, n, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, visits := range []int{n, n + 1, math.MaxInt} {
			hits, stats, err := l.Search(randomScores(rng, 40, values), records, Options{Visits: visits, L: 10})
			if err != nil || !slices.Equal(hits, want) || stats.Visited != n {
				t.Fatalf("%d visits: %v (%d visited, %v), want %v", visits, hits, stats.Visited, err, want)
			}
		}
		if hits, _, _ := l.Search(randomScores(rng, 40, values), records, Options{Visits: n - 1, L: n}); len(hits) != n-1 {
			t.Fatalf("%d hits of %d visits", len(hits), n-1)
		}
	}
}

func TestSearchReadsLongCellsInRuns(t *testing.T) {
	n := 2*longestRun + 5
	l := &Cells{First: []uint32{0, 3, uint32(n)}}
	records := randomScores(testRand(3), n, 1000)
	centroids := &column{scores: []int64{9, -9}} // the long cell first
	_, stats, err := l.Search(centroids, records, Options{Visits: n - 1, L: 3})
	want := [][2]int{{3, longestRun}, {3 + longestRun, longestRun}, {3 + 2*longestRun, 2}, {0, 2}}
	if err != nil || !slices.Equal(records.asked, want) || stats.Runs != 4 || stats.Visited != n-1 {
		t.Errorf("asked for %v, want %v; %+v, %v", records.asked, want, stats, err)
	}
	hits, _, _ := l.Search(centroids, records, Options{Visits: n, L: 50})
	if scan, _ := kdforest.Scan(records, n, 50); !slices.Equal(hits, scan) {
		t.Errorf("%v, want %v", hits, scan)
	}
}

func TestOneRecord(t *testing.T) {
	l := &Cells{First: []uint32{0, 1}}
	hits, _, err := l.Search(&column{scores: []int64{5}}, &column{scores: []int64{-7}}, Options{Visits: 1, L: 10})
	if err != nil || !slices.Equal(hits, []kdforest.Hit{{Record: 0, Score: -7}}) {
		t.Errorf("%v, %v", hits, err)
	}
	none := &Cells{First: []uint32{0}}
	hits, stats, err := none.Search(&column{}, &column{}, Options{Visits: 1, L: 1})
	if err != nil || len(hits) != 0 || stats != (Stats{}) {
		t.Errorf("without records: %v, %+v, %v", hits, stats, err)
	}
}

func TestSearchRefuses(t *testing.T) {
	l := &Cells{First: []uint32{0, 1}}
	for _, opt := range []Options{{Visits: 0, L: 1}, {Visits: -1, L: 1}, {Visits: 1, L: 0}, {Visits: 1, L: -4}} {
		if _, _, err := l.Search(&column{scores: []int64{5}}, &column{scores: []int64{5}}, opt); !errors.Is(err, kdforest.ErrInput) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		first []uint32
		ok    bool
	}{
		{[]uint32{0}, true}, {[]uint32{0, 1}, true}, {[]uint32{0, 4, 5, 900}, true},
		{[]uint32{0, kdforest.None - 1}, true},
		{nil, false}, {[]uint32{}, false}, {[]uint32{1}, false}, {[]uint32{1, 2}, false},
		{[]uint32{0, 0}, false}, {[]uint32{0, 3, 3, 4}, false}, {[]uint32{0, 5, 4}, false},
		{[]uint32{0, kdforest.None}, false},
	} {
		err := (&Cells{First: c.first}).Validate()
		if (err == nil) != c.ok || err != nil && !errors.Is(err, kdforest.ErrCorrupt) {
			t.Errorf("%v: %v", c.first, err)
		}
	}
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte{0, 1, 5, 9}, uint16(4))
	f.Add([]byte{0, 0}, uint16(1))
	f.Add([]byte{0, 200, 100}, uint16(1))
	f.Add([]byte{}, uint16(1))
	f.Fuzz(func(t *testing.T, first []byte, visits uint16) {
		l := new(Cells)
		for _, b := range first {
			l.First = append(l.First, uint32(b))
		}
		if l.Validate() != nil {
			return
		}
		n := l.Records()
		rng := testRand(uint64(visits))
		centroids, records := randomScores(rng, l.Len(), 5), randomScores(rng, n, 5)
		seen := map[uint32]bool{}
		_, stats, err := l.Search(centroids, records, Options{Visits: int(visits) + 1, L: 3, Trace: func(v Visit) {
			if seen[v.Record] || v.Record < l.First[v.Cell] || v.Record >= l.First[v.Cell+1] {
				t.Errorf("record %d in list %d, seen before: %v", v.Record, v.Cell, seen[v.Record])
			}
			seen[v.Record] = true
		}})
		if want := min(n, int(visits)+1); err != nil || stats.Visited != want || len(seen) != want {
			t.Errorf("%d records: %+v, %d seen, %v", n, stats, len(seen), err)
		}
	})
}

// The bound allows for the race detector, under which sync.Pool drops items.
func TestSearchAllocationsDoNotGrowWithVisits(t *testing.T) {
	rng := testRand(4)
	l := randomLists(rng, 100, 40)
	n := l.Records()
	centroids, records := randomScores(rng, 100, 1e9), randomScores(rng, n, 1e9)
	centroids.asked, records.asked = make([][2]int, 0, 1<<16), make([][2]int, 0, 1<<16)
	allocs := func(visits int) float64 {
		return testing.AllocsPerRun(50, func() {
			if _, _, err := l.Search(centroids, records, Options{Visits: visits, L: 10}); err != nil {
				t.Error(err)
			}
		})
	}
	if all := allocs(n); all > 30 {
		t.Errorf("%.0f allocations for %d visits", all, n)
	}
}

type free []int64

func (f free) Run(first uint32, scores []int64) { copy(scores, f[first:]) }

func BenchmarkSearch(b *testing.B) {
	for _, size := range []struct{ k, mean int }{{134, 34}, {283, 71}} {
		rng := testRand(5)
		l := randomLists(rng, size.k, size.mean)
		n := l.Records()
		centroids, records := free(randomScores(rng, size.k, 1e9).scores), free(randomScores(rng, n, 1e9).scores)
		for _, tenths := range []int{25, 100, 1000} {
			visits, err := kdforest.Visits(tenths, n, 10)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%dlists/AP-%g", size.k, float64(tenths)/10), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := l.Search(centroids, records, Options{Visits: visits, L: 10}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(visits), "visits")
			})
		}
	}
}
