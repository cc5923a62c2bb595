package cost

import "testing"

func TestFixedVisitsAreAnApproximation(t *testing.T) {
	for _, n := range ScalingSizes {
		if 1000*fixedVisits%n != 0 {
			t.Errorf("%d visits of %d", fixedVisits, n)
		}
	}
}
