package eval

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
	"time"
)

//go:embed capacity.md.tmpl
var capacityPage string

// ScalePage is docs/scale.md: how schemes grow, and what a simulation of many machines gave.
func ScalePage(h Host, date time.Time, growth, simulated []Table) (string, error) {
	t, err := template.New("scale").Parse(capacityPage)
	if err != nil {
		return "", fmt.Errorf("reading the page's text: %w", err)
	}
	var b strings.Builder
	err = t.Execute(&b, map[string]any{
		"Date": date.UTC().Format("2 January 2006"), "Machine": Machine(), "Read": inUnits(h.Read), "Memory": inUnits(h.Memory), "Cores": h.Cores, "Network": inUnits(h.Network),
		"Few": FormatThousands(CapacityRecords[0]), "Many": FormatThousands(CapacityRecords[1]), "Growth": Markdown(growth...), "Simulated": Markdown(simulated...),
		"Copies": planCopies, "PartMB": planShardBytes >> 20, "Message": planRoundTrip * 1e3, "Busy": 100 * planBusy, "Full": 100 * planFull,
	})
	return b.String(), err
}
