package cost

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/eval/measure"
	"cpar/model/profile"
	"cpar/user"
)

// Per record: 100 bytes read, 10 ns of a core, 1 byte of reply.
var roundCosts = UnitCosts{Held: LinearCost{0, 100}, Read: LinearCost{0, 100}, Index: LinearCost{1000, 110}, Kept: LinearCost{5000, 2}, Request: LinearCost{1000, 0}, Reply: LinearCost{50, 1}, Core: LinearCost{0, 1e-8}, Owner: LinearCost{0.001, 0}}

var roundHost = Host{Cores: 10, Memory: 4e9 / planFull, Read: 100e9, Network: 1e9 / planBusy}

func TestPlanCapacity(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	// One shard of 10⁸ bytes and 10⁶ records per tenant. A request takes 1 ms
	// of ten cores and 1 ms of memory.
	p := PlanCapacity(Need{Records: 1_000_000, Tenants: 200, Rate: 10}, roundHost, roundCosts)
	near("memory", p.Memory, 2*200*1e8)
	near("machines by memory", p.ByMemory, 10)
	near("machines by processor", p.ByProcessor, 10*(1e-3+planRoundTrip/10)/planBusy)
	near("network", p.Network, 10*(2*1000+2*1_000_050))
	near("cloud", p.Cloud, 1+1e3*planRoundTrip)
	near("stored", p.Stored, 200*(1000+110e6))
	near("kept", p.Kept, 5000+2e6)
	near("hours", p.CoreHours, 1e-2*1e6/3600)
	if p.Machines != 10 || p.Bound != "memory" || p.Shards != 1 {
		t.Errorf("%d machines by %s, %d parts", p.Machines, p.Bound, p.Shards)
	}
	for _, c := range []struct {
		need  Need
		bound string
		least int
	}{
		{Need{Records: 1000, Tenants: 1, Rate: 1}, "copies", 2},
		{Need{Records: 1_000_000, Tenants: 1, Rate: 2000}, "processor", 5},
		{Need{Records: 1_000_000, Tenants: 200, Rate: 100_000}, "network", 200},
	} {
		host := roundHost
		if c.bound == "network" {
			host.Cores, host.Read = 10_000, 1e15
		}
		if p := PlanCapacity(c.need, host, roundCosts); p.Bound != c.bound || p.Machines < c.least {
			t.Errorf("%+v: %d machines by %s", c.need, p.Machines, p.Bound)
		}
	}
	if got := fitLine([2]float64{10, 30}, [2]float64{25, 45}); got != (LinearCost{15, 1}) || got.At(100) != 115 {
		t.Errorf("a line through (10, 25) and (30, 45): %+v", got)
	}
	if got := fitLine([2]float64{10, 30}, [2]float64{3, 2}); got != (LinearCost{2, 0}) {
		t.Errorf("a line that would fall: %+v", got)
	}
	if err := (Need{Records: 0, Tenants: 1}).Check(); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
}

func TestUnitCosts(t *testing.T) {
	made := syntheticPhotos(120)
	fit, err := profile.Fit(t.Context(), profile.Network, measure.FeaturesOf(made), measure.Keywords(made), profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range cpar.Schemes() {
		opt := user.Options{Scheme: scheme, Fitted: fit}
		if scheme == cpar.SchemeSealed {
			opt.Cells = 8
		}
		c, err := unitCosts(t.Context(), made, opt, [2]int{300, 900})
		if err != nil {
			t.Fatalf("%v: %v", scheme, err)
		}
		if c.Index.PerRecord < 100 || c.Kept.At(1000) < 1000 || scheme != cpar.SchemeLocal && (c.Held.PerRecord < 100 || c.Read.PerRecord < 10 || c.Request.Fixed < 100 || c.Reply.At(1000) < 100 || c.Core.At(1e6) <= 0) {
			t.Errorf("%v: %+v", scheme, c)
		}
		if scheme != cpar.SchemeSealed {
			continue
		}
		s, _, err := measure.OpenSealed(t.Context(), repeatPhotos(made, 1800), opt)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		want := stored(s.Manifest, s.Owner)
		for what, x := range map[string][2]float64{"stored": {c.Index.At(1800), want.index}, "held": {c.Held.At(1800), want.held}, "kept": {c.Kept.At(1800), want.kept}} {
			if ratio := x[0] / x[1]; ratio < 0.9 || ratio > 1.1 {
				t.Errorf("bytes %s of 1,800 records: %g by smaller indexes, and %g", what, x[0], x[1])
			}
		}
	}
}

func TestScalePage(t *testing.T) {
	var cells []int
	growth, err := CapacityTable(func(n Need) (UnitCosts, error) { cells = append(cells, n.cells()); return roundCosts, nil }, Need{Scheme: cpar.SchemeSealed, Profile: profile.Network}, roundHost)
	if err != nil || !slices.Equal(cells, []int{1, 4, 8}) {
		t.Errorf("costs were measured with %v cells (%v)", cells, err)
	}
	page, err := ScalePage(roundHost, time.Unix(0, 0), []measure.Table{growth}, []measure.Table{{Title: "simulated", Columns: []string{"x"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"1 January 1970", "## `sealed`, profile `network`", "| 1,000,000,000 |", "## simulated", "100 GB per second"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %q", part)
		}
	}
	b, err := json.Marshal(PlanCapacity(Need{Records: 10, Tenants: 1, Rate: 1}, roundHost, roundCosts))
	for _, name := range []string{"machines", "memory_bytes", "network_bytes_per_s", "bound_by"} {
		if err != nil || !strings.Contains(string(b), `"`+name+`":`) {
			t.Errorf("no %s in %s (%v)", name, b, err)
		}
	}
}
