package eval

import (
	"fmt"
	"math"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/profile"
)

// A Need is what is asked of many machines.
type Need struct {
	Scheme  cpar.Scheme  `json:"scheme"`
	Profile profile.Kind `json:"profile"`
	// Records are those of each tenant's index; Rate is requests a second of all tenants together.
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

// A Host is one of the machines.
type Host struct {
	Cores  int     `json:"cores"`
	Memory float64 `json:"memory_bytes"`
	// Read is bytes a second that all cores together read from memory, Network those of its connection.
	Read    float64 `json:"read_bytes_per_s"`
	Network float64 `json:"network_bytes_per_s"`
}

// A Line is a cost that grows with the records, from what it is without any.
type LinearCost struct {
	Fixed     float64 `json:"fixed"`
	PerRecord float64 `json:"per_record"`
}

// At is the cost of so many records.
func (l LinearCost) At(records float64) float64 { return l.Fixed + l.PerRecord*records }

// lineOf goes through two measurements. No cost shrinks with the records, nor is less than nothing without any.
func fitLine(n [2]float64, cost [2]float64) LinearCost {
	slope := max(0, (cost[1]-cost[0])/(n[1]-n[0]))
	return LinearCost{max(0, cost[1]-slope*n[1]), slope}
}

// UnitCosts are what indexes of a scheme and a profile cost, measured on this machine.
type UnitCosts struct {
	Measured [2]int `json:"measured_records"`
	// Index is bytes stored, Held those that the cloud has in memory, Read what it reads of them for a request, Kept
	// what a device keeps, Request and Reply what is sent and received.
	Index   LinearCost `json:"index_bytes"`
	Held    LinearCost `json:"held_bytes"`
	Read    LinearCost `json:"read_bytes"`
	Kept    LinearCost `json:"kept_bytes"`
	Request LinearCost `json:"request_bytes"`
	Reply   LinearCost `json:"reply_bytes"`
	// Core is seconds of one core of the cloud, Owner of all cores of the owner.
	Core  LinearCost `json:"core_s"`
	Owner LinearCost `json:"owner_s"`
}

// A Capacity is what a need takes.
type Capacity struct {
	Machines int     `json:"machines"`
	Memory   float64 `json:"memory_bytes"` // of all machines, for the copies
	Network  float64 `json:"network_bytes_per_s"`
	// Bound is what decides the number of machines: copies (two machines at least), memory, processor or network.
	Bound string `json:"bound_by"`

	ByMemory    float64 `json:"machines_by_memory"`
	ByProcessor float64 `json:"machines_by_processor"`
	ByNetwork   float64 `json:"machines_by_network"`
	Stored      float64 `json:"stored_bytes"` // in object storage
	Shards       int     `json:"parts"`        // of each index
	// Cloud and Owner are milliseconds of one request, on machines that do nothing else: as many of these as there
	// are parts, or all.
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

// What is planned with: machines are used to half of their processors and network, so that what comes at random does
// not wait, and to three quarters of their memory.
const (
	planCopies  = 2
	planShardBytes    = 200 << 20
	planRoundTrip = 0.3e-3 // seconds that a message to another machine takes, there and back
	planBusy    = 0.5
	planFull    = 0.75
)

// Check refuses what no plan can be made for. Errors wrap cpar.ErrInput.
func (n Need) Check() error {
	if n.Records < 1 || n.Records > 10_000_000_000 || n.Tenants < 1 || n.Tenants > 1_000_000_000 || n.Rate < 0 || n.Rate > 1e9 || math.IsNaN(n.Rate) {
		return hint.Add(fmt.Errorf("planning: %w: %d records of %d tenants, %g requests a second", cpar.ErrInput, n.Records, n.Tenants, n.Rate),
			"take 1 to ten thousand million records, as many tenants as there are people, and no negative rate")
	}
	return nil
}

// PlanCapacity says what a need takes, by the costs of its scheme and profile. Costs grow with the records, which is
// measured up to a million (profile-growth, scaling) and assumed beyond.
func PlanCapacity(n Need, h Host, c UnitCosts) Capacity {
	records := float64(n.Records)
	out := Capacity{Need: n, Host: h, Costs: c,
		Sent: c.Request.At(records), Received: c.Reply.At(records), Kept: c.Kept.At(records),
		Owner: c.Owner.At(records) * 1e3, Stored: c.Index.At(records) * float64(n.Tenants),
	}
	held, core := c.Held.At(records), c.Core.At(records)
	out.Shards = int(max(1, math.Ceil(held/planShardBytes)))
	out.Memory = planCopies * held * float64(n.Tenants)
	// A request takes a machine's whole memory for as long as reading takes, or its cores for as long as they compute.
	alone := max(core/float64(h.Cores), c.Read.At(records)/h.Read)
	out.CoreHours = core * 1e6 / 3600
	// Every part gets the request; parts of the reply go to the router, and from there to the client.
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
