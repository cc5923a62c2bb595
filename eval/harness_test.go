package eval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/eval/checkpoint"
	"cpar/internal/paper"
)

// lab makes a lab of images that never were files.
func lab(t testing.TB, train, test int) *Lab {
	l := &Lab{corpus: syntheticCorpus(3, train, test), digest: "made"}
	t.Cleanup(l.Close)
	return l
}

// A whole run keeps its measurements, continues after a failure, reports what failed, and
// the next run measures nothing that exists.
func TestPlanAll(t *testing.T) {
	t.Setenv("PATH", "") // no compiler, so no FLANN: TestMeasureFLANN has it
	p := &Plan{Lab: lab(t, 120, 10), Runner: &checkpoint.Runner{Dir: t.TempDir(), Identity: "test " + Machine()}, N: 100, MaxN: 0, LiteralN: 30, alpha: 0.05, Draws: 2}
	measured, reused := map[string]int{}, map[string]int{}
	p.Done = func(r checkpoint.Record, err error) {
		switch {
		case err != nil && r.Name != "flann":
			t.Errorf("%s: %v", r.Name, err)
		case err != nil:
		case r.Reused:
			reused[r.Name]++
		default:
			measured[r.Name]++
		}
	}
	first, err := p.All(context.Background())
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "scaling") || !strings.Contains(err.Error(), "flann") || len(first.Failed) != 2 {
		t.Errorf("scaling without a size and FLANN without a compiler cannot work, but: %v, %v", err, first.Failed)
	}
	alone := map[string]any{"N": 0, "Network": "", "Runtime": ""}
	// The kept steps, and what each depends on besides the collection.
	steps := map[string]any{"sweep": nil, "corel5k": nil, "agreement": nil, "samples": nil, "alphagamma": nil, "pca": nil, "structures": nil,
		"attacks": alone, "clusters": alone, "cost": 100, "letter": 30, "peers": 100, "sealed": nil, "sealed-cost": 100, "sealed-growth": []int{100, 200},
		"profiles": map[string]any{"N": 100, "Network": "", "Runtime": ""}, "profile-growth": []int{100, 200},
		"sealed-size": []any{TargetSizes{Million: 400, Paper: 100, Update: 200, Clusters: 8}, map[string]any{"N": 100, "Network": "", "Runtime": ""}},
		"draws-1":     []any{alone, 1}, "draws-2": []any{alone, 2}, "small": []any{alone, 2}}
	for name, inputs := range steps {
		if measured[name] != 1 || reused[name] != 0 {
			t.Errorf("%s: measured %d times, reused %d times", name, measured[name], reused[name])
		}
		if got, want := keptInputs(t, p.Runner.Dir, name), digestOf(t, []any{"made", inputs}); got != want {
			t.Errorf("%s depends on other things than the collection and %v", name, inputs)
		}
	}
	if len(measured) != len(steps) {
		t.Errorf("measured %v", measured)
	}
	if Of[*Numbers](first) == nil || len(first.Steps) != len(steps) || len(first.Each) != len(Measurements())-2 || len(Of[*Draws](first).Draws) != 2 {
		t.Errorf("numbers %v, %d steps, %d results", Of[*Numbers](first), len(first.Steps), len(first.Each))
	}
	// Whatever shares an index comes first, and the index is dropped afterwards.
	if at := func(name string) int {
		return slices.IndexFunc(first.Steps, func(r checkpoint.Record) bool { return r.Name == name })
	}; at("agreement") > at("pca") || at("attacks") > at("cost") || p.Lab.session != nil {
		t.Errorf("steps %v, session %v", first.Steps, p.Lab.session)
	}
	checkSweep(t, Of[*Sweep](first), 120)
	// In the clear, through the projection and encrypted: the same neighbours, so much
	// the same words.
	quality := map[string]Quality{}
	for _, row := range Of[*Corel5kBeside](first).Rows[:5] {
		quality[row.Scheme] = row.Quality
	}
	if q := quality["plain-jl"]; q.R < quality["capia"].R-3 || q.R > quality["capia"].R+3 || quality["plain-exact"].R < q.R/2 {
		t.Errorf("quality in the clear and encrypted: %v", quality)
	}
	checkCost(t, Of[*Cost](first), 100)

	// Nothing of the lab exists the second time: it must not be needed.
	p.Lab.Close()
	p.Lab = &Lab{digest: "made"}
	second, _ := p.All(context.Background())
	for name := range steps {
		if measured[name] != 1 || reused[name] != 1 {
			t.Errorf("%s, again: measured %d times, reused %d times", name, measured[name], reused[name])
		}
	}
	kept := Kept(p.Runner)
	first.Steps, first.Failed, second.Steps, second.Failed, kept.Steps = nil, nil, nil, nil, nil
	if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(first, kept) {
		t.Error("kept results differ from the measured ones")
	}

	// Results taken over elsewhere still name the machine that measured them.
	p.Runner.Identity, p.Runner.AnyIdentity = "test elsewhere", true
	if third, _ := p.All(context.Background()); third.Machine != Machine() {
		t.Errorf("measured on %q, says the report", third.Machine)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.Runner.Dir, p.Lab, p.Done = t.TempDir(), lab(t, 30, 5), nil
	if r, err := p.All(ctx); !errors.Is(err, context.Canceled) || len(r.Failed) > 0 {
		t.Errorf("interrupted: %v, %v", err, r.Failed)
	}
}

// keptInputs is the digest of a kept step's inputs.
func keptInputs(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "state", name+".json"))
	if err != nil {
		t.Error(err)
	}
	var record checkpoint.Record
	if err := json.Unmarshal(b, &record); err != nil || record.Name != name {
		t.Errorf("%s: %+v, %v", name, record, err)
	}
	return record.Inputs
}

func digestOf(t *testing.T, inputs any) string {
	t.Helper()
	b, err := json.Marshal(inputs)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// A size that fails does not affect the smaller ones.
func TestScalingKeepsSmaller(t *testing.T) {
	p := &Plan{Lab: lab(t, 40, 5), Runner: &checkpoint.Runner{Dir: t.TempDir(), Identity: "test a machine"}, MaxN: 2500}
	_, _, err := checkpoint.Do(t.Context(), p.Runner, "scaling-1250", []any{"made", 1250}, func(context.Context) (*ScalingRow, error) {
		return &ScalingRow{Records: 1250, Scan: 5}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The larger size needs photographs to augment, but there are none.
	r := p.NewRun()
	s, err := ResultFrom[*Scaling](t.Context(), r, "scaling")
	if !errors.Is(err, cpar.ErrInput) || s == nil || len(s.Rows) != 1 || s.Rows[0].Scan != 5 || len(r.steps) != 1 {
		t.Errorf("%+v, %v, %v", s, r.steps, err)
	}
	if kept := Of[*Scaling](Kept(p.Runner)); kept == nil || len(kept.Rows) != 1 {
		t.Errorf("kept is %+v", kept)
	}
}

// Nor does a failing part of the measurement of scheme sealed affect the others.
func TestSealedKeepsParts(t *testing.T) {
	p := &Plan{Lab: lab(t, 40, 5), Runner: &checkpoint.Runner{Dir: t.TempDir(), Identity: "test a machine"}, N: 50}
	for name, keep := range map[string]func() error{
		"sealed": func() error {
			_, _, err := checkpoint.Do(t.Context(), p.Runner, "sealed", []any{"made", nil}, func(context.Context) (*Sealed, error) { return &Sealed{Requests: 5}, nil })
			return err
		},
		"sealed-growth": func() error {
			_, _, err := checkpoint.Do(t.Context(), p.Runner, "sealed-growth", []any{"made", []int{50, 100}}, func(context.Context) (*[]SealedGrowthRow, error) { return &[]SealedGrowthRow{{Records: 50}, {Records: 100}}, nil })
			return err
		},
	} {
		if err := keep(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	// Its cost needs more photographs than there are, and none can be made from these.
	s, err := ResultFrom[*Sealed](t.Context(), p.NewRun(), "sealed")
	if !errors.Is(err, cpar.ErrInput) || s == nil || s.Requests != 5 || s.Cost != nil || len(s.Growth) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if kept := Of[*Sealed](Kept(p.Runner)); !reflect.DeepEqual(kept, s) {
		t.Errorf("kept is %+v", kept)
	}
	if _, err := p.Measure(t.Context(), "sealed-cost"); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a part by itself: %v", err)
	}
}

// Every machine that measured something is named once.
func TestMachines(t *testing.T) {
	for _, c := range []struct {
		identities []string
		want       string
	}{{nil, Machine()}, {[]string{"program a, 2 cores", "other a, 2 cores"}, "a, 2 cores"}, {[]string{"p a", "p b", "q a"}, "a; b"}} {
		var steps []checkpoint.Record
		for _, id := range c.identities {
			steps = append(steps, checkpoint.Record{Identity: id})
		}
		if got := machines(steps); got != c.want {
			t.Errorf("%v: %q, want %q", c.identities, got, c.want)
		}
	}
}

func checkSweep(t *testing.T, s *Sweep, n int) {
	t.Helper()
	if s.Records != n || len(s.Rows) != 1+len(searches)*len(approximations) {
		t.Fatalf("%d records, %d rows", s.Records, len(s.Rows))
	}
	scan := s.Rows[0]
	if scan.Speedup.Value != 1 || scan.Relative.Value != 100 || scan.Relative.Low != 100 || scan.Recall10.Value != 100 || scan.Bound != 1 {
		t.Errorf("capia beside itself: %+v", scan)
	}
	for _, r := range s.Rows[1:] {
		if r.Approx == 100 && (r.Recall10.Value != 100 || r.Paper != scan.Paper || r.Standard != scan.Standard) {
			t.Errorf("%s is not as accurate as capia: %+v", r.Name, r)
		}
		if r.Approx == 10 && (r.Visits != float64(n/10) || r.Bound != 10 || r.Memory <= 0) {
			t.Errorf("%s: %+v", r.Name, r)
		}
		for _, x := range []Interval{r.Speedup, r.Paper, r.Relative, r.RelativeStandard, r.Recall10} {
			if !(x.Low <= x.Value && x.Value <= x.High) {
				t.Errorf("%s: interval %+v", r.Name, x)
			}
		}
	}
}

func checkCost(t *testing.T, c *Cost, n int) {
	t.Helper()
	if c.Records != n || c.Kind != "real" || c.Rows[0].Name != "capia" || c.Rows[0].Bytes != int64(8*1347*n) {
		t.Errorf("%+v", c.Rows[0])
	}
	for _, r := range c.Rows {
		if r.NS <= 0 || r.StreamRatio <= 0 || r.Bytes <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if last := c.Rows[len(c.Rows)-1]; last.Name != "batch16" || last.Bytes != c.Rows[0].Bytes {
		t.Errorf("the last row is %+v", last)
	}
	r := c.Roofline
	if r == nil || r.BandwidthGBs <= 0 || r.MultipliesGs <= 0 || len(r.Points) != len(batchSizes) {
		t.Fatalf("roofline %+v", r)
	}
	for _, p := range r.Points {
		if p.NS <= 0 || p.Rate <= 0 || p.Intensity != float64(p.Batch)/8 {
			t.Errorf("roofline at %+v", p)
		}
	}
	if c.Request.Bytes <= c.Request.Vector+c.Request.Order || c.Request.Vector != 8*1347 || c.Request.Planes <= 0 || c.Request.Reply <= 0 || c.Request.Encrypt <= 0 || c.Request.Rank <= 0 {
		t.Errorf("request %+v", c.Request)
	}
	if b := c.Build; b.Whole < b.PCA+b.Encrypt || b.Lists <= 0 || b.Encrypt <= 0 || b.PCA <= 0 || b.Forest <= 0 || b.IndexBytes < uint64(8*1347*n) || b.Fields == 0 {
		t.Errorf("build %+v", b)
	}
	if c.Primitives.Vector <= 0 || c.Primitives.BoxedPlane <= 0 || c.Primitives.OPE <= 0 {
		t.Errorf("tools %+v", c.Primitives)
	}
}

// Every number of the paper has ours beside it.
func TestNumbersAreAllThere(t *testing.T) {
	c := &Cost{Build: BuildCost{Forest: 1, Encrypt: 1, Fields: 1, IndexBytes: 1, PeakMB: 1}, Request: RequestCost{Features: 1, Rank: 1, Bytes: 1, Reply: 1},
		Primitives: PrimitiveCost{Vector: 1, Plane: 1, BoxedPlane: 1, OPE: 1}, Rows: []CostRow{{Name: "capia", Bytes: 1}, {Name: "cpar@10", Bytes: 1}, {Name: "cpar@2.5", Bytes: 1}}}
	a := &AlphaGamma{Mean: 3, Rows: []AlphaGammaRow{{Alpha: 1, Gamma: 100, Dimension: 1296}}}
	n := CollectNumbers(paper.Values(), c, a, &PCALoss{Rows: []PCARow{{Factor: 32, Dimension: 864, Lost: Interval{Value: 0.1}}}})
	if len(n.Rows) <= len(paper.Values().Numbers) {
		t.Errorf("%d rows", len(n.Rows))
	}
	for _, r := range n.Rows {
		if r.Ours == 0 || r.Paper != nil && r.Place == "" {
			t.Errorf("%+v", r)
		}
	}
}

// The judge against counting by hand: two requests, one with a single related image.
func TestProtocols(t *testing.T) {
	truth := [][]string{{"sea", "sky"}, {"car"}}
	indexed := [][]string{{"sea"}, {"sky", "car"}}
	j := newJudge(truth, indexed)
	if !j.admitted[0] || j.admitted[1] {
		t.Errorf("admitted %v: the first has two related images, the second one", j.admitted)
	}
	all := []marks{j.mark(0, []string{"sea", "dog"}), j.mark(1, []string{"car"})}
	once := []float64{1, 1}
	// The paper's: request 0 only; sea 1/1, sky 0/1 (not output), nobody has dog.
	paper := j.tally(all, once, true)
	if got := paper.recall(true); got != 100 {
		t.Errorf("over the words that were output: %g", got)
	}
	if got := paper.recall(false); got != 50 {
		t.Errorf("over all words of admitted requests: %g", got)
	}
	// Standard: sea 1, sky 0, car 1.
	if got := j.tally(all, once, false).recall(false); math.Abs(got-200.0/3) > 1e-9 {
		t.Errorf("standard: %g", got)
	}
	// Drawn twice, a request counts twice: sky and sea of request 0 as before.
	if got := j.tally(all, []float64{2, 0}, false).recall(false); got != 50 {
		t.Errorf("drawn twice: %g", got)
	}
	// The standard recall equals that of Measure.
	predicted := [][]string{{"sea", "dog"}, {"car"}}
	if got, want := RoundTo(j.tally(all, once, false).recall(false), 2), MeasureQuality(predicted, truth).R; got != want {
		t.Errorf("%g here, %g by Measure", got, want)
	}
}

func TestTableCSV(t *testing.T) {
	table := Table{Name: "x", Columns: []string{"a", "b"}, Rows: [][]string{{"1,5", `say "so"`}, {"", "z"}}}
	var buf bytes.Buffer
	if err := table.WriteCSV(&buf); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(&buf).ReadAll()
	if err != nil || !reflect.DeepEqual(got, append([][]string{table.Columns}, table.Rows...)) {
		t.Errorf("%q, %v", got, err)
	}
	for x, want := range map[float64]string{0.012345: "0.0123", 1234.6: "1235", 3.14159: "3.14", 0: "0"} {
		if got := FormatSignificant(x); got != want {
			t.Errorf("%g is written %s, want %s", x, got, want)
		}
	}
}
