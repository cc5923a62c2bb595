package vectorlayout

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestUnitFollowsDistance(t *testing.T) {
	if got, want := L1KL(1296, 48, 999), (Params{JL: 1296, KL: 48, Unit: 647352, Max: MaxDistance}); got != want {
		t.Errorf("L1 and KL: %+v, want %+v", got, want)
	}
	if got, want := SquaredL2(96, 1000), (Params{JL: 96, Unit: 1e6, Max: 4}); got != want {
		t.Errorf("squared L2: %+v, want %+v", got, want)
	}
}

// smoothed normalises v, adds 10⁻³ to every bin, and normalises again.
func smoothed(v []float64) []float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	for i := range v {
		v[i] = (v[i]/sum + 1e-3) / (1 + 1e-3*float64(len(v)))
	}
	return v
}

// Two different single bins have the largest KL divergence.
func TestDistanceRangeHoldsEveryPair(t *testing.T) {
	const bins = 48
	one := func(i int) []float64 {
		v := make([]float64, bins)
		v[i] = 1
		return smoothed(v)
	}
	kl := func(v, c []float64) (s float64) {
		for i := range v {
			s += v[i] * math.Log(v[i]/c[i])
		}
		return s
	}
	worst := kl(one(3), one(40))
	if want := math.Log(1001) / 1.048; math.Abs(worst-want) > 1e-12 {
		t.Errorf("disjoint bins diverge by %.4f, want %.4f", worst, want)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		v, c := make([]float64, bins), make([]float64, bins)
		for range 1 + r.IntN(4) {
			v[r.IntN(bins)] += r.Float64() + 1e-9
			c[r.IntN(bins)] += r.Float64() + 1e-9
		}
		if d := kl(smoothed(v), smoothed(c)); d > worst || d < 0 {
			t.Fatalf("KL = %.4f outside [0, %.4f]", d, worst)
		}
	}
	if total := 12 + 864/499.5 + worst; total > MaxDistance {
		t.Errorf("Dis up to %.2f", total)
	}
	for _, x := range one(0) {
		if -math.Log(x) > MaxLog {
			t.Errorf("a smoothed bin of %g is refused", x)
		}
	}
}
