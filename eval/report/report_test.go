package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cpar/eval"
	"cpar/eval/attack"
	"cpar/eval/checkpoint"
	"cpar/eval/estimate"
	"cpar/eval/plot"
	"cpar/internal/paper"
	"cpar/model/rank"
)

// syntheticResults are small but complete: they include every kind of result.
func syntheticResults() *eval.Results {
	interval := func(x float64) eval.Interval { return eval.Interval{Value: x, Low: x - 2, High: x + 2} }
	sweep := &eval.Sweep{Records: 300, Requests: 20, Admitted: 19, Words: 30, Resamples: 10}
	cost := &eval.Cost{Records: 20000, Kind: "augmented", Requests: 5,
		Roofline: &eval.Roofline{Kernels: "plain", BandwidthGBs: 20, MultipliesGs: 24, Points: []eval.RooflinePoint{{Batch: 1, NS: 1e7, Intensity: 0.125, Rate: 2.5, OfRoof: 1}, {Batch: 8, NS: 2e7, Intensity: 1, Rate: 18, OfRoof: 0.9}}}}
	add := func(name, search string, ap, speed float64) {
		sweep.Rows = append(sweep.Rows, eval.SweepRow{Name: name, Search: search, Approx: ap, NS: 1e6, Speedup: eval.Interval{Value: speed, Low: speed * 0.9, High: speed * 1.1},
			Bound: 2 * speed, Memory: 1.5 * speed, Recall10: interval(80), Paper: interval(60 - speed), PaperAll: interval(50 - speed), Standard: interval(25 - speed),
			Relative: interval(100 - speed), RelativeAll: interval(99 - speed), RelativeStandard: interval(98 - speed)})
		cost.Rows = append(cost.Rows, eval.CostRow{Name: name, NS: int64(1e7 / speed), Bytes: 1e6, StreamRatio: 0.5, Search: search, Approx: ap, Visits: 10, Speedup: speed, Bound: 2 * speed, MemoryBound: 1.5 * speed})
	}
	add("capia", "", 0, 1)
	for _, s := range []string{"depth", "rank"} {
		add("cpar@100", s, 100, 0.9)
		add("cpar@10", s, 10, 3)
		add("cpar@2.5", s, 2.5, 8)
	}
	approximation := &eval.AlphaGamma{Pairs: 100, Seeds: []float64{3.2, 3.3}, Mean: 3.25}
	for _, a := range []float64{0.5, 1, 2} {
		for _, g := range []float64{10, 100} {
			approximation.Rows = append(approximation.Rows, eval.AlphaGammaRow{Alpha: a, Gamma: g, Dimension: int(1296 * a), Error: 3.3 / a, Theory: 3.1 / a})
		}
	}
	loss := &eval.PCALoss{Requests: 20}
	for _, f := range []int{0, 8, 32} {
		loss.Rows = append(loss.Rows, eval.PCARow{Factor: f, Dimension: 864, Paper: interval(50), Standard: interval(20), Lost: interval(0.1)})
	}
	samples := &eval.Samples{Rows: []eval.Sample{{Name: "a.jpg", CPAR: []eval.SampleKeyword{{Keyword: "sky", Right: true}, {Keyword: "<sea>"}}, CAPIA: []eval.SampleKeyword{{Keyword: "sky", Right: true}}, Human: []string{"sky"}}}}
	var rows []eval.ScalingRow
	for _, n := range []int{1250, 2500, 5000} {
		rows = append(rows, eval.ScalingRow{Records: n, Kind: "real", Build: float64(n) / 100, PCA: 1, Forest: 1, Encrypt: 1, IndexBytes: uint64(n) * 1e4, Scan: int64(n) * 100, AP10: int64(n) * 30, Fixed: 1e5, FixedAP: 8, RecallAP10: 80, RecallFixed: 70})
	}
	scaling := eval.FitScaling(rows)
	flann := &eval.FLANN{Records: 300, Requests: 20, Trees: 10, Builds: 1}
	for _, space := range []string{"jl1296", "pca64"} {
		for _, library := range []string{eval.LibraryFLANN, eval.LibraryLeaf, eval.LibraryNode, eval.LibraryEncrypted} {
			for _, x := range []float64{10, 30, 90} {
				flann.Points = append(flann.Points, eval.FLANNRow{FLANNCurve: eval.FLANNCurve{Space: space, Library: library, Search: "best-bin"}, Visits: int(x), Visited: x, Recall: x / 100, Micros: 10 * x})
			}
		}
	}
	flann.Equal = []eval.FLANNEqual{{FLANNCurve: flann.Points[3].FLANNCurve, Recall: 0.8, Visited: 70, Micros: 700, VisitsOverFLANN: 1.02, TimeOverFLANN: 1.5}}
	flann.Price = []eval.FLANNPrice{{Encrypted: flann.Points[9].FLANNCurve, Against: flann.Points[0].FLANNCurve, Factor: 3}}
	corel5k := &eval.Corel5kBeside{Corel5k: &eval.Corel5k{Rows: []eval.QualityRow{{Scheme: "capia", Neighbours: 5}}}}
	structures := &eval.Structures{Records: 300, Requests: 20, Rows: []eval.StructureRow{{Split: "pca", Place: "leaf", Search: "rank", Default: true}}}
	sealed := &eval.Sealed{Records: 300, Requests: 20, Quality: []eval.QualityRow{{Scheme: "sealed", Neighbours: 5}}, Cost: &eval.SealedCost{Records: 20000},
		Growth: []eval.SealedGrowthRow{{Records: 20000, Cloud: 26}}, Fits: []eval.Fit{{What: "cloud", Exponent: 1}}, Transfers: []eval.TransferRow{{Records: 1000, Requests: 1}}}
	attacks := &eval.Attacks{Records: 300, Requests: 20, Rows: []attack.Row{{Attack: "match", Scheme: "capia", Success: 0.9}, {Attack: "key", Scheme: "capia", Estimate: &estimate.Estimate{Samples: 9}}}}
	draw := eval.Draw{Number: 1, Records: 300, Requests: 20, Rows: []eval.DrawRow{{Profile: "paper", Ranker: "paper", Scheme: "sealed", P: 18}},
		Recalls: []eval.DrawRecall{{Search: "capia", Related: "one word", Admitted: 19, All: 45, Subsets: []float64{64, 65}}}}
	growth := &eval.ProfileGrowth{Dim: 128, Rows: []eval.ProfileGrowthRow{{Records: 20000, Cloud: 2}, {Records: 1000000, Cloud: 100}}}
	return &eval.Results{Machine: "a machine", Steps: []checkpoint.Record{{Name: "sweep", Seconds: 12}},
		Failed: []eval.Failure{{Step: "none <really>", Error: "it & that"}},
		Each: []eval.Result{sweep, cost, approximation, loss, sealed, syntheticProfiles(), &eval.Letter{Boxes: []eval.LetterBox{{Box: "PL1C-RF Enc", Elements: 1299, Bytes: 10392, Dot: 1299, MS: 1}}, Place: 1, Planes: 10}, &eval.Draws{Draws: []eval.Draw{draw, draw}}, &eval.SmallCollections{Draws: 1, Rows: []eval.SmallRow{{Profile: "learned", Records: 80, ECE: []float64{0.02}}}}, growth, structures, corel5k, samples, flann, scaling,
			eval.CollectNumbers(paper.Values(), cost, approximation, loss), &eval.Agreement{Records: 300, Requests: 20}, attacks,
			&eval.SealedTargets{Million: eval.LargeIndex{Records: 1_000_000, CellCount: 8}}, &eval.Cells{Records: 300, Rows: []eval.CellRow{{Cells: 8, Copies: 1.72}}},
			&eval.Baselines{Rows: []eval.BaselineRow{{Search: "sealed", Dim: 96}}}}}
}

func syntheticProfiles() *eval.Profiles {
	p := &eval.Profiles{Records: 300, Requests: 20, CostRecords: 20000, CostKind: "augmented", CapiaRatio: 0.0987,
		Skipped: []eval.SkippedProfile{{Profile: "network", Reason: "no <model>"}}}
	sample := eval.ProfileSample{Name: "a.jpg", Human: []string{"sky"}}
	for i, profile := range []string{"paper", "learned"} {
		for _, ranker := range []string{"paper", "calibrated"} {
			for _, scheme := range []string{"plain", "capia", "ivf@100", "ivf@10", "sealed"} {
				p.Rows = append(p.Rows, eval.ProfileRow{Profile: profile, Ranker: ranker, Scheme: scheme, Neighbours: 10, Dim: 131, P: 20 + 5*float64(i), R: 22 + 5*float64(i), Nplus: 100 + 20*i, Cloud: 10 - 9*float64(i)})
			}
		}
		p.Losses = append(p.Losses, eval.ProfileLoss{Profile: profile, Ranker: "paper", Scheme: "capia", R: 0.1})
		p.Costs = append(p.Costs, eval.ProfileCost{Profile: profile, Scheme: "capia", Cloud: 10 - 9*float64(i)})
		p.Details = append(p.Details, eval.ProfileDetail{Profile: profile, ECE: 0.0321, Recall: map[string]float64{"ivf": 0.97, "rank": 0.96},
			Bins: []rank.Bin{{Predicted: 0.05, Observed: 0.04, Count: 900}, {}, {Predicted: 0.55, Observed: 0.6, Count: 20}}})
		sample.Words = append(sample.Words, eval.ProfileAnnotated{Profile: profile, Keywords: []eval.SampleKeyword{{Keyword: "sky", Right: true}, {Keyword: "<sand>"}}})
	}
	p.Samples = []eval.ProfileSample{sample}
	return p
}

// testCollection is a folder with one generated photograph.
func testCollection(t *testing.T) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 300, 200))
	for i := range img.Pix {
		img.Pix[i] = uint8(i * 7)
	}
	img.Set(3, 3, color.White)
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, img, nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.jpg"), buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Every table is a readable CSV file, every figure a valid SVG and PNG, and only the page
// shows a photograph.
func TestWrite(t *testing.T) {
	folder := t.TempDir()
	r := syntheticResults()
	files, err := Write(folder, testCollection(t), r)
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
		case ".png":
			plots++
			if img, _, err := image.Decode(bytes.NewReader(b)); err != nil || img.Bounds().Dx() < 900 {
				t.Errorf("%s: %v", name, err)
			}
		}
		if name != PageName && bytes.Contains(b, []byte("image/jpeg")) {
			t.Errorf("%s shows a photograph", name)
		}
	}
	if want := 2 * len(r.Figures()); plots != want || want < 40 {
		t.Errorf("%d files of plots, want %d", plots, want)
	}
	to := t.TempDir()
	if err := Publish(folder, to, files); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(to, PageName)); err == nil {
		t.Error("the page was published")
	}
	if _, err := os.Stat(filepath.Join(to, "plots", "tradeoff.svg")); err != nil {
		t.Error(err)
	}
}

// The tables have the same names and columns as the committed ones: readers find the same
// in every version.
func TestTablesAreThoseCommitted(t *testing.T) {
	folder := t.TempDir()
	r := syntheticResults()
	if _, err := Write(folder, "", r); err != nil {
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
	// One profile is left out here.
	want["profile-samples.csv"] = strings.Replace(want["profile-samples.csv"], ",network", "", 1)
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
	if err != nil || len(plots) != len(r.Figures()) {
		t.Errorf("%d figures are committed, here are %d", len(plots), len(r.Figures()))
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

var remote = regexp.MustCompile(`(?i)(?:src|href|srcset|data|action)\s*=\s*["']?(?:https?:)?//|url\(|@import|<script`)

// The page refers to nothing elsewhere, escapes its data, underlines correct words, and
// has no colour that would not follow the theme.
func TestPage(t *testing.T) {
	r := syntheticResults()
	b, err := Page(r, testCollection(t))
	if err != nil {
		t.Fatal(err)
	}
	s := string(b)
	if m := remote.FindString(s); m != "" {
		t.Errorf("the page requests something: %q", m)
	}
	for _, want := range []string{"none &lt;really&gt;", "it &amp; that", "<u>sky</u>, &lt;sea&gt;", "<dt>learned</dt><dd><u>sky</u>, &lt;sand&gt;</dd>", "<b>0.099</b> of the time", "network was left out: no &lt;model&gt;", `src="data:image/jpeg;base64,`, "3.25 %", "3.61 %", "20,000"} {
		if !strings.Contains(s, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, section := range []string{"tradeoff", "recall", "cost", "alphagamma", "pca", "profiles", "profile-detail", "profile-samples", "draws", "profile-growth", "corel5k", "samples", "flann", "scaling", "numbers", "agreement", "time"} {
		if strings.Count(s, `id="`+section+`"`) != 1 || strings.Count(s, `href="#`+section+`"`) != 1 {
			t.Errorf("section %s", section)
		}
	}
	if m := regexp.MustCompile(`style="[^"]*#[0-9A-Fa-f]{6}`).FindString(s); m != "" {
		t.Errorf("a plot has a fixed colour: %s", m)
	}
}

// Orange is reserved for the paper; measurements have other colours, and the page has
// each of them for day and night.
func TestColours(t *testing.T) {
	for _, f := range syntheticResults().Figures() {
		for _, s := range f.Series {
			if theirs := strings.Contains(s.Name, "the paper"); theirs != (s.Colour == plot.Orange) {
				t.Errorf("%s: %q is of colour %d", f.Name, s.Name, s.Colour)
			}
		}
	}
	for hex, name := range plot.Colours() {
		if strings.Count(pageSource, "--"+name+": #") != 2 || !strings.Contains(pageSource, "--"+name+": "+strings.ToLower(hex)+";") {
			t.Errorf("--%s is not %s by day and something by night", name, hex)
		}
	}
}

// The text about a forest with a record at every node shows interpolated values, and
// nothing if there are none.
func TestFLANNText(t *testing.T) {
	say := func(f *eval.FLANN) string {
		var s strings.Builder
		for _, p := range flannText(f) {
			s.WriteString(string(p))
		}
		return s.String()
	}
	equal := func(splits string, visits float64) eval.FLANNEqual {
		return eval.FLANNEqual{FLANNCurve: eval.FLANNCurve{Library: eval.LibraryNode, Splits: splits}, VisitsOverFLANN: visits}
	}
	f := &eval.FLANN{}
	if s := say(f); strings.Contains(s, "every node") {
		t.Errorf("no value was interpolated, but: %s", s)
	}
	f.Equal = []eval.FLANNEqual{equal("vectors", 1.72), equal("vectors", 1.24), equal("vectors", 0), equal("levels", 0.37)}
	if s := say(f); !strings.Contains(s, "it visits 1.24 to 1.72 times") || !strings.Contains(s, "it visits 0.37 to 0.37 times") {
		t.Error(s)
	}
}

// The figures of growth need no fit: a failed one is missing from Fits.
func TestScalingWithoutFits(t *testing.T) {
	s := eval.Of[*eval.Scaling](syntheticResults())
	s.Fits = nil
	for _, f := range s.Figures(nil) {
		if f.Name == "scaling-cloud" && f.Series[2].Name != eval.FixedVisitsName {
			t.Errorf("%q", f.Series[2].Name)
		}
	}
}

// novel is a measurement unknown to the report.
type novel struct{}

func (*novel) Tables() []eval.Table {
	return []eval.Table{{Name: "novel", Title: "A <new> thing", Columns: []string{"what"}, Rows: [][]string{{"a cell"}}}}
}

func (*novel) Figures(*eval.Results) []plot.Figure {
	return []plot.Figure{{Name: "novel", Title: "A curve", Caption: "So it goes.", Series: []plot.Series{{Points: []plot.Point{{X: 1, Y: 1}, {X: 2, Y: 3}}}}}}
}

// A new kind of result needs no code here: it gets its files and its part of the page.
func TestAnotherResult(t *testing.T) {
	folder := t.TempDir()
	files, err := Write(folder, "", &eval.Results{Each: []eval.Result{new(novel)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"novel.csv", "plots/novel.svg", "plots/novel.png"} {
		if !slices.Contains(files, name) {
			t.Errorf("no %s among %v", name, files)
		}
	}
	page, err := os.ReadFile(filepath.Join(folder, PageName))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<section id="novel">`, "<h2>A &lt;new&gt; thing</h2>", "<td>a cell</td>", "So it goes."} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A report on few results can also be written.
func TestPageOfLittle(t *testing.T) {
	whole := syntheticResults()
	for name, r := range map[string]*eval.Results{
		"nothing": {},
		"sweep":   {Each: []eval.Result{eval.Of[*eval.Sweep](whole)}},
		"cost":    {Each: []eval.Result{eval.Of[*eval.Cost](whole)}},
		"growth":  {Each: []eval.Result{eval.Of[*eval.ProfileGrowth](whole)}},
		"one n":   {Each: []eval.Result{eval.FitScaling(eval.Of[*eval.Scaling](whole).Rows[:1])}},
	} {
		if _, err := Write(t.TempDir(), "", r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The figures of profiles show the data of the rows, each under its profile's name, and
// bins without words are not drawn as shares of 0.
func TestProfileFigures(t *testing.T) {
	p := syntheticProfiles()
	p.Rows[6].P = 33  // paper, calibrated, capia
	p.Rows[11].P = 44 // learned, W_t, capia
	byName := map[string]plot.Figure{}
	for _, f := range p.Figures(nil) {
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
	diagram := byName["profiles-reliability"]
	if s := diagram.Series[len(diagram.Series)-1]; s.Name != "learned, ECE 0.032" || len(s.Points) != 2 || s.Points[1].Y != 0.6 {
		t.Errorf("%+v", s)
	}
	// Without words nothing is drawn for them, and the rest is drawn.
	p.Details[0].Bins, p.Details[1].Bins = nil, nil
	if _, err := Write(t.TempDir(), "", &eval.Results{Each: []eval.Result{p}}); err != nil {
		t.Error(err)
	}
}
