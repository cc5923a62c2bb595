package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/eval/checkpoint"
	"cpar/eval/cost"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/eval/quality"
	"cpar/internal/paper"
)

// The run after a failure measures only what is missing.
func TestPlanAll(t *testing.T) {
	t.Setenv("PATH", "")
	p := &measure.Plan{Measurements: Measurements(), Lab: measuretest.NewLab(t, 120, 10), Runner: &checkpoint.Runner{Dir: t.TempDir(), Origin: checkpoint.Origin{Program: "test", Machine: measure.Machine()}}, N: 100, MaxN: 0, LiteralN: 30, LiteralAlpha: 0.05, Draws: 1}
	measured, reused := map[string]int{}, map[string]int{}
	defer func(d time.Duration) { kernelTime = d }(kernelTime)
	kernelTime = 0
	// These steps need a compiler, or the go command to build programs.
	programs := []string{"flann", "load", "memory", "search"}
	p.Done = func(r checkpoint.Record, err error) {
		switch {
		case err != nil && !slices.Contains(programs, r.Name):
			t.Errorf("%s: %v", r.Name, err)
		case err != nil:
		case r.Reused:
			reused[r.Name]++
		default:
			measured[r.Name]++
		}
	}
	first, err := p.All(context.Background())
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "scaling") || len(first.Failed) != 1+len(programs) {
		t.Errorf("scaling without a size and %v without programs cannot work, but: %v, %v", programs, err, first.Failed)
	}
	alone := map[string]any{"N": 0, "Network": "", "Runtime": ""}
	// Kept steps, and their inputs besides the collection.
	steps := map[string]any{"sweep": nil, "corel5k": nil, "agreement": nil, "samples": nil, "alphagamma": nil, "pca": nil, "structures": nil,
		"attacks": alone, "clusters": alone, "cost": 100, "letter": 30, "peers": 100, "sealed": nil, "clip": nil, "security": nil, "kernels": nil, "sealed-cost": 100, "sealed-growth": []int{100, 200},
		"profiles": map[string]any{"N": 100, "Network": "", "Runtime": ""}, "profile-growth": []int{100, 200},
		"sealed-size": []any{cost.TargetSizes{Million: 400, Paper: 100, Update: 200, Clusters: 8}, map[string]any{"N": 100, "Network": "", "Runtime": ""}},
		"draws-1":     []any{alone, 1},
		"small-0":     []any{alone, 3}, "small-30": []any{alone, 3}, "small-100": []any{alone, 3}, "small-300": []any{alone, 3}, "small-1000": []any{alone, 3}, "small-all": []any{alone, 3}}
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
	if of[*Numbers](first) == nil || len(first.Steps) != len(steps) || len(first.Each) != len(Measurements())-1-len(programs) || len(of[*quality.Draws](first).Draws) != 1 {
		t.Errorf("numbers %v, %d steps, %d results", of[*Numbers](first), len(first.Steps), len(first.Each))
	}
	// Costs run before quality, and measurements that share an index run together.
	if at := func(name string) int {
		return slices.IndexFunc(first.Steps, func(r checkpoint.Record) bool { return r.Name == name })
	}; at("cost") > at("sweep") || at("agreement") != at("sweep")+3 || at("agreement") > at("attacks") {
		t.Errorf("steps %v", first.Steps)
	}
	checkSweep(t, of[*quality.Sweep](first), 120)
	// Projection and encryption hardly change the keywords.
	found := map[string]measure.Quality{}
	for _, row := range of[*quality.Corel5kBeside](first).Rows[:5] {
		found[row.Scheme] = row.Quality
	}
	if q := found["plain-jl"]; q.R < found["capia"].R-3 || q.R > found["capia"].R+3 || found["plain-exact"].R < q.R/2 {
		t.Errorf("found in the clear and encrypted: %v", found)
	}
	checkCost(t, of[*cost.Cost](first), 100)

	// The second run must not need the lab.
	p.Lab.Close()
	p.Lab = measure.LabOf(nil, "made")
	second, _ := p.All(context.Background())
	for name := range steps {
		if measured[name] != 1 || reused[name] != 1 {
			t.Errorf("%s, again: measured %d times, reused %d times", name, measured[name], reused[name])
		}
	}
	first.Steps, first.Failed, second.Steps, second.Failed = nil, nil, nil, nil
	if !reflect.DeepEqual(first, second) {
		t.Error("kept results differ from the measured ones")
	}

	// Results accepted from another machine name it.
	p.Runner.Origin.Machine, p.Runner.AnyOrigin = "elsewhere", true
	if third, _ := p.All(context.Background()); third.Steps[0].Machine != measure.Machine() {
		t.Errorf("measured on %q, says the report", third.Steps[0].Machine)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.Runner.Dir, p.Lab, p.Done = t.TempDir(), measuretest.NewLab(t, 30, 5), nil
	if r, err := p.All(ctx); !errors.Is(err, context.Canceled) || len(r.Failed) > 0 {
		t.Errorf("interrupted: %v, %v", err, r.Failed)
	}
}

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

func TestScalingKeepsSmallerSizesAfterFailure(t *testing.T) {
	p := &measure.Plan{Measurements: Measurements(), Lab: measuretest.NewLab(t, 0, 5), Runner: &checkpoint.Runner{Dir: t.TempDir(), Origin: checkpoint.Origin{Machine: "a machine"}}, MaxN: 2500}
	_, _, err := checkpoint.Do(t.Context(), p.Runner, "scaling-1250", []any{"made", 1250}, func(context.Context) (*cost.ScalingRow, error) {
		return &cost.ScalingRow{Records: 1250, Scan: 5}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// An empty collection cannot be enlarged.
	r := p.NewRun()
	s, err := measure.ResultFrom[*cost.Scaling](t.Context(), r, "scaling")
	if !errors.Is(err, cpar.ErrInput) || s == nil || len(s.Rows) != 1 || s.Rows[0].Scan != 5 || len(r.Steps) != 1 {
		t.Errorf("%+v, %v, %v", s, r.Steps, err)
	}
}

func TestSealedKeepsStepsAfterFailure(t *testing.T) {
	p := &measure.Plan{Measurements: Measurements(), Lab: measuretest.NewLab(t, 0, 5), Runner: &checkpoint.Runner{Dir: t.TempDir(), Origin: checkpoint.Origin{Machine: "a machine"}}, N: 50}
	for name, keep := range map[string]func() error{
		"sealed": func() error {
			_, _, err := checkpoint.Do(t.Context(), p.Runner, "sealed", []any{"made", nil}, func(context.Context) (*cost.Sealed, error) { return &cost.Sealed{Requests: 5}, nil })
			return err
		},
		"sealed-growth": func() error {
			_, _, err := checkpoint.Do(t.Context(), p.Runner, "sealed-growth", []any{"made", []int{50, 100}}, func(context.Context) (*[]cost.GrowthRow, error) {
				return &[]cost.GrowthRow{{Records: 50}, {Records: 100}}, nil
			})
			return err
		},
	} {
		if err := keep(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	// An empty collection cannot be enlarged.
	s, err := measure.ResultFrom[*cost.Sealed](t.Context(), p.NewRun(), "sealed")
	if !errors.Is(err, cpar.ErrInput) || s == nil || s.Requests != 5 || s.Cost != nil || len(s.Growth) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := p.Measure(t.Context(), "sealed-cost"); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a part by itself: %v", err)
	}
}

func checkSweep(t *testing.T, s *quality.Sweep, n int) {
	t.Helper()
	if s.Records != n || len(s.Rows) != 1+len(measure.Searches)*len(measure.Approximations) {
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
		for _, x := range []measure.Interval{r.Speedup, r.Paper, r.Relative, r.RelativeStandard, r.Recall10} {
			if !(x.Low <= x.Value && x.Value <= x.High) {
				t.Errorf("%s: interval %+v", r.Name, x)
			}
		}
	}
}

func checkCost(t *testing.T, c *cost.Cost, n int) {
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
	if r == nil || r.BandwidthGBs <= 0 || r.MultipliesGs <= 0 || len(r.Points) != len(cost.BatchSizes) {
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
	if most := len(c.Sealed); most == 0 || most%3 != 0 || c.Sealed[0].Records != int64(n) || c.Sealed[most-1].Records != int64(5*n) {
		t.Errorf("sealed %+v", c.Sealed)
	}
	for _, b := range c.Sealed {
		if b.Read <= 0 || b.One <= 0 || b.Batch <= 0 || b.Kernels == "" {
			t.Errorf("a batch of sealed %+v", b)
		}
	}
	if c.Primitives.Vector <= 0 || c.Primitives.BoxedPlane <= 0 || c.Primitives.OPE <= 0 {
		t.Errorf("tools %+v", c.Primitives)
	}
}

func TestEveryPublishedNumberIsMeasured(t *testing.T) {
	c := &cost.Cost{Build: measure.BuildCost{Forest: 1, Encrypt: 1, Fields: 1, IndexBytes: 1, PeakMB: 1}, Request: cost.RequestCost{Features: 1, Rank: 1, Bytes: 1, Reply: 1},
		Primitives: cost.PrimitiveCost{Vector: 1, Plane: 1, BoxedPlane: 1, OPE: 1}, Rows: []cost.CostRow{{Name: "capia", Bytes: 1}, {Name: "cpar@10", Bytes: 1}, {Name: "cpar@2.5", Bytes: 1}}}
	a := &quality.AlphaGamma{Mean: 3, Rows: []quality.AlphaGammaRow{{Alpha: 1, Gamma: 100, Dimension: 1296}}}
	n := CollectNumbers(paper.Values(), c, a, &quality.PCALoss{Rows: []quality.PCARow{{Factor: 32, Dimension: 864, Lost: measure.Interval{Value: 0.1}}}})
	if len(n.Rows) <= len(paper.Values().Numbers) {
		t.Errorf("%d rows", len(n.Rows))
	}
	for _, r := range n.Rows {
		if r.Ours == 0 || r.Paper != nil && r.Place == "" {
			t.Errorf("%+v", r)
		}
	}
}
