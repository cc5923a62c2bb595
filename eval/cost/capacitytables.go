package cost

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
	"time"

	"cpar/eval/measure"
)

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

// CapacityTable shows the growth of a scheme and a profile: one tenant with one
// request per second, and tenants with 10⁹ records in total and ten requests
// per tenant and day.
func CapacityTable(c UnitCosts, n Need, h Host) measure.Table {
	t := measure.Table{Name: "plan-growth", Title: fmt.Sprintf("`%v`, profile `%v`", n.Scheme, n.Profile),
		Columns: []string{"records of an index", "cloud", "owner", "sent", "received", "kept", "machines for one index asked once a second", "machines for 10⁹ records of many, each asked ten times a day"}}
	for _, records := range capacitySizes {
		n.Records, n.Tenants, n.Rate = records, 1, 1
		one := PlanCapacity(n, h, c)
		n.Tenants = 1_000_000_000 / records
		n.Rate = 10 * float64(n.Tenants) / 86400
		many := PlanCapacity(n, h, c)
		machines := func(c Capacity) string { return fmt.Sprintf("%s (%s)", measure.FormatThousands(c.Machines), c.Bound) }
		t.Rows = append(t.Rows, []string{measure.FormatThousands(records), formatMS(one.Cloud), formatMS(one.Owner), inUnits(one.Sent), inUnits(one.Received), inUnits(one.Kept), machines(one), machines(many)})
	}
	return t
}

//go:embed capacity.md.tmpl
var capacityPage string

// ScalePage returns docs/scale.md: the growth of schemes, and a simulated
// cluster.
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
