package cost

import (
	"fmt"
	"math"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/profile"
)

// A Need is the load that a cluster must serve.
type Need struct {
	Scheme  cpar.Scheme  `json:"scheme"`
	Profile profile.Kind `json:"profile"`
	// Records is the size of each tenant's index. Rate is the number of
	// requests per second of all tenants together.
	Records int     `json:"records"`
	Tenants int     `json:"tenants"`
	Rate    float64 `json:"qps"`
}

// Planned are the schemes and profiles of docs/scale.md.
var Planned = []Need{
	{Scheme: cpar.SchemeSealed, Profile: profile.Network}, {Scheme: cpar.SchemeSealed, Profile: profile.Paper},
	{Scheme: cpar.SchemeLocal, Profile: profile.Network}, {Scheme: cpar.SchemeCAPIA, Profile: profile.Paper},
	{Scheme: cpar.SchemeCPAR, Profile: profile.Paper}, {Scheme: cpar.SchemeIVF, Profile: profile.Paper},
}

// A Host describes one machine of the cluster.
type Host struct {
	Cores  int     `json:"cores"`
	Memory float64 `json:"memory_bytes"`
	// Read is the memory bandwidth of all cores together in bytes per second,
	// Network the bandwidth of the connection.
	Read    float64 `json:"read_bytes_per_s"`
	Network float64 `json:"network_bytes_per_s"`
}

// A LinearCost is a fixed cost plus a cost per record.
type LinearCost struct {
	Fixed     float64 `json:"fixed"`
	PerRecord float64 `json:"per_record"`
}

// At returns the cost of an index of the given size.
func (l LinearCost) At(records float64) float64 { return l.Fixed + l.PerRecord*records }

// Neither coefficient of fitLine is negative.
func fitLine(n [2]float64, cost [2]float64) LinearCost {
	slope := max(0, (cost[1]-cost[0])/(n[1]-n[0]))
	return LinearCost{max(0, cost[1]-slope*n[1]), slope}
}

// UnitCosts are the costs of indexes with one scheme and profile, measured on
// this machine.
type UnitCosts struct {
	Measured [2]int `json:"measured_records"`
	// Index is stored, Held is in the server's memory, Read is read of it for a
	// request, and Kept is stored on a device. Request and Reply are sent. All
	// are bytes.
	Index   LinearCost `json:"index_bytes"`
	Held    LinearCost `json:"held_bytes"`
	Read    LinearCost `json:"read_bytes"`
	Kept    LinearCost `json:"kept_bytes"`
	Request LinearCost `json:"request_bytes"`
	Reply   LinearCost `json:"reply_bytes"`
	// Core is the server's time on one core, Owner the owner's time on all
	// cores, in seconds.
	Core  LinearCost `json:"core_s"`
	Owner LinearCost `json:"owner_s"`
}

// A Capacity is the cluster that a need takes.
type Capacity struct {
	Machines int     `json:"machines"`
	Memory   float64 `json:"memory_bytes"` // of all machines, for the copies
	Network  float64 `json:"network_bytes_per_s"`
	// Bound names what determines the number of machines: copies (at least two
	// machines), memory, processor or network.
	Bound string `json:"bound_by"`

	ByMemory    float64 `json:"machines_by_memory"`
	ByProcessor float64 `json:"machines_by_processor"`
	ByNetwork   float64 `json:"machines_by_network"`
	Stored      float64 `json:"stored_bytes"` // in object storage
	Shards      int     `json:"parts"`        // of each index
	// Cloud and Owner are milliseconds per request on idle machines. A request
	// uses one machine per shard, or all machines if there are fewer.
	Cloud     float64 `json:"cloud_ms"`
	Owner     float64 `json:"owner_ms"`
	Sent      float64 `json:"request_bytes"`
	Received  float64 `json:"reply_bytes"`
	Kept      float64 `json:"kept_bytes"`
	CoreHours float64 `json:"core_hours_per_million_requests"`

	Need  Need      `json:"need"`
	Host  Host      `json:"host"`
	Costs UnitCosts `json:"costs"`
}

// Half of the processors and network, so that random arrivals do not queue, and
// three quarters of the memory.
const (
	planCopies     = 2
	planShardBytes = 200 << 20
	planRoundTrip  = 0.3e-3 // seconds for a round trip to another machine
	planBusy       = 0.5
	planFull       = 0.75
)

// Check returns an error that wraps cpar.ErrInput if n cannot be planned.
func (n Need) Check() error {
	if n.Records < 1 || n.Records > 10_000_000_000 || n.Tenants < 1 || n.Tenants > 1_000_000_000 || n.Rate < 0 || n.Rate > 1e9 || math.IsNaN(n.Rate) {
		return hint.Add(fmt.Errorf("planning: %w: %d records of %d tenants, %g requests a second", cpar.ErrInput, n.Records, n.Tenants, n.Rate),
			"take 1 to ten thousand million records, as many tenants as there are people, and no negative rate")
	}
	return nil
}

// PlanCapacity computes the cluster for a need from the costs of its scheme and
// profile. Costs are linear in the records. That is measured up to a million
// records (profile-growth, scaling) and assumed beyond.
func PlanCapacity(n Need, h Host, c UnitCosts) Capacity {
	records := float64(n.Records)
	out := Capacity{Need: n, Host: h, Costs: c,
		Sent: c.Request.At(records), Received: c.Reply.At(records), Kept: c.Kept.At(records),
		Owner: c.Owner.At(records) * 1e3, Stored: c.Index.At(records) * float64(n.Tenants),
	}
	held, core := c.Held.At(records), c.Core.At(records)
	out.Shards = int(max(1, math.Ceil(held/planShardBytes)))
	out.Memory = planCopies * held * float64(n.Tenants)
	// Reading occupies memory bandwidth, computing occupies cores.
	alone := max(core/float64(h.Cores), c.Read.At(records)/h.Read)
	out.CoreHours = core * 1e6 / 3600
	// Every shard receives the request. Partial replies go through the router.
	out.Network = n.Rate * (out.Sent*float64(1+out.Shards) + 2*out.Received)
	out.ByMemory = out.Memory / (h.Memory * planFull)
	out.ByProcessor = n.Rate * (alone + planRoundTrip*float64(out.Shards)/float64(h.Cores)) / planBusy
	out.ByNetwork = out.Network / (h.Network * planBusy)
	most := float64(planCopies)
	out.Bound = "copies"
	for _, x := range []struct {
		by   string
		need float64
	}{{"memory", out.ByMemory}, {"processor", out.ByProcessor}, {"network", out.ByNetwork}} {
		if x.need > most {
			most, out.Bound = x.need, x.by
		}
	}
	out.Machines = int(math.Ceil(most))
	out.Cloud = (alone/float64(min(out.Shards, out.Machines)) + planRoundTrip) * 1e3
	return out
}
