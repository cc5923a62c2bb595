package simulate

import (
	"fmt"

	"cpar/eval"
)

// A Result is what came of all scenarios.
type Result struct {
	Options
	Rows []Row `json:"rows"`
}

// Tables implements eval.Result.
func (r *Result) Tables() []eval.Table {
	t := eval.Table{
		Name: "fleet",
		Title: fmt.Sprintf("%d nodes in racks of %d, %s indexes of %d shards of %d MiB, each on two nodes, busy for %g of their time, %v: simulated",
			r.Nodes, r.PerRack, eval.FormatThousands(r.Indexes), r.Shards, r.ShardBytes>>20, r.Busy, r.Length),
		Columns: []string{"what happens", "questions", "failed", "over 2 s", "p50 ms", "p99 ms", "p99.9 ms", "longest ms", "asked twice", "asked again", "moved, of the ideal", "fullest holds", "fullest reads"},
	}
	for _, x := range r.Rows {
		moved := ""
		if x.Ideal > 0 {
			moved = fmt.Sprintf("%.2f", float64(x.Moved)/float64(x.Ideal))
		}
		t.Rows = append(t.Rows, []string{x.Scenario, fmt.Sprint(x.Requests), fmt.Sprint(x.Failed), fmt.Sprint(x.Late),
			fmt.Sprintf("%.0f", x.P50), fmt.Sprintf("%.0f", x.P99), fmt.Sprintf("%.0f", x.P999), fmt.Sprintf("%.0f", x.Max),
			fmt.Sprint(x.Hedges), fmt.Sprint(x.Retries), moved, fmt.Sprintf("%.2f", x.FullestHeld), fmt.Sprintf("%.2f", x.FullestServed)})
	}
	return []eval.Table{t}
}
