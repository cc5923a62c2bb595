package eval

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The interval of a mean of n(0, 1) values is about ±1.96/√n, and weights sum to the
// number of requests.
func TestBootstrap(t *testing.T) {
	const n = 400
	draws := bootstrap(n, 7)
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
	got := interval(values)
	if width := (got.High - got.Low) / 2; math.Abs(width-1.96/20) > 0.015 {
		t.Errorf("half width %.4f, want about %.4f", width, 1.96/20)
	}
	if math.Abs(got.Value-mean(x)) > 1e-9 {
		t.Errorf("value %g, mean %g", got.Value, mean(x))
	}
}

func TestWeightedMedian(t *testing.T) {
	x := []int64{30, 10, 20, 40}
	for _, c := range []struct {
		weights []float64
		want    int64
	}{{[]float64{1, 1, 1, 1}, 30}, {[]float64{0.1, 3, 0.1, 0.1}, 10}, {[]float64{0.1, 0.1, 0.1, 3}, 40}} {
		if got := weightedMedian(x, c.weights); got != c.want {
			t.Errorf("%v: %d, want %d", c.weights, got, c.want)
		}
	}
	if got := median(x); got != 30 {
		t.Errorf("median %d is not that of equal weights", got)
	}
}

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
	// fixedVisits must be a whole number of tenths of a percent at every size.
	for _, n := range ScalingSizes {
		if 1000*fixedVisits%n != 0 {
			t.Errorf("%d visits of %d", fixedVisits, n)
		}
	}
}
