package simulate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cpar/eval/measure"
	"cpar/internal/progress"
)

// A Scenario is a failure or a change, which begins at scenarioStart.
type Scenario struct {
	Name  string
	begin func(*cluster)
}

const scenarioStart = 10 * time.Second

var Scenarios = []Scenario{
	{"nothing happens", func(*cluster) {}},
	{"one node is killed", func(f *cluster) { f.kill(f.sorted()[:1], false) }},
	{"a rack loses its power", func(f *cluster) {
		f.kill(slices.DeleteFunc(f.sorted(), func(n *node) bool { return n.rack != "rack-0" }), true)
	}},
	{"a tenth more nodes join within ten seconds", func(f *cluster) {
		for i := range f.o.Nodes / 10 {
			f.schedule(f.now+time.Duration(i)*10*time.Second/time.Duration(f.o.Nodes/10), func() {
				f.add(f.o.Nodes + i).late = true
				f.changed()
			})
		}
	}},
	{"a tenth of the nodes is drained at once", func(f *cluster) {
		for _, n := range f.sorted()[:f.o.Nodes/10] {
			n.leaving = true
		}
		f.changed()
	}},
	{"one node in twenty is ten times slower", func(f *cluster) {
		for _, n := range f.sorted()[:f.o.Nodes/20] {
			n.slow = 10
		}
	}},
	{"one node stands still for eight seconds", func(f *cluster) { f.sorted()[0].frozen = f.now + 8*time.Second }},
}

// kill ends nodes. Connections close at once, unless the nodes lose power.
// Routers learn of the loss when the lease expires.
func (f *cluster) kill(nodes []*node, power bool) {
	for _, n := range nodes {
		n.gone, n.silent = true, power
	}
	if power {
		f.schedule(f.now+f.o.Silence, func() {
			for _, n := range nodes {
				n.silent = false
			}
		})
	}
	f.schedule(f.now+f.o.Lease, f.changed)
}

type Row struct {
	Scenario string `json:"scenario"`
	Requests int    `json:"questions"`
	Failed   int    `json:"failed"`
	// Late is the number of answers that took longer than answerTimeout.
	Late int `json:"late"`
	// P50 to Max are percentiles and the maximum of response times in
	// milliseconds.
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p999_ms"`
	Max  float64 `json:"max_ms"`
	// Hedges and Retries count the messages beyond one per shard.
	Hedges  int `json:"hedges"`
	Retries int `json:"retries"`
	// Moved is the amount of data newly assigned to nodes.
	Moved int64 `json:"moved_bytes"`
	// Fetched is the amount read from storage, including temporary copies.
	Fetched int64 `json:"fetched_bytes"`
	// Ideal is the amount of data held by the nodes that came or went.
	Ideal int64 `json:"ideal_bytes"`
	// FullestHeld is the maximum data that a node holds, divided by the mean
	// over nodes.
	FullestHeld float64 `json:"fullest_held"`
	// FullestServed is the same ratio for the data that a node reads.
	FullestServed float64 `json:"fullest_served"`
}

// answerTimeout is the promised upper bound of the response time.
const answerTimeout = 2 * time.Second

func (f *cluster) fillRow() {
	slices.Sort(f.latencies)
	at := func(share float64) float64 {
		return float64(f.latencies[min(int(share*float64(len(f.latencies))), len(f.latencies)-1)]) / 1e6
	}
	f.out.P50, f.out.P99, f.out.P999, f.out.Max = at(0.5), at(0.99), at(0.999), at(1)
	late, _ := slices.BinarySearch(f.latencies, answerTimeout+1)
	f.out.Late = len(f.latencies) - late
	came, went := max(0, len(f.nodes)-f.o.Nodes), 0
	for _, n := range f.nodes {
		if n.gone || n.leaving {
			went++
		}
	}
	all := Replicas * float64(len(f.shards)) * float64(f.o.ShardBytes)
	f.out.Ideal = int64(all * (float64(came)/float64(f.o.Nodes+came) + float64(went)/float64(f.o.Nodes)))
	f.out.FullestServed = f.fullest(func(n *node) float64 { return n.served })
}

func Simulate(ctx context.Context, o Options, progress progress.Func) ([]Row, error) {
	var out []Row
	for i, s := range Scenarios {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("simulating: %w", err)
		}
		progress.Report("simulate", i, len(Scenarios))
		out = append(out, run(o, s))
	}
	progress.Report("simulate", len(Scenarios), len(Scenarios))
	return out, nil
}

type Result struct {
	Options
	Rows []Row `json:"rows"`
}

func (r *Result) Tables() []measure.Table {
	t := measure.Table{
		Name: "fleet",
		Title: fmt.Sprintf("Simulation of %[7]v: %[1]d nodes in racks of %[2]d, busy for %[6]g of their time, hold %[3]s indexes of %[4]d shards of %[5]d MiB, each shard on two nodes",
			r.Nodes, r.PerRack, measure.FormatThousands(r.Indexes), r.Shards, r.ShardBytes>>20, r.Busy, r.Length),
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
	return []measure.Table{t}
}
