package cost

import (
	"math"
	"testing"
)

func TestFitPower(t *testing.T) {
	var rows []ScalingRow
	for _, n := range ScalingSizes {
		rows = append(rows, ScalingRow{Records: n, Scan: int64(1000 * math.Pow(float64(n), 1.25))})
	}
	f, ok := fitPower(rows, func(r ScalingRow) float64 { return float64(r.Scan) })
	if !ok || math.Abs(f.Exponent-1.25) > 1e-3 || f.Deviation > 1.001 {
		t.Errorf("%+v", f)
	}
	if _, ok := fitPower(rows[:1], func(r ScalingRow) float64 { return 1 }); ok {
		t.Error("a line through one point")
	}
	// A whole number of tenths of a percent at every size.
	for _, n := range ScalingSizes {
		if 1000*fixedVisits%n != 0 {
			t.Errorf("%d visits of %d", fixedVisits, n)
		}
	}
}
