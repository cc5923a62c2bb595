// Package simulate simulates failures, response times and data movement in a
// cluster of nodes that jointly hold indexes. Events are discrete and drawn
// from a seed, so a run is repeatable. Shard placement and node selection use
// the router's own code (cloud/placement, cloud/scatter). Nodes, network and
// storage are models.
//
//	arrivals ─▶ request ─ placement, scatter ─▶ nodes, each with a queue, shards and fetches
//	scenario (a node dies, a rack fails, thirty nodes join) ─▶ nodes, then the routers' view
package simulate

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"cpar"
	"cpar/cloud/placement"
	"cpar/cloud/scatter"
	"cpar/internal/hint"
)

// Replicas is the number of nodes that hold a shard.
const Replicas = 2

type Options struct {
	Nodes   int `json:"nodes"`
	PerRack int `json:"per_rack"`
	Indexes int `json:"indexes"`
	// Shards is the number of shards per index. Each has ShardBytes bytes.
	Shards     int   `json:"shards"`
	ShardBytes int64 `json:"shard_bytes"`
	// Read and Fetch are the bytes per second that a node can score and fetch.
	Read  float64 `json:"read"`
	Fetch float64 `json:"fetch"`
	// Busy is the share of time that nodes spend on requests.
	Busy   float64       `json:"busy"`
	Length time.Duration `json:"length_ns"`
	// Lease is the time after which a silent node counts as dead.
	Lease time.Duration `json:"lease_ns"`
	// Silence is the time during which nodes that lost power do not even refuse
	// requests.
	Silence time.Duration `json:"silence_ns"`
	// Hop is the latency of a message.
	Hop  time.Duration `json:"hop_ns"`
	Seed uint64        `json:"seed"`
}

// Default describes a large cluster of 300 nodes, each with about 130 GB in
// memory.
var Default = Options{
	Nodes: 300, PerRack: 30, Indexes: 20_000, Shards: 5, ShardBytes: 200 << 20,
	Read: 10e9, Fetch: 1e9, Busy: 0.4, Length: time.Minute,
	Lease: 15 * time.Second, Silence: 4 * time.Second, Hop: 100 * time.Microsecond, Seed: 1,
}

// Check rejects options that cannot be simulated. Errors wrap cpar.ErrInput.
func (o Options) Check() error {
	if o.Nodes < 3 || o.Nodes > 10_000 || o.PerRack < 0 || o.Indexes < 1 || o.Shards < 1 || o.Indexes*o.Shards > 10_000_000 || o.Busy <= 0 || o.Busy > 10 || o.Length < scenarioStart {
		return hint.Add(fmt.Errorf("simulating machines: %w: %d nodes, %d indexes of %d shards, busy for %g of their time, %v", cpar.ErrInput, o.Nodes, o.Indexes, o.Shards, o.Busy, o.Length),
			"take 3 to 10,000 nodes, ten million shards at most, and %v or more", scenarioStart)
	}
	return nil
}

type shard struct {
	number int // index among all shards of the cluster
	slot   placement.Slot
}

type cluster struct {
	o      Options
	rng    *rand.Rand
	now    time.Duration
	events events
	nodes  map[string]*node
	shards []shard
	// The routers see the nodes in `all`, and place shards on the nodes in
	// `remaining`.
	all, remaining *placement.Map

	busy      scatter.NodeLoad
	recent    scatter.Latencies
	out       Row
	latencies []time.Duration
}

func (f *cluster) schedule(when time.Duration, what func()) {
	f.events.count++
	heap.Push(&f.events, event{max(when, f.now), f.events.count, what})
}

func (f *cluster) clock() time.Time { return time.Unix(0, 0).Add(f.now) }

func run(o Options, s Scenario) Row {
	f := &cluster{o: o, rng: rand.New(rand.NewPCG(o.Seed, 0)), nodes: map[string]*node{}}
	f.out.Scenario = s.Name
	for i := range o.Indexes * o.Shards {
		var id cpar.IndexID
		for b := range 8 {
			id[b] = byte(i / o.Shards >> (8 * b))
		}
		f.shards = append(f.shards, shard{i, placement.SlotOf("", id, i%o.Shards)})
	}
	for i := range o.Nodes {
		f.add(i)
	}
	f.refreshView()
	f.assign(func(n *node, s shard) { n.holds[s.number] = true })
	f.out.FullestHeld = f.fullest(func(n *node) float64 { return float64(len(n.holds)) })
	f.schedule(scenarioStart, func() { s.begin(f) })
	f.arrive()
	for f.events.Len() > 0 {
		e := heap.Pop(&f.events).(event)
		f.now = e.at
		e.what()
	}
	f.fillRow()
	return f.out
}

func (f *cluster) add(i int) *node {
	n := &node{cluster: f, name: fmt.Sprintf("node-%d", i), holds: map[int]bool{}, pending: map[int]bool{}, slow: 1}
	if f.o.PerRack > 0 {
		n.rack = fmt.Sprintf("rack-%d", i/f.o.PerRack)
	}
	f.nodes[n.name] = n
	return n
}

func (f *cluster) arrive() {
	perQuestion := float64(f.o.Shards) * float64(f.o.ShardBytes) / f.o.Read
	rate := f.o.Busy * float64(f.o.Nodes) / perQuestion
	var next func()
	next = func() {
		if f.now >= f.o.Length {
			return
		}
		f.startRequest(f.rng.IntN(f.o.Indexes))
		f.schedule(f.now+time.Duration(f.rng.ExpFloat64()/rate*float64(time.Second)), next)
	}
	f.schedule(0, next)
}

func (f *cluster) startRequest(index int) {
	shards := f.shards[index*f.o.Shards:][:f.o.Shards]
	q := scatter.New(len(shards), func(i int) []string {
		return f.busy.Order(placement.Candidates(f.remaining, f.all, shards[i].slot, Replicas), Replicas, f.clock())
	}, scatter.Options{
		Hedge: f.recent.Hedge(), Patience: f.recent.Patience(), Pause: 50 * time.Millisecond, Deadline: f.clock().Add(10 * time.Second), Slow: func(node string) { f.busy.MarkSlow(node, f.clock()) },
	})
	began, over := f.now, false
	var step func()
	step = func() {
		if over {
			return
		}
		sends, again := q.Step(f.clock())
		for _, s := range sends {
			f.send(q, shards[s.Shard], s, step)
		}
		if done, err := q.Done(); done {
			over = true
			f.recent.Spent(q.Hedges)
			f.out.Requests++
			f.out.Hedges += q.Hedges
			f.out.Retries += q.Retries
			if err != nil {
				f.out.Failed++
				return
			}
			f.latencies = append(f.latencies, f.now-began)
			return
		}
		f.schedule(again.Sub(time.Unix(0, 0)), step)
	}
	step()
}

func (f *cluster) send(q *scatter.Query, s shard, to scatter.Send, step func()) {
	sent := f.now
	f.busy.Add(to.Node, 1)
	f.schedule(f.now+f.o.Hop, func() {
		f.nodes[to.Node].answer(s, func(answered bool) {
			f.schedule(f.now+f.o.Hop, func() {
				f.busy.Add(to.Node, -1)
				if answered {
					q.Answered(to.Shard)
					f.recent.Add(f.now - sent)
				} else {
					q.Failed(to.Shard, to.Node)
				}
				step()
			})
		})
	})
}

// An event is a function to call at a given time. Simultaneous events run in
// the order in which they were scheduled.
type event struct {
	at    time.Duration
	order int
	what  func()
}

type events struct {
	list  []event
	count int
}

func (e *events) Len() int { return len(e.list) }
func (e *events) Less(i, j int) bool {
	a, b := e.list[i], e.list[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}
func (e *events) Swap(i, j int) { e.list[i], e.list[j] = e.list[j], e.list[i] }
func (e *events) Push(x any)    { e.list = append(e.list, x.(event)) }
func (e *events) Pop() any {
	last := e.list[len(e.list)-1]
	e.list = e.list[:len(e.list)-1]
	return last
}
