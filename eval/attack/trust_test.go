package attack

import (
	"testing"

	"cpar"
)

// A device accepts neither a branch nor another owner's key, and traffic does
// not show whether a run finds keywords.
func TestDeviceTrustsNoReplacement(t *testing.T) {
	all := rowsOf(t, synthetic(4, 30, 4), func(r *run) error { return r.offers(t.Context()) })
	for attack, want := range map[string]Row{
		"fork-by-card": {Trials: 3, Refused: cpar.ErrCloud.Error()},
		"branch-17":    {Trials: 5, Refused: cpar.ErrCloud.Error()},
		"key-swap":     {Trials: 6, Refused: cpar.ErrKey.Error()},
	} {
		if r := all[attack]; r.Success != 0 || r.Trials < want.Trials || r.Refused != want.Refused {
			t.Errorf("%s: %+v", attack, r)
		}
	}
}

func TestTrafficTellsNoKeywords(t *testing.T) {
	all := rowsOf(t, synthetic(4, 4, 4), func(r *run) error { return r.traffic(t.Context()) })
	if r := all["traffic-by-keywords"]; r.Trials != trafficRuns || r.Baseline != 0.5 || r.Success > r.Baseline+3*(r.High-r.Success) {
		t.Errorf("%+v", r)
	}
}
