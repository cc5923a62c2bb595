package demo

import (
	"fmt"
	"strings"
	"testing"

	"cpar/internal/paper"
)

func TestPaperColumn(t *testing.T) {
	s := &session{records: make([]item, 10)}
	s.result.Photos = []Photo{{paper: []Answer{{Search: peer, Sent: 11, Received: 22}}}}
	s.compareCosts()
	stated := 0
	for _, c := range s.result.Costs {
		if (c.Paper > 0) != (c.Printed != "") || c.Unit != "ms" && c.Unit != "B" {
			t.Errorf("%+v", c)
		}
		var x float64
		var unit string
		if _, err := fmt.Sscanf(c.Printed, "%g %s", &x, &unit); err == nil && !strings.HasPrefix(unit, "+") && c.Stage != "… a record" {
			if stated++; c.Paper != x*map[string]float64{"ms": 1, "s": 1000, "min": 60_000, "B": 1, "KB": 1000}[unit] {
				t.Errorf("%s: %v %s, printed %q", c.Stage, c.Paper, c.Unit, c.Printed)
			}
		}
	}
	if stated != 10 {
		t.Errorf("%d rows quote one figure, want 10", stated)
	}
	last := len(s.result.Costs) - 1
	if s.result.Costs[last-1].Here != 11 || s.result.Costs[last].Here != 22 {
		t.Errorf("sent and received are of another search: %+v", s.result.Costs[last-1:])
	}
	if got := s.result.Costs[0].PaperText(); got != "–" {
		t.Errorf("nothing is printed as %q", got)
	}
	if got := count(paperRecords()); !strings.Contains(paper.Values().Machine, got) {
		t.Errorf("%s records", got)
	}
}
