package main

import (
	"math"
	"testing"
)

func TestParseShare(t *testing.T) {
	for text, want := range map[string]float64{"2/3": 2.0 / 3, "0.8": 0.8, "80%": 0.8, " 1 / 2 ": 0.5, "0": 0, "1": 1, "100%": 1} {
		if got, err := parseShare(text); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%q: %g, %v; want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "80", "3/2", "-0.1", "1/0", "0/0", "NaN", "1/", "/2", "%"} {
		if got, err := parseShare(text); err == nil {
			t.Errorf("%q: %g", text, got)
		}
	}
}
