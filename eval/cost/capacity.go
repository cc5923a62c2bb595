package cost

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"text/template"
	"time"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/hint"
	"cpar/model/profile"
	"cpar/user"
)

type Need struct {
	Scheme  cpar.Scheme  `json:"scheme"`
	Profile profile.Kind `json:"profile"`
	// Records is the number of records in each tenant's index.
	Records int `json:"records"`
	Tenants int `json:"tenants"`
	// Rate is the number of requests per second of all tenants together.
	Rate float64 `json:"qps"`
}

// Planned lists the schemes and profiles of docs/scale.md.
var Planned = []Need{
	{Scheme: cpar.SchemeSealed, Profile: profile.Network}, {Scheme: cpar.SchemeSealed, Profile: profile.Paper},
	{Scheme: cpar.SchemeLocal, Profile: profile.Network}, {Scheme: cpar.SchemeCAPIA, Profile: profile.Paper},
	{Scheme: cpar.SchemeCPAR, Profile: profile.Paper}, {Scheme: cpar.SchemeIVF, Profile: profile.Paper},
}

type Host struct {
	Cores  int     `json:"cores"`
	Memory float64 `json:"memory_bytes"`
	// Read is the memory bandwidth of all cores together, in bytes per second.
	Read float64 `json:"read_bytes_per_s"`
	// Network is the bandwidth of the connection, in bytes per second.
	Network float64 `json:"network_bytes_per_s"`
}

type LinearCost struct {
	Fixed     float64 `json:"fixed"`
	PerRecord float64 `json:"per_record"`
}

func (l LinearCost) At(records float64) float64 { return l.Fixed + l.PerRecord*records }

// fitLine returns the line through two measurements. Negative coefficients
// become 0.
func fitLine(n [2]float64, cost [2]float64) LinearCost {
	slope := max(0, (cost[1]-cost[0])/(n[1]-n[0]))
	return LinearCost{max(0, cost[1]-slope*n[1]), slope}
}

// UnitCosts holds the costs of indexes with one scheme and profile, measured on
// this machine.
type UnitCosts struct {
	Measured [2]int     `json:"measured_records"`
	Index    LinearCost `json:"index_bytes"`
	// Held is the part of the index that the server keeps in memory.
	Held LinearCost `json:"held_bytes"`
	// Read is the part of the index that a request reads.
	Read LinearCost `json:"read_bytes"`
	// Kept is the part of the index that a device keeps.
	Kept LinearCost `json:"kept_bytes"`
	// Request and Reply are the sizes of these messages in bytes.
	Request LinearCost `json:"request_bytes"`
	Reply   LinearCost `json:"reply_bytes"`
	// Core is the server's time on one core, and Owner is the owner's time on
	// all cores, in seconds.
	Core  LinearCost `json:"core_s"`
	Owner LinearCost `json:"owner_s"`
}

type Capacity struct {
	Machines int     `json:"machines"`
	Memory   float64 `json:"memory_bytes"` // of all machines, for planCopies copies of each index
	Network  float64 `json:"network_bytes_per_s"`
	// Bound names the limit that determines the number of machines: copies (at
	// least two machines), memory, processor or network.
	Bound string `json:"bound_by"`

	ByMemory    float64 `json:"machines_by_memory"`
	ByProcessor float64 `json:"machines_by_processor"`
	ByNetwork   float64 `json:"machines_by_network"`
	Stored      float64 `json:"stored_bytes"` // in object storage
	Shards      int     `json:"parts"`        // number per index
	// Cloud and Owner are milliseconds per request on idle machines. A request
	// uses one machine per shard (part of an index), or all machines if there
	// are fewer.
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

// A plan uses half of the processors and network, so that random arrivals
// rarely queue, and three quarters of the memory.
const (
	planCopies     = 2
	planShardBytes = 200 << 20
	planRoundTrip  = 0.3e-3 // round trip to another machine, in seconds
	planBusy       = 0.5
	planFull       = 0.75
)

// cells returns the number of cells of an index, or 0 if its scheme or profile
// has none.
func (n Need) cells() int {
	if n.Scheme != cpar.SchemeSealed || n.Profile == profile.Paper {
		return 0
	}
	return user.DefaultCells(n.Records)
}

// Check returns an error that wraps cpar.ErrInput if n cannot be planned.
func (n Need) Check() error {
	if n.Records < 1 || n.Records > 10_000_000_000 || n.Tenants < 1 || n.Tenants > 1_000_000_000 || n.Rate < 0 || n.Rate > 1e9 || math.IsNaN(n.Rate) {
		return hint.Add(fmt.Errorf("planning: %w: %d records of %d tenants, %g requests a second", cpar.ErrInput, n.Records, n.Tenants, n.Rate),
			"take 1 to 10 billion records, 1 to a billion tenants, and 0 to a billion requests a second")
	}
	return nil
}

// PlanCapacity computes the cluster for a need from the costs of its scheme and
// profile. Costs are linear in the number of records. Measurements
// (profile-growth, scaling) confirm this up to a million records. Beyond a
// million, linearity is an assumption.
func PlanCapacity(n Need, h Host, c UnitCosts) Capacity {
	records := float64(n.Records)
	out := Capacity{Need: n, Host: h, Costs: c,
		Sent: c.Request.At(records), Received: c.Reply.At(records), Kept: c.Kept.At(records),
		Owner: c.Owner.At(records) * 1e3, Stored: c.Index.At(records) * float64(n.Tenants),
	}
	held, core := c.Held.At(records), c.Core.At(records)
	out.Shards = int(max(1, math.Ceil(held/planShardBytes)))
	out.Memory = planCopies * held * float64(n.Tenants)
	// Reading is limited by memory bandwidth, and computing by the number of
	// cores.
	alone := max(core/float64(h.Cores), c.Read.At(records)/h.Read)
	out.CoreHours = core * 1e6 / 3600
	// Every shard receives the request. Partial replies pass through the
	// router.
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

func inUnits(x float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB", "TB", "PB"} {
		if x < 1000 {
			return measure.FormatSignificant(x) + " " + unit
		}
		x /= 1000
	}
	return measure.FormatSignificant(x) + " EB"
}

func formatMS(ms float64) string {
	switch {
	case ms >= 1000:
		return measure.FormatSignificant(ms/1000) + " s"
	case ms < 0.01:
		return "0"
	}
	return measure.FormatSignificant(ms) + " ms"
}

func (c *Capacity) Tables() []measure.Table {
	n := c.Need
	t := measure.Table{Name: "plan", Title: fmt.Sprintf("%v, profile %v: %s tenants with %s records each, %s requests a second; machines of %d cores, %s of memory that is read at %s/s, and a connection of %s/s",
		n.Scheme, n.Profile, measure.FormatThousands(n.Tenants), measure.FormatThousands(n.Records), measure.FormatSignificant(n.Rate), c.Host.Cores, inUnits(c.Host.Memory), inUnits(c.Host.Read), inUnits(c.Host.Network)),
		Columns: []string{"what", "value"}}
	row := func(what, value string) { t.Rows = append(t.Rows, []string{what, value}) }
	row("machines", fmt.Sprintf("%s, because of %s", measure.FormatThousands(c.Machines), c.Bound))
	row("by memory, processor, network", fmt.Sprintf("%s, %s, %s", measure.FormatSignificant(c.ByMemory), measure.FormatSignificant(c.ByProcessor), measure.FormatSignificant(c.ByNetwork)))
	row("memory, for two copies", inUnits(c.Memory))
	row("network, in and out", inUnits(c.Network)+"/s")
	row("object storage", inUnits(c.Stored))
	row("parts of an index", measure.FormatThousands(c.Shards))
	row("a request: cloud", formatMS(c.Cloud))
	row("a request: owner", formatMS(c.Owner))
	row("sent, received", inUnits(c.Sent)+", "+inUnits(c.Received))
	row("kept by a device", inUnits(c.Kept))
	row("hours of a core, for a million requests", measure.FormatSignificant(c.CoreHours))
	return []measure.Table{t}
}

var capacitySizes = []int{10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000}

// CapacityTable shows the growth of costs for one scheme and profile. It plans
// for one tenant with one request per second, and for tenants with 10⁹ records
// in total and ten requests per tenant and day. It calls costs once for each
// number of cells.
func CapacityTable(costs func(Need) (UnitCosts, error), n Need, h Host) (t measure.Table, err error) {
	t = measure.Table{Name: "plan-growth", Title: fmt.Sprintf("`%v`, profile `%v`", n.Scheme, n.Profile),
		Columns: []string{"records of an index", "cloud", "owner", "sent", "received", "kept", "machines for one index asked once a second", "machines for 10⁹ records in many indexes, each asked ten times a day"}}
	var c UnitCosts
	cells := -1
	for _, records := range capacitySizes {
		n.Records, n.Tenants, n.Rate = records, 1, 1
		if n.cells() != cells {
			if c, err = costs(n); err != nil {
				return t, err
			}
			cells = n.cells()
		}
		one := PlanCapacity(n, h, c)
		n.Tenants = 1_000_000_000 / records
		n.Rate = 10 * float64(n.Tenants) / 86400
		many := PlanCapacity(n, h, c)
		machines := func(c Capacity) string { return fmt.Sprintf("%s (%s)", measure.FormatThousands(c.Machines), c.Bound) }
		t.Rows = append(t.Rows, []string{measure.FormatThousands(records), formatMS(one.Cloud), formatMS(one.Owner), inUnits(one.Sent), inUnits(one.Received), inUnits(one.Kept), machines(one), machines(many)})
	}
	return t, nil
}

//go:embed capacity.md.tmpl
var capacityPage string

// ScalePage returns docs/scale.md, which shows the growth of schemes and a
// simulated cluster.
func ScalePage(h Host, date time.Time, growth, simulated []measure.Table) (string, error) {
	t, err := template.New("scale").Parse(capacityPage)
	if err != nil {
		return "", fmt.Errorf("reading the page's text: %w", err)
	}
	var b strings.Builder
	err = t.Execute(&b, map[string]any{
		"Date": date.UTC().Format("2 January 2006"), "Machine": measure.Machine(), "Read": inUnits(h.Read), "Memory": inUnits(h.Memory), "Cores": h.Cores, "Network": inUnits(h.Network),
		"Few": measure.FormatThousands(CapacityRecords[0]), "Many": measure.FormatThousands(CapacityRecords[1]), "Growth": measure.Markdown(growth...), "Simulated": measure.Markdown(simulated...),
		"Copies": planCopies, "PartMB": planShardBytes >> 20, "Message": planRoundTrip * 1e3, "Busy": 100 * planBusy, "Full": 100 * planFull,
	})
	return b.String(), err
}
