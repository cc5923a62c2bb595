package figures

import "testing"

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0.00", 0.123: "0.12", 9.99: "9.99", 10: "10.0", 12.34: "12.3", 100: "100", 1234.6: "1235"} {
		if got := Digits(x); got != want {
			t.Errorf("%g is written %s, want %s", x, got, want)
		}
	}
}
