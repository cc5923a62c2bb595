package humanfmt

import "testing"

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0.00", 0.123: "0.12", 9.99: "9.99", 10: "10.0", 12.34: "12.3", 100: "100", 1234.6: "1235"} {
		if got := Digits(x); got != want {
			t.Errorf("%g is written %s, want %s", x, got, want)
		}
	}
}

func TestRoundAndMedian(t *testing.T) {
	if got := Round(12.3456, 2); got != 12.35 {
		t.Errorf("12.3456 is rounded to %g", got)
	}
	x := []int{5, 1, 4, 2}
	if got := Median(x); got != 4 || x[0] != 5 {
		t.Errorf("the median is %d, and x is now %v", got, x)
	}
	if got := Median([]float64(nil)); got != 0 {
		t.Errorf("the median of nothing is %g", got)
	}
}
