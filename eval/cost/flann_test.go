package cost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/internal/hint"
	"cpar/kdforest"
	"cpar/user"
)

// flannPeer compiles the driver. CPAR_FLANN=required makes a missing FLANN a
// failure.
func flannPeer(t *testing.T) *driver {
	t.Helper()
	p, err := compileDriver(context.Background(), flannLibrary)
	needFLANN(t, err)
	t.Cleanup(p.close)
	return p
}

func needFLANN(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CPAR_FLANN") == "required" || !strings.Contains(hint.Of(err), "libflann-dev"):
		t.Fatalf("%v (%s)", err, hint.Of(err))
	default:
		t.Skipf("nothing to compare with: %v (%s)", err, hint.Of(err))
	}
}

func randomTable(seed uint64, n, requests, d int, noise float64) *vectorTable {
	rng := rand.New(rand.NewPCG(seed, 7))
	centres := make([][]float64, 40)
	for c := range centres {
		for j := range d {
			centres[c] = append(centres[c], 3*rng.NormFloat64()/(1+float64(j)/4))
		}
	}
	t := &vectorTable{name: "random", d: d}
	for i := range n + requests {
		x := make([]float32, d)
		for j, c := range centres[rng.IntN(len(centres))] {
			x[j] = float32(c + noise*rng.NormFloat64())
		}
		if i < n {
			t.records = append(t.records, x)
		} else {
			t.requests = append(t.requests, x)
		}
	}
	t.setTruth(10)
	return t
}

func TestFLANN(t *testing.T) {
	p := flannPeer(t)
	t.Run("unlimited is brute force", func(t *testing.T) { testUnlimited(t, p) })
	t.Run("visits are ours", func(t *testing.T) { testVisits(t, p) })
	t.Run("refuses", func(t *testing.T) { testDriverRefuses(t, p) })
}

// Without a bound on checks, FLANN equals its scan and brute force.
func testUnlimited(t *testing.T, p *driver) {
	table := randomTable(1, 500, 60, 20, 1)
	lines := 0
	if err := p.run(context.Background(), table, flannArguments(1, 1, []int{peerUnlimited, peerScan}), func(l driverLine) {
		lines++
		// FLANN skips branches that it considers out of reach.
		if l.Recall != 1 || l.Seconds <= 0 || l.Visited > 500 || l.Search == searchScan && l.Visited != 500 {
			t.Errorf("%+v", l)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if lines != 2 {
		t.Errorf("%d results", lines)
	}
	space := &vectorSpace{vectorTable: table, flat: slices.Concat(table.records...)}
	for i := range table.requests {
		space.request = table.requests[i]
		hits, err := kdforest.Scan(space, 500, 10)
		if err != nil {
			t.Fatal(err)
		}
		for j, h := range hits {
			if h.Record != table.truth[i][j] {
				t.Fatalf("request %d, place %d: record %d, want %d", i, j, h.Record, table.truth[i][j])
			}
		}
	}
}

// With FLANN's choices our forest matches its recall and visits. FLANN's
// forests vary by run, the mean of four by 0.005.
func testVisits(t *testing.T, p *driver) {
	m := &flannRun{peer: p, FLANN: &FLANN{Records: 2000, Requests: 150, Neighbours: 10, Trees: flannTrees, Builds: 4}}
	if err := m.space(context.Background(), randomTable(2, 2000, 150, 24, 0.5)); err != nil {
		t.Fatal(err)
	}
	ours := FLANNCurve{Space: "random", Library: LibraryLeaf, Search: searchBestBin, Splits: splitsVectors}
	var flann, leaf []FLANNRow
	for _, r := range m.Points {
		switch r.FLANNCurve {
		case flannCurve("random"):
			flann = append(flann, r)
		case ours:
			leaf = append(leaf, r)
		}
	}
	if len(flann) != len(flannVisitShares) || len(leaf) != len(flann) {
		t.Fatalf("%d points of FLANN, %d of ours", len(flann), len(leaf))
	}
	stopped := false
	for i := range flann {
		a, b := flann[i], leaf[i]
		t.Logf("%4d visits: FLANN %6.1f, recall %.3f; ours %6.1f, recall %.3f", a.Visits, a.Visited, a.Recall, b.Visited, b.Recall)
		if b.Recall < a.Recall-0.05 || b.Recall > a.Recall+0.05 {
			t.Errorf("%d visits: recall %.3f, FLANN's %.3f", a.Visits, b.Recall, a.Recall)
		}
		if b.Visited > 1.1*a.Visited || b.Visited < 0.9*a.Visited {
			t.Errorf("of %d visits %.1f were made, FLANN made %.1f", a.Visits, b.Visited, a.Visited)
		}
		stopped = stopped || a.Visited < 0.98*float64(a.Visits)
	}
	if first, last := flann[0].Recall, flann[len(flann)-1].Recall; first > 0.7 || last < 0.9 || !stopped {
		t.Errorf("FLANN's recall goes from %.3f to %.3f, stopped early: %v; the test is too weak", first, last, stopped)
	}
	m.compare()
	leaves := 0
	for _, e := range m.Equal {
		if e.Library == LibraryLeaf {
			leaves++
			if e.VisitsOverFLANN > 1.1 || e.VisitsOverFLANN <= 0 {
				t.Errorf("leaf visits within 10 %%: %+v", e)
			}
		}
	}
	if leaves != len(flannRecalls) {
		t.Errorf("%+v", m.Equal)
	}
}

func testDriverRefuses(t *testing.T, p *driver) {
	table := randomTable(3, 50, 5, 4, 1)
	fail := func(name, want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	none := func(driverLine) { t.Error("a result") }
	fail("checks", "checks of less than one", p.run(context.Background(), table, flannArguments(1, 1, []int{-2}), none))
	fail("trees", "do not fit together", p.run(context.Background(), table, flannArguments(0, 1, []int{10}), none))
	short := *table
	short.requests = short.requests[:4]
	fail("requests", "do not fit together", p.run(context.Background(), &short, flannArguments(1, 1, []int{10}), none))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.run(ctx, table, flannArguments(1, 1, []int{10}), none); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The error names the packages, and no files remain.
func TestFLANNMissing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	bad := filepath.Join(t.TempDir(), "no-flann")
	if err := os.WriteFile(bad, []byte("#!/bin/sh\necho 'flann/flann.hpp: No such file or directory' >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for compiler, want := range map[string]string{"no-such-compiler": "not found", bad: "No such file"} {
		t.Setenv("CXX", compiler)
		_, err := compileDriver(context.Background(), flannLibrary)
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), want) || !strings.Contains(hint.Of(err), "libflann-dev") {
			t.Errorf("%s: %v (%s)", compiler, err, hint.Of(err))
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestMeasureFLANN(t *testing.T) {
	s := measuretest.NewSession(t, measuretest.SyntheticCorpus(4, 120, 8), user.Options{})
	stages := map[string]bool{}
	f, err := MeasureFLANN(context.Background(), s, func(stage string, done, total int) {
		if done > total {
			t.Errorf("%s: %d of %d", stage, done, total)
		}
		stages[stage] = true
	})
	needFLANN(t, err)
	curves := map[FLANNCurve]float64{}
	for _, r := range f.Points {
		if r.Visited > float64(r.Visits) || r.Recall < curves[r.FLANNCurve]-0.25 || r.Micros <= 0 {
			t.Errorf("%+v", r)
		}
		curves[r.FLANNCurve] = r.Recall
	}
	if len(curves) != 15 || len(stages) < 9 {
		t.Errorf("%d curves, %d stages", len(curves), len(stages))
	}
	for c, recall := range curves {
		if recall < 0.9 || c.Search == searchScan && recall != 1 {
			t.Errorf("%v ends at recall %v", c, recall)
		}
	}
	if table := f.Tables()[0]; len(table.Rows) != len(f.Points) || len(table.Columns) != len(table.Rows[0]) || table.Rows[0][0] != "jl1296" {
		t.Errorf("table %v, %d rows", table.Columns, len(table.Rows))
	}
	if len(f.Figures()[0].Series) != len(flannSeries) {
		t.Errorf("%d of %d curves are drawn", len(f.Figures()[0].Series), len(flannSeries))
	}
	data, err := json.Marshal(f)
	if err != nil || !strings.Contains(string(data), `"library":"cpar-encrypted-node"`) {
		t.Errorf("%s (%v)", data, err)
	}
	var page strings.Builder
	if err := measure.PrintTables(&page, f.Tables()); err != nil {
		t.Fatal(err)
	}
	for c := range curves {
		line := regexp.MustCompile(`(?m)^` + c.Space + ` +` + c.Library + ` +` + c.Search + ` +` + c.Splits + ` `)
		if !line.MatchString(page.String()) {
			t.Errorf("the page lacks %v", c)
		}
	}
}

func TestFLANNAtEqualRecall(t *testing.T) {
	f := new(FLANN)
	add := func(c FLANNCurve, points ...[3]float64) {
		for _, p := range points {
			f.row(c, int(p[0]), p[0], p[1], p[2]/1e6)
		}
	}
	f.Records = 1200 // AP-10 is 120 visits
	leaf := FLANNCurve{Space: "s", Library: LibraryLeaf, Search: searchBestBin, Splits: splitsVectors}
	encrypted := FLANNCurve{Space: "s", Library: LibraryEncrypted, Search: searchByRank, Splits: splitsLevels}
	slow := FLANNCurve{Space: "s", Library: LibraryEncrypted, Search: searchDepthFirst, Splits: splitsLevels}
	twin := FLANNCurve{Space: "s", Library: LibraryNode, Search: searchByRank, Splits: splitsLevels}
	add(flannCurve("s"), [3]float64{10, 0.5, 100}, [3]float64{110, 0.9, 300}, [3]float64{500, 0.95, 900})
	add(leaf, [3]float64{20, 0.7, 50}, [3]float64{120, 0.9, 150})
	add(encrypted, [3]float64{20, 0.7, 500}, [3]float64{120, 0.9, 1500})
	add(slow, [3]float64{20, 0.7, 5000}, [3]float64{120, 0.9, 15000})
	add(twin, [3]float64{20, 0.85, 5}, [3]float64{120, 0.95, 15})
	f.compare()
	find := func(c FLANNCurve, recall float64) FLANNEqual {
		i := slices.IndexFunc(f.Equal, func(e FLANNEqual) bool { return e.FLANNCurve == c && e.Recall == recall })
		if i < 0 {
			return FLANNEqual{}
		}
		return f.Equal[i]
	}
	// At 0.8, FLANN is three quarters of the way from 10 to 110, ours half way
	// from 20 to 120.
	if e := find(leaf, 0.8); e.Visited != 70 || e.Micros != 100 || e.VisitsOverFLANN != 0.824 || e.TimeOverFLANN != 0.4 {
		t.Errorf("%+v", e)
	}
	if e := find(leaf, 0.9); e.VisitsOverFLANN != 1.091 {
		t.Errorf("%+v", e)
	}
	if e := find(twin, 0.8); e.Visited != 0 { // begins above it
		t.Errorf("%+v", e)
	}
	want := "[{recall 0.80 encrypted flann 4} {recall 0.90 encrypted flann 5} {AP-10 encrypted cpar-plain-node 100}]"
	var got []string
	for _, p := range f.Price {
		name := "slow"
		if p.Encrypted == encrypted {
			name = "encrypted"
		}
		got = append(got, fmt.Sprintf("{%v %s %s %v}", p.At, name, p.Against.Library, p.Factor))
	}
	if fmt.Sprint(got) != want {
		t.Errorf("prices %v, want %v", got, want)
	}
}
