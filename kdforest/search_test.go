package kdforest

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"
)

// TestSearchMatchesRecursion compares Search with a version made of coroutines,
// maps and a sorted list, in every mode, with and without ties.
func TestSearchMatchesRecursion(t *testing.T) {
	rng := testRand(20)
	pruned := make([]int, len(everyOrder))
	for trial := range 400 {
		n := 1 + rng.IntN(120)
		rows := coarse(rng, n, 1+rng.IntN(6), 1+rng.IntN(20))
		f, planes := mustBuild(t, rows, BuildOptions{
			Trees: 1 + rng.IntN(10), Seed: [32]byte{byte(trial)}, Place: Place(trial % 2), Split: Split(trial / 2 % 2),
		})
		space := &plainSpace{rows: rows, planes: planes, request: coarse(rng, 1, len(rows[0]), 22)[0]}
		for _, order := range everyOrder {
			for _, prune := range []bool{false, true} {
				opt := Options{Visits: 1 + rng.IntN(n), L: 1 + rng.IntN(12), Prune: prune, Order: order}
				var visits []Visit
				opt.Trace = func(v Visit) { visits = append(visits, v) }
				opt.fields, opt.Ballots = space.Fields(), NewBallots(f)
				hits, stats := f.search(space, opt)
				wantHits, wantVisits := searchRecursively(f, space, opt)
				if !slices.Equal(visits, wantVisits) {
					t.Fatalf("n %d, %+v: visited\n%v, want\n%v", n, opt, visits, wantVisits)
				}
				if !slices.Equal(hits, wantHits) {
					t.Fatalf("n %d, %+v: found %v, want %v", n, opt, hits, wantHits)
				}
				if opt.Visits < 1 || len(visits) == 0 || stats.Visited != len(visits) || stats.Rounds != visits[len(visits)-1].Round+1 {
					t.Fatalf("n %d: %+v of %d visits", n, stats, len(visits))
				}
				pruned[order] += stats.PlanesPruned
			}
		}
	}
	for order, planes := range pruned {
		if planes == 0 && everyOrder[order] != ByRank {
			t.Errorf("order %d: nothing was ever pruned; the test is too weak", order)
		}
	}
}

var everyOrder = []Order{DepthFirst, ByRank, BestBin}

func TestAP100EqualsScan(t *testing.T) {
	rng := testRand(21)
	for name, rows := range map[string][][]uint16{
		"clustered": clustered(rng, 300, 12, 10),
		"ties":      coarse(rng, 300, 3, 4),
		"identical": coarse(rng, 100, 3, 1),
	} {
		var forests [2]*Forest
		var planes [2][]Plane[uint16]
		for place := range forests {
			forests[place], planes[place] = mustBuild(t, rows, BuildOptions{Place: Place(place)})
		}
		space := &plainSpace{rows: rows}
		for i := range 2000 {
			f := forests[i%2]
			space.planes = planes[i%2]
			space.request = rows[rng.IntN(len(rows))]
			if rng.IntN(2) == 0 {
				space.request = coarse(rng, 1, len(rows[0]), 1000)[0]
			}
			space.scored = space.scored[:0]
			l := 1 + rng.IntN(20)
			visits, err := Visits(1000, len(rows), l)
			if err != nil {
				t.Fatal(err)
			}
			order := everyOrder[i/2%len(everyOrder)]
			got, stats, err := f.Search(alwaysBeyond{space}, Options{Visits: visits, L: l, Prune: order != ByRank, Order: order})
			if err != nil {
				t.Fatal(err)
			}
			want, err := Scan(space, len(rows), l)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: found %v, a scan finds %v", name, got, want)
			}
			if stats.Visited != len(rows) || stats.PlanesPruned != 0 {
				t.Fatalf("%s: %+v", name, stats)
			}
		}
	}
}

// The central test: a searcher that sees ranks and stretched scores visits the
// same records in the same order as one that sees the values.
func TestOpaqueSpaceVisitsInTheSameOrder(t *testing.T) {
	rng := testRand(22)
	for i, rows := range [][][]uint16{clustered(rng, 400, 20, 10), coarse(rng, 400, 4, 8), clustered(rng, 400, 20, 10)} {
		f, planes := mustBuild(t, rows, BuildOptions{Place: Place(i / 2)})
		for range 500 {
			request := coarse(rng, 1, len(rows[0]), 1000)[0]
			if rng.IntN(2) == 0 {
				request = rows[rng.IntN(len(rows))]
			}
			opt := Options{Visits: 1 + rng.IntN(100), L: 10, Order: everyOrder[rng.IntN(len(everyOrder))]}
			var visits [2][]Visit
			for i, space := range []Space{
				&plainSpace{rows: rows, planes: planes, request: request},
				newOpaque(rows, planes, request),
			} {
				opt.Trace = func(v Visit) { visits[i] = append(visits[i], v) }
				if _, _, err := f.Search(space, opt); err != nil {
					t.Fatal(err)
				}
			}
			for i := range visits[0] {
				visits[0][i].Score = stretch(visits[0][i].Score)
			}
			if !slices.Equal(visits[0], visits[1]) {
				t.Fatalf("plain and opaque space differ:\n%v\n%v", visits[0], visits[1])
			}
		}
	}
}

// A search with more visits extends one with fewer, so recall can only grow.
func TestVisitsAreExactAndNested(t *testing.T) {
	rng := testRand(23)
	rows := clustered(rng, 203, 10, 10)
	f, planes := mustBuild(t, rows, BuildOptions{})
	space := &plainSpace{rows: rows, planes: planes, request: clustered(rng, 1, 10, 1)[0]}
	all := visitOrder(t, f, space, Options{Visits: len(rows), L: 5})
	for visits := 1; visits <= len(rows); visits++ {
		space.scored = nil
		wantOrder(t, visitOrder(t, f, space, Options{Visits: visits, L: 5}), all[:visits]...)
		wantOrder(t, space.scored, all[:visits]...)
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != len(rows) {
		t.Error("a record was visited twice")
	}
}

func recall(t testing.TB, f *Forest, rows [][]uint16, planes []Plane[uint16], requests [][]uint16, visits int, order Order) float64 {
	found := 0
	for _, request := range requests {
		space := &plainSpace{rows: rows, planes: planes, request: request}
		truth, err := Scan(space, len(rows), 10)
		if err != nil {
			t.Fatal(err)
		}
		hits, _, err := f.Search(space, Options{Visits: visits, L: 10, Order: order})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			if slices.Contains(truth, h) {
				found++
			}
		}
	}
	return float64(found) / float64(10*len(requests))
}

func TestRecallGrowsWithVisits(t *testing.T) {
	rng := testRand(24)
	rows := clustered(rng, 1100, 32, 60)
	rows, requests := rows[:1000], rows[1000:]
	f, planes := mustBuild(t, rows, BuildOptions{})
	last := 0.0
	for _, c := range []struct {
		tenths int
		least  float64
	}{{25, 0.6}, {50, 0.75}, {100, 0.85}, {200, 0.9}, {1000, 1}} {
		visits, err := Visits(c.tenths, len(rows), 10)
		if err != nil {
			t.Fatal(err)
		}
		r := recall(t, f, rows, planes, requests, visits, DepthFirst)
		t.Logf("AP-%.1f: recall %.3f", float64(c.tenths)/10, r)
		if r < c.least || r < last {
			t.Errorf("AP-%.1f: recall %.3f", float64(c.tenths)/10, r)
		}
		last = r
	}
}

// With exact bounds pruning loses nothing, ties included.
func TestPruningIsSound(t *testing.T) {
	rng := testRand(25)
	pruned, skipped := 0, 0
	for _, rows := range [][][]uint16{clustered(rng, 400, 2, 30), coarse(rng, 400, 2, 12), coarse(rng, 400, 3, 1000)} {
		f, planes := mustBuild(t, rows, BuildOptions{Trees: 3})
		for range 400 {
			space := &plainSpace{rows: rows, planes: planes, request: coarse(rng, 1, len(rows[0]), 1000)[0]}
			if rng.IntN(2) == 0 {
				space.request = rows[rng.IntN(len(rows))]
			}
			l := 1 + rng.IntN(10)
			got, stats := f.search(space, Options{Visits: len(rows), L: l, Prune: true})
			want, err := Scan(space, len(rows), l)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("pruned search finds %v, a scan %v", got, want)
			}
			pruned += stats.PlanesPruned
			skipped += len(rows) - stats.Visited
		}
	}
	if pruned == 0 || skipped == 0 {
		t.Errorf("%d far sides pruned, %d records skipped; the test is too weak", pruned, skipped)
	}
}

// Without far sides each tree only descends and compares each plane once.
func TestStatsCountPlanes(t *testing.T) {
	f, space := sevenRecords(1)
	_, stats := f.search(alwaysBeyond{space}, Options{Visits: 7, L: 1, Prune: true})
	if want := (Stats{Visited: 3, Rounds: 3, PlanesCompared: 2, PlanesPruned: 2}); stats != want {
		t.Errorf("%+v, want %+v", stats, want)
	}
	f, space = sevenRecords(3)
	_, stats = f.search(space, Options{Visits: 7, L: 1})
	// Round 1 visits 2, 1, 0, round 2 visits 3, 4, 5, round 3 visits 6.
	if stats.Visited != 7 || stats.Rounds != 3 || stats.PlanesPruned != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestSearchEdges(t *testing.T) {
	for n := range 4 {
		rows := make([][]uint16, n)
		for i := range rows {
			rows[i] = []uint16{uint16(10 * i)}
		}
		for _, l := range []int{1, 2, 100, math.MaxInt} {
			for i := range 2 * len(everyOrder) {
				f, planes := mustBuild(t, rows, BuildOptions{Place: Place(i % 2)})
				space := &plainSpace{rows: rows, planes: planes, request: []uint16{11}}
				order := everyOrder[i/2]
				hits, stats, err := f.Search(space, Options{Visits: math.MaxInt, L: l, Order: order})
				if err != nil {
					t.Fatal(err)
				}
				want := []Hit{{Record: 1, Score: 1}, {Record: 2, Score: 9}, {Record: 0, Score: 11}}
				if n < 3 {
					want = []Hit{{Record: 1, Score: 1}, {Record: 0, Score: 11}}
				}
				if n < 2 {
					want = []Hit{{Record: 0, Score: 11}}[:n]
				}
				if want = want[:min(l, n)]; !slices.Equal(hits, want) || stats.Visited != n {
					t.Errorf("n %d, L %d: found %v in %+v, want %v", n, l, hits, stats, want)
				}
				if scanned, err := Scan(space, n, l); err != nil || !slices.Equal(scanned, want) {
					t.Errorf("n %d, L %d: scan found %v (%v), want %v", n, l, scanned, err, want)
				}
			}
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	f, space := sevenRecords(1)
	for _, opt := range []Options{{Visits: 0, L: 1}, {Visits: 1, L: 0}, {Visits: -1, L: 1}, {Visits: 1, L: 1, Order: 4}, {Visits: 1, L: 1, Order: ByRank, Prune: true}} {
		if _, _, err := f.Search(space, opt); !errors.Is(err, ErrInput) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
}

func TestSearchByRankNeedsRanks(t *testing.T) {
	f, space := sevenRecords(1)
	unranked := struct{ Space }{space}
	if _, _, err := f.Search(unranked, Options{Visits: 7, L: 1}); err != nil {
		t.Error(err)
	}
	if _, _, err := f.Search(unranked, Options{Visits: 7, L: 1, Order: ByRank}); !errors.Is(err, ErrInput) {
		t.Errorf("by rank: %v", err)
	}
	if _, _, err := f.Search(unranked, Options{Visits: 7, L: 1, Order: BestBin}); !errors.Is(err, ErrInput) {
		t.Errorf("best bin first: %v", err)
	}
}

func TestVisits(t *testing.T) {
	for _, c := range []struct{ tenths, n, l, want int }{
		{1000, 4500, 10, 4500},
		{25, 4500, 10, 113}, // 112.5
		{100, 4500, 10, 450},
		{1, 1000, 1, 1},
		{1, 1001, 1, 2}, // 1.001
		{1, 4500, 10, 10},
		{290, 100, 1, 29}, // 0.29 × 100 is 28.999… in binary
		{70, 100, 1, 7},   // and 0.07 × 100 is 7.000…1
		{100, 5, 10, 5},
		{1, 0, 10, 0},
		{1000, math.MaxUint32 - 1, 1, math.MaxUint32 - 1},
	} {
		if got, err := Visits(c.tenths, c.n, c.l); err != nil || got != c.want {
			t.Errorf("Visits(%d, %d, %d) = %d (%v), want %d", c.tenths, c.n, c.l, got, err, c.want)
		}
	}
	for _, c := range [][3]int{{0, 10, 1}, {1001, 10, 1}, {-5, 10, 1}, {10, -1, 1}, {10, math.MaxUint32, 1}, {10, 10, 0}} {
		if _, err := Visits(c[0], c[1], c[2]); !errors.Is(err, ErrInput) {
			t.Errorf("Visits%v: %v", c, err)
		}
	}
}

// A pooled searcher keeps no state of other searches.
func TestConcurrentSearchesAreIndependent(t *testing.T) {
	rng := testRand(26)
	type work struct {
		f    *Forest
		rows [][]uint16
		at   []uint16
		p    []Plane[uint16]
		opt  Options
		want []Hit
	}
	var works []work
	for i := range 24 {
		w := work{rows: coarse(rng, rng.IntN(300), 5, 50), at: coarse(rng, 1, 5, 50)[0]}
		w.opt = Options{Visits: 1 + rng.IntN(200), L: 1 + rng.IntN(30), Order: everyOrder[i%len(everyOrder)], Prune: i%3 == 0 && everyOrder[i%len(everyOrder)] != ByRank}
		w.f, w.p = mustBuild(t, w.rows, BuildOptions{Trees: 1 + rng.IntN(12), Place: Place(i / 4 % 2)})
		opt := w.opt
		opt.Visits = min(opt.Visits, len(w.rows))
		opt.Prune = opt.Prune && opt.Visits < len(w.rows)
		w.want, _ = searchRecursively(w.f, &plainSpace{rows: w.rows, planes: w.p, request: w.at}, opt)
		works = append(works, w)
	}
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			rng := testRand(uint64(g))
			for range 300 {
				w := works[rng.IntN(len(works))]
				got, _, err := w.f.Search(&plainSpace{rows: w.rows, planes: w.p, request: w.at}, w.opt)
				if err != nil || len(got) != len(w.want) || len(got) > 0 && !reflect.DeepEqual(got, w.want) {
					t.Errorf("found %v (%v), want %v", got, err, w.want)
					return
				}
			}
		})
	}
	wait.Wait()
}

func TestVisitsDoNotAllocate(t *testing.T) {
	rng := testRand(27)
	rows := clustered(rng, 2000, 8, 10)
	f, planes := mustBuild(t, rows, BuildOptions{})
	space := &silentSpace{plainSpace{rows: rows, planes: planes, request: rows[5]}, FieldsOf(nil, planes, rows[5])}
	ballots := NewBallots(f)
	s := new(searcher) // the pool may drop one at any time
	for _, visits := range []int{10, 1000, 2000} {
		for _, order := range everyOrder {
			opt := Options{Visits: visits, L: 10, Order: order, Ballots: ballots, fields: space.fields}
			if allocs := testing.AllocsPerRun(20, func() { s.run(f, space, opt) }); allocs != 1 {
				t.Errorf("%v allocations at %d visits", allocs, visits)
			}
		}
	}
}

type silentSpace struct {
	plainSpace
	fields []Field
}

func (s *silentSpace) Fields() []Field { return s.fields }

func (s *silentSpace) Score(records []uint32, scores []int64) {
	for i, r := range records {
		scores[i] = l1(s.rows[r], s.request)
	}
}

// A space without Fields is asked about every plane instead.
func TestFieldsAndLeftGiveTheSameVisits(t *testing.T) {
	rng := testRand(31)
	rows := coarse(rng, 400, 6, 9)
	f, planes := mustBuild(t, rows, BuildOptions{Trees: 5})
	for i, request := range coarse(rng, 40, 6, 11) {
		space := &plainSpace{rows: rows, planes: planes, request: request}
		for _, visits := range []int{5, 37, 399} {
			opt := Options{Visits: visits, L: 5}
			got, a, err1 := f.Candidates(space, opt, nil)
			want, b, err2 := f.Candidates(struct{ Space }{space}, opt, nil)
			if err := errors.Join(err1, err2); err != nil || a != b || !slices.Equal(got, want) {
				t.Fatalf("request %d, %d visits: %v: %v, %+v by fields, %v, %+v by planes", i, visits, err, got, a, want, b)
			}
		}
	}
}
