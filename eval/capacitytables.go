package eval

import (
	"fmt"
	"strings"
)

// inUnits writes a number of bytes with its unit.
func inUnits(x float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB", "TB", "PB"} {
		if x < 1000 {
			return FormatSignificant(x) + " " + unit
		}
		x /= 1000
	}
	return FormatSignificant(x) + " EB"
}

// span writes milliseconds in the unit that suits them.
func formatMS(ms float64) string {
	switch {
	case ms >= 1000:
		return FormatSignificant(ms/1000) + " s"
	case ms < 0.01:
		return "0"
	}
	return FormatSignificant(ms) + " ms"
}

// Tables implements Result.
func (c *Capacity) Tables() []Table {
	n := c.Need
	t := Table{Name: "plan", Title: fmt.Sprintf("%v, profile %v: %s tenants with %s records each, %s requests a second; machines of %d cores, %s of memory that is read at %s/s, and a connection of %s/s",
		n.Scheme, n.Profile, FormatThousands(n.Tenants), FormatThousands(n.Records), FormatSignificant(n.Rate), c.Host.Cores, inUnits(c.Host.Memory), inUnits(c.Host.Read), inUnits(c.Host.Network)),
		Columns: []string{"what", "value"}}
	row := func(what, value string) { t.Rows = append(t.Rows, []string{what, value}) }
	row("machines", fmt.Sprintf("%s, because of %s", FormatThousands(c.Machines), c.Bound))
	row("by memory, processor, network", fmt.Sprintf("%s, %s, %s", FormatSignificant(c.ByMemory), FormatSignificant(c.ByProcessor), FormatSignificant(c.ByNetwork)))
	row("memory, for two copies", inUnits(c.Memory))
	row("network, in and out", inUnits(c.Network)+"/s")
	row("object storage", inUnits(c.Stored))
	row("parts of an index", FormatThousands(c.Shards))
	row("a request: cloud", formatMS(c.Cloud))
	row("a request: owner", formatMS(c.Owner))
	row("sent, received", inUnits(c.Sent)+", "+inUnits(c.Received))
	row("kept by a device", inUnits(c.Kept))
	row("hours of a core, for a million requests", FormatSignificant(c.CoreHours))
	return []Table{t}
}

// capacitySizes are those of the page: of one index.
var capacitySizes = []int{10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000}

// CapacityTable is how a scheme and a profile grow: one tenant who asks once a second, and as many tenants as have a
// thousand million records together, each of whom asks ten times a day.
func CapacityTable(c UnitCosts, n Need, h Host) Table {
	t := Table{Name: "plan-growth", Title: fmt.Sprintf("`%v`, profile `%v`", n.Scheme, n.Profile),
		Columns: []string{"records of an index", "cloud", "owner", "sent", "received", "kept", "machines for one index asked once a second", "machines for 10⁹ records of many, each asked ten times a day"}}
	for _, records := range capacitySizes {
		n.Records, n.Tenants, n.Rate = records, 1, 1
		one := PlanCapacity(n, h, c)
		n.Tenants = 1_000_000_000 / records
		n.Rate = 10 * float64(n.Tenants) / 86400
		many := PlanCapacity(n, h, c)
		machines := func(c Capacity) string { return fmt.Sprintf("%s (%s)", FormatThousands(c.Machines), c.Bound) }
		t.Rows = append(t.Rows, []string{FormatThousands(records), formatMS(one.Cloud), formatMS(one.Owner), inUnits(one.Sent), inUnits(one.Received), inUnits(one.Kept), machines(one), machines(many)})
	}
	return t
}

// Markdown writes tables for a page, each below its title.
func Markdown(tables ...Table) string {
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n", t.Title)
		row := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
		row(t.Columns)
		b.WriteString(strings.Repeat("|---", len(t.Columns)) + "|\n")
		for _, cells := range t.Rows {
			row(cells)
		}
	}
	return b.String()
}
