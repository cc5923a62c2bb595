package measure

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The interval of a mean of n(0, 1) values is about ±1.96/√n.
func TestBootstrap(t *testing.T) {
	const n = 400
	draws := Bootstrap(n, 7)
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	values := make([]float64, len(draws))
	for b, weights := range draws {
		count := 0.0
		for i, k := range weights {
			values[b] += k * x[i] / n
			count += k
			if !(k > 0) {
				t.Fatalf("resample %d leaves request %d out: its words would leave the mean", b, i)
			}
		}
		if math.Abs(count-n) > 1e-6 {
			t.Fatalf("resample %d has %g requests", b, count)
		}
	}
	got := NewInterval(values)
	if width := (got.High - got.Low) / 2; math.Abs(width-1.96/20) > 0.015 {
		t.Errorf("half width %.4f, want about %.4f", width, 1.96/20)
	}
	if math.Abs(got.Value-Mean(x)) > 1e-9 {
		t.Errorf("value %g, mean %g", got.Value, Mean(x))
	}
}

func TestWeightedMedian(t *testing.T) {
	x := []int64{30, 10, 20, 40}
	for _, c := range []struct {
		weights []float64
		want    int64
	}{{[]float64{1, 1, 1, 1}, 30}, {[]float64{0.1, 3, 0.1, 0.1}, 10}, {[]float64{0.1, 0.1, 0.1, 3}, 40}} {
		if got := WeightedMedian(x, c.weights); got != c.want {
			t.Errorf("%v: %d, want %d", c.weights, got, c.want)
		}
	}
	if got := Median(x); got != 30 {
		t.Errorf("median %d is not that of equal weights", got)
	}
}
