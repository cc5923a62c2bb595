package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar/eval/attack"
	"cpar/eval/checkpoint"
	"cpar/eval/cost"
	"cpar/eval/estimate"
	"cpar/eval/load"
	"cpar/eval/measure"
	"cpar/eval/memory"
	"cpar/eval/plot"
	"cpar/eval/quality"
	"cpar/internal/paper"
)

func syntheticResults() *measure.Results {
	interval := func(x float64) measure.Interval { return measure.Interval{Value: x, Low: x - 2, High: x + 2} }
	sweep := &quality.Sweep{Records: 300, Requests: 20, Admitted: 19, Words: 30, Resamples: 10}
	measured := &cost.Cost{Records: 20000, Kind: "augmented", Requests: 5,
		Sealed:   []cost.SealedBatch{{Kernels: "plain Go", Records: 20000, Dim: 96, One: 4e6, Batch: 1e7, Read: 3e6}},
		Roofline: &cost.Roofline{Kernels: "plain", BandwidthGBs: 20, MultipliesGs: 24, Points: []cost.RooflinePoint{{Batch: 1, NS: 1e7, Intensity: 0.125, Rate: 2.5, OfRoof: 1}, {Batch: 8, NS: 2e7, Intensity: 1, Rate: 18, OfRoof: 0.9}}}}
	add := func(name, search string, ap, speed float64) {
		sweep.Rows = append(sweep.Rows, quality.SweepRow{Name: name, Search: search, Approx: ap, NS: 1e6, Speedup: measure.Interval{Value: speed, Low: speed * 0.9, High: speed * 1.1},
			Bound: 2 * speed, Memory: 1.5 * speed, Recall10: interval(80), Paper: interval(60 - speed), PaperAll: interval(50 - speed), Standard: interval(25 - speed),
			Relative: interval(100 - speed), RelativeAll: interval(99 - speed), RelativeStandard: interval(98 - speed)})
		measured.Rows = append(measured.Rows, cost.CostRow{Name: name, NS: int64(1e7 / speed), Bytes: 1e6, StreamRatio: 0.5, Search: search, Approx: ap, Visits: 10, Speedup: speed, Bound: 2 * speed, MemoryBound: 1.5 * speed})
	}
	add("capia", "", 0, 1)
	for _, s := range []string{"depth", "rank"} {
		add("cpar@100", s, 100, 0.9)
		add("cpar@10", s, 10, 3)
		add("cpar@2.5", s, 2.5, 8)
	}
	approximation := &quality.AlphaGamma{Pairs: 100, Seeds: []float64{3.2, 3.3}, Mean: 3.25}
	for _, a := range []float64{0.5, 1, 2} {
		for _, g := range []float64{10, 100} {
			approximation.Rows = append(approximation.Rows, quality.AlphaGammaRow{Alpha: a, Gamma: g, Dimension: int(1296 * a), Error: 3.3 / a, Theory: 3.1 / a})
		}
	}
	loss := &quality.PCALoss{Requests: 20}
	for _, f := range []int{0, 8, 32} {
		loss.Rows = append(loss.Rows, quality.PCARow{Factor: f, Dimension: 864, Paper: interval(50), Standard: interval(20), Lost: interval(0.1)})
	}
	samples := &quality.Samples{Rows: []quality.Sample{{Name: "a.jpg", CPAR: []quality.SampleKeyword{{Keyword: "sky", Right: true}, {Keyword: "<sea>"}}, CAPIA: []quality.SampleKeyword{{Keyword: "sky", Right: true}}, Human: []string{"sky"}}}}
	var rows []cost.ScalingRow
	for _, n := range []int{1250, 2500, 5000} {
		rows = append(rows, cost.ScalingRow{Records: n, Kind: "real", Build: float64(n) / 100, PCA: 1, Forest: 1, Encrypt: 1, IndexBytes: uint64(n) * 1e4, Scan: int64(n) * 100, AP10: int64(n) * 30, Fixed: 1e5, FixedAP: 8, RecallAP10: 80, RecallFixed: 70})
	}
	scaling := &cost.Scaling{Rows: rows}
	flann := &cost.FLANN{Records: 300, Requests: 20, Trees: 10, Builds: 1}
	for _, space := range []string{"jl1296", "pca64"} {
		for _, library := range []string{cost.LibraryFLANN, cost.LibraryLeaf, cost.LibraryNode, cost.LibraryEncrypted} {
			for _, x := range []float64{10, 30, 90} {
				flann.Points = append(flann.Points, cost.FLANNRow{FLANNCurve: cost.FLANNCurve{Space: space, Library: library, Search: "best-bin", Splits: "vectors"}, Visits: int(x), Visited: x, Recall: x / 100, Micros: 10 * x})
			}
		}
	}
	flann.Equal = []cost.FLANNEqual{{FLANNCurve: flann.Points[3].FLANNCurve, Recall: 0.8, Visited: 70, Micros: 700, VisitsOverFLANN: 1.02, TimeOverFLANN: 1.5}}
	flann.Price = []cost.FLANNPrice{{Encrypted: flann.Points[9].FLANNCurve, Against: flann.Points[0].FLANNCurve, Factor: 3}}
	corel5k := &quality.Corel5kBeside{Corel5k: &quality.Corel5k{Rows: []measure.QualityRow{{Scheme: "capia", Neighbours: 5}}}}
	structures := &quality.Structures{Records: 300, Requests: 20, Rows: []quality.StructureRow{{Split: "pca", Place: "leaf", Search: "rank", Default: true}}}
	sealed := &cost.Sealed{Records: 300, Requests: 20, Quality: []measure.QualityRow{{Scheme: "sealed", Neighbours: 5}}, Cost: &cost.SealedCost{Records: 20000},
		Growth: []cost.GrowthRow{{Records: 20000, Cloud: 26}}}
	attacks := &attack.Attacks{Records: 300, Requests: 20, Rows: []attack.Row{{Attack: "match", Scheme: "capia", Success: 0.9}, {Attack: "key", Scheme: "capia", Estimate: &estimate.Estimate{Samples: 9}}}}
	draw := quality.Draw{Number: 1, Records: 300, Requests: 20, Rows: []quality.DrawRow{{Profile: "paper", Ranker: "paper", Scheme: "sealed", P: 18, Likely: []quality.Likely{{Written: 1}}}},
		Recalls: []quality.DrawRecall{{Search: "capia", Related: "one word", Admitted: 19, All: 45, Subsets: []float64{64, 65}}}}
	growth := &cost.ProfileGrowth{Dim: 128, Rows: []cost.GrowthRow{{Records: 20000, Cloud: 2}, {Records: 1000000, Cloud: 100}}}
	return &measure.Results{Steps: []checkpoint.Record{{Name: "sweep", Seconds: 12}},
		Failed: []measure.Failure{{Step: "none <really>", Error: "it & that"}},
		Each: []measure.Result{sweep, measured, approximation, loss, sealed, syntheticProfiles(), &cost.Letter{Boxes: []cost.LetterBox{{Box: "PL1C-RF Enc", Elements: 1299, Bytes: 10392, Dot: 1299, MS: 1}}, Place: 1, Planes: 10}, &quality.Draws{Draws: []quality.Draw{draw, draw}}, &quality.SmallCollections{Rows: []quality.SmallRow{{Profile: "learned", Records: 80, ECE: []float64{0.02}, Found: []float64{1.5}, Likely: [][]quality.Likely{{{Written: 1, Right: 0.7, Found: 0.3, Without: 0.2}}}}}}, growth, structures, corel5k, samples, flann, scaling,
			CollectNumbers(paper.Values(), measured, approximation, loss), &quality.Agreement{Records: 300, Requests: 20}, attacks,
			&cost.SealedTargets{Million: cost.LargeIndex{Records: 1_000_000, CellCount: 8}}, &quality.Cells{Records: 300, Rows: []measure.CellRow{{Cells: 8, Copies: 1.72}}, Asked: []measure.AskedRow{{Asked: 1}}},
			&cost.Baselines{Rows: []cost.BaselineRow{{Search: "sealed", Dim: 96}}}, &attack.Security{Rings: []attack.RingBits{{}}, Formats: []attack.FormatCost{{}}}, &quality.Clip{Rows: []quality.ClipRow{{Dim: 96}}},
			&load.Search{Each: []load.SearchDraw{{Draw: 1}}}, new(Kernels), &memory.Result{Rows: []memory.Row{{Name: "build", Photos: 300, PeakMB: 90, Seconds: 2.5}}},
			&load.Load{Rows: []load.Row{{Scheme: "capia", Records: 4500, Clients: 1, Rate: 1}, {Scheme: "capia", Records: 4500, Clients: 64, Rate: 3}}}}}
}

func syntheticProfiles() *quality.Profiles {
	p := &quality.Profiles{Records: 300, Requests: 20, CostRecords: 20000, CostKind: "augmented",
		Skipped: []quality.SkippedProfile{{Profile: "network", Reason: "no <model>"}}}
	for i, profile := range []string{"paper", "learned"} {
		for _, ranker := range []string{"paper", "calibrated"} {
			for _, scheme := range []string{"plain", "capia", "ivf@100", "ivf@10", "sealed"} {
				p.Rows = append(p.Rows, quality.ProfileRow{Profile: profile, Ranker: ranker, Scheme: scheme, Neighbours: 10, Dim: 131, P: 20 + 5*float64(i), R: 22 + 5*float64(i), Nplus: 100 + 20*i, Cloud: 10 - 9*float64(i)})
			}
		}
		p.Costs = append(p.Costs, quality.ProfileCost{Profile: profile, Scheme: "capia", Cloud: 10 - 9*float64(i)})
		p.Details = append(p.Details, quality.ProfileDetail{Profile: profile, ECE: 0.0321, Recall: map[string]float64{"ivf": 0.97, "rank": 0.96}})
	}
	return p
}

func TestWrite(t *testing.T) {
	folder := t.TempDir()
	r := syntheticResults()
	files, err := Write(folder, r)
	if err != nil {
		t.Fatal(err)
	}
	plots := 0
	for _, name := range files {
		b, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(name) {
		case ".csv":
			rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
			if err != nil || len(rows) < 2 {
				t.Errorf("%s: %d rows, %v", name, len(rows), err)
			}
		case ".svg":
			plots++
			if err := parseXML(b); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if want := len(Figures(r)); plots != want || want < 12 {
		t.Errorf("%d files of plots, want %d", plots, want)
	}
}

// Readers of every version rely on names and columns.
func TestTablesMatchCommittedResults(t *testing.T) {
	folder := t.TempDir()
	r := syntheticResults()
	if _, err := Write(folder, r); err != nil {
		t.Fatal(err)
	}
	columns := func(folder string) map[string]string {
		names, err := filepath.Glob(filepath.Join(folder, "*.csv"))
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		out := map[string]string{}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(string(b), "\n")
			out[filepath.Base(name)] = line
		}
		return out
	}
	got, want := columns(folder), columns("../results")
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s has columns %q, want %q", name, got[name], want[name])
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is not committed", name)
	}
	plots, err := filepath.Glob("../results/plots/*.svg")
	if err != nil || len(plots) != len(Figures(r)) {
		t.Errorf("%d figures are committed, here are %d", len(plots), len(Figures(r)))
	}
	for _, name := range plots {
		if _, err := os.Stat(filepath.Join(folder, plotsName, filepath.Base(name))); err != nil {
			t.Errorf("%s is committed, and here %v", name, err)
		}
	}
}

func parseXML(b []byte) error {
	dec := xml.NewDecoder(bytes.NewReader(b))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

type novel struct{}

func (*novel) Tables() []measure.Table {
	return []measure.Table{{Name: "novel", Title: "A <new> thing", Columns: []string{"what"}, Rows: [][]string{{"a cell"}}}}
}

func (*novel) Figures() []plot.Figure {
	return []plot.Figure{{Name: "novel", Title: "A curve", Series: []plot.Series{{Points: []plot.Point{{X: 1, Y: 1}, {X: 2, Y: 3}}}}}}
}

func TestWriteHandlesNewResultTypes(t *testing.T) {
	folder := t.TempDir()
	files, err := Write(folder, &measure.Results{Each: []measure.Result{new(novel)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"novel.csv", "plots/novel.svg"} {
		if !slices.Contains(files, name) {
			t.Errorf("no %s among %v", name, files)
		}
	}
}

func TestProfileFiguresGroupRowsByProfile(t *testing.T) {
	p := syntheticProfiles()
	p.Rows[6].P = 33  // paper, calibrated, capia
	p.Rows[11].P = 44 // learned, W_t, capia
	byName := map[string]plot.Figure{}
	for _, f := range p.Figures() {
		byName[f.Name] = f
	}
	quality := byName["profiles-quality"]
	if len(quality.Series) != 4 || len(quality.X.Names) != 2 || quality.X.Names[1] != "learned" {
		t.Fatalf("%+v", quality)
	}
	for i, want := range [][]plot.Point{{{X: 1, Y: 20}, {X: 2, Y: 44}}, {{X: 1, Y: 33}, {X: 2, Y: 25}}} {
		if got := quality.Series[i].Points; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%s: %v, want %v", quality.Series[i].Name, got, want)
		}
	}
}

// of returns the result of type R, or nil.
func of[R measure.Result](r *measure.Results) (none R) {
	for _, x := range r.Each {
		if x, ok := x.(R); ok {
			return x
		}
	}
	return none
}
