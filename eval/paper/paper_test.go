package paper

import "testing"

// Every value must say where it stands, and what is quoted in two places of the
// project must be the same: AP-100 equals CAPIA in accuracy and not in time.
func TestValues(t *testing.T) {
	p := Values()
	seen := map[string]bool{}
	for _, n := range p.Numbers {
		if n.ID == "" || n.What == "" || n.Place == "" || n.Value <= 0 || seen[n.ID] {
			t.Errorf("%+v is incomplete or there twice", n)
		}
		seen[n.ID] = true
	}
	if p.Recall[0].Value != p.CapiaRecall || p.Cost[0].Value >= p.CapiaSeconds {
		t.Errorf("AP-100: recall %v and time %v, CAPIA %v and %v", p.Recall[0], p.Cost[0], p.CapiaRecall, p.CapiaSeconds)
	}
	for i, x := range p.TradeOff[1:] {
		if before := p.TradeOff[i]; x.Speedup <= before.Speedup || x.Relative >= before.Relative {
			t.Errorf("trade-off %v after %v", x, before)
		}
	}
	for _, section := range []string{"cost", "recall", "tradeoff", "published"} {
		if p.Places[section] == "" {
			t.Errorf("%s has no place", section)
		}
	}
	if p.Number("split_fields").Value != 348 {
		t.Error("|SF|")
	}
}
