package cost

import "testing"

// A whole number of tenths of a percent at every size.
func TestFixedVisitsAreAnApproximation(t *testing.T) {
	for _, n := range ScalingSizes {
		if 1000*fixedVisits%n != 0 {
			t.Errorf("%d visits of %d", fixedVisits, n)
		}
	}
}
