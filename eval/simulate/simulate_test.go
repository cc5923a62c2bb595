package simulate

import (
	"context"
	"testing"
	"time"
)

// The cluster is smaller than in `cpar-eval fleet`, so shards are less evenly
// placed.
func TestScenariosAnswerInTime(t *testing.T) {
	o := Default
	o.Nodes, o.PerRack, o.Indexes, o.Length = 60, 6, 4000, 30*time.Second
	rows, err := Simulate(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Logf("%+v", r)
		if r.Requests < 5000 || r.Failed > 0 || r.Late > 0 || r.Max > 2000 {
			t.Errorf("%s: %d of %d questions failed, %d were late, the longest took %.0f ms", r.Scenario, r.Failed, r.Requests, r.Late, r.Max)
		}
		if float64(r.Moved) > 1.2*float64(r.Ideal) || float64(r.Fetched) > 1.2*float64(r.Ideal) || r.Ideal > 0 && r.Moved < r.Ideal/2 {
			t.Errorf("%s: %d bytes moved, %d were fetched, where %d must", r.Scenario, r.Moved, r.Fetched, r.Ideal)
		}
		if r.FullestServed > 1.15 {
			t.Errorf("%s: the fullest node read %.2f times the mean", r.Scenario, r.FullestServed)
		}
	}
	again, err := Simulate(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if rows[i] != again[i] {
			t.Errorf("the same seed gave %+v, then %+v", rows[i], again[i])
		}
	}
}

func TestOverloadIsLate(t *testing.T) {
	o := Default
	o.Nodes, o.PerRack, o.Indexes, o.Length, o.Busy = 6, 0, 200, 30*time.Second, 1.5
	r := run(o, Scenarios[0])
	if r.Late == 0 || r.Failed == 0 || r.Failed == r.Requests {
		t.Errorf("%+v", r)
	}
}
