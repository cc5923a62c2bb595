package attack

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	simd "gonum.org/v1/gonum/floats"

	"cpar/model/vector"
	"cpar/model/vectorlayout"
	"cpar/user/ive"
)

// Exact slopes give the right result unless another multiple is in range.
func TestWholeScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	draw := func() int { return 1<<ive.ScaleBits + rng.IntN(1<<ive.ScaleBits) }
	angle := func(a, b, x, y float64) float64 { return math.Abs(math.Atan2(a, b) - math.Atan2(x, y)) }
	for range 8 {
		a, b := float64(draw())*(1+1e-5*rng.NormFloat64()), float64(draw())
		least := math.Inf(1)
		for p := 1024.0; p < 2048; p++ {
			for q := 1024.0; q < 2048; q++ {
				least = min(least, angle(p, q, a, b))
			}
		}
		got := wholeScales([]float64{a * 3e5, b * 3e5})
		if len(got) != 2 || angle(got[0], got[1], a, b) > least+1e-15 {
			t.Errorf("slopes %g to %g: read as %g; the best is off by %.3g", a, b, got, least)
		}
	}
	for i, want := range []float64{0.796, 0.966, 0.995} {
		k := i + 2
		only, draws := 0, 2000
		for range draws {
			scales, slopes, common := make([]float64, k), make([]float64, k), int64(0)
			for i := range scales {
				scales[i] = float64(draw())
				slopes[i] = scales[i] / 7
				common = gcd(common, int64(scales[i]))
			}
			multiples := 0
			for m := 1.0; m <= ive.MaxScale; m++ {
				if slices.Min(scales)*m/float64(common) >= 1024 && slices.Max(scales)*m/float64(common) <= 2047 {
					multiples++
				}
			}
			if multiples > 1 {
				continue
			}
			only++
			if got := wholeScales(slopes); !slices.Equal(got, scales) {
				t.Fatalf("%g: read as %g", scales, got)
			}
		}
		if got := float64(only) / float64(draws); math.Abs(got-want) > 0.03 {
			t.Errorf("%d slopes have one multiple in range with a chance of %.3f, expected %.3f", k, got, want)
		}
	}
	if got := wholeScales([]float64{1, -1}); got != nil {
		t.Errorf("slopes of either sign: %g", got)
	}
}

// repeatedView simulates requests with scores as in package vectorlayout, and
// returns x of each photo. The last photo is a recompressed copy of the
// previous one.
func repeatedView(rng *rand.Rand, records, photos, rounds int) (*View, [][]float64) {
	const unit = 647352.0
	histograms, epsilon, common := make([][]float64, records), make([]float64, records), make([]float64, records)
	for i := range histograms {
		histograms[i] = make([]float64, vector.DimensionKL)
		sum := 0.0
		for j := range histograms[i] {
			histograms[i][j] = math.Exp(2 * rng.NormFloat64())
			sum += histograms[i][j]
		}
		for j := range histograms[i] {
			histograms[i][j] = math.Round(math.Ldexp(histograms[i][j]/sum, vectorlayout.ValueBits))
		}
		epsilon[i] = float64(rng.IntN(2*ive.EpsilonBound) - ive.EpsilonBound)
		common[i] = 0.6 * unit * rng.NormFloat64()
	}
	truth := make([][]float64, photos)
	for p := range truth {
		for i := range records {
			truth[p] = append(truth[p], common[i]+unit*(0.6*rng.NormFloat64()-4.5))
		}
	}
	for i, x := range truth[photos-2] {
		truth[photos-1][i] = x + 0.02*unit*rng.NormFloat64()
	}
	v := &View{Scheme: "toy", StoredIndex: &StoredIndex{Records: records}}
	for range rounds {
		for p := range truth {
			s := &Observation{Scores: make([]float64, records)}
			scale, rounding := float64(1024+rng.IntN(1024)), make([]float64, vector.DimensionKL)
			for j := range rounding {
				rounding[j] = rng.Float64() - 0.5
			}
			for i, x := range truth[p] {
				s.Scores[i] = math.Round(scale*x - 3*epsilon[i] + simd.Dot(histograms[i], rounding))
			}
			v.Observations = append(v.Observations, s)
		}
	}
	return v, truth
}

// Two requests per photo suffice only together with other photos, five suffice
// alone.
func TestBySlopes(t *testing.T) {
	const records, photos = 300, 200
	v, truth := repeatedView(rand.New(rand.NewPCG(1, 2)), records, photos, 5)
	for p, at := range groupByPhoto(v) {
		if !slices.Equal(at, []int{p, p + photos, p + 2*photos, p + 3*photos, p + 4*photos}) {
			t.Fatalf("photo %d: requests %d", p, at)
		}
	}
	for _, c := range []struct {
		times       int
		log         bool
		least, most int // photos read
	}{{1, false, 0, 0}, {1, true, 0, 0}, {2, false, 0, 60}, {3, false, 150, 199}, {5, false, 198, 200}, {2, true, 140, 199}, {3, true, 190, 200}} {
		some := &View{Scheme: v.Scheme, StoredIndex: v.StoredIndex, Observations: v.Observations[:c.times*photos]}
		if right := readUpToOffset(distancesBySlopes(some, c.log), truth); right < c.least || right > c.most {
			t.Errorf("asked %d times, log %t: %d of %d photos read, want %d to %d", c.times, c.log, right, photos, c.least, c.most)
		}
	}
}

func TestDistanceJudgesRejectSmallErrors(t *testing.T) {
	truth := [][]float64{{0, 1e6, 3e6, 2e6}}
	times := func(by, plus float64) [][]float64 {
		out := make([]float64, len(truth[0]))
		for i, x := range truth[0] {
			out[i] = by*x + plus
		}
		return [][]float64{out}
	}
	for _, c := range []struct {
		got         [][]float64
		scale, both int
	}{
		{times(1, -7e6), 1, 1}, {times(2046.0/2047, -7e6), 0, 0}, {times(1024.0/1025, 0), 0, 0}, {[][]float64{nil}, 0, 0},
		{[][]float64{{-7e6, -6e6, -4e6, -5e6 + 400}}, 1, 0},
	} {
		if scale, both := readUpToOffset(c.got, truth), readWhole(c.got, truth, 300); scale != c.scale || both != c.both {
			t.Errorf("%v: read up to r %d, want %d; whole %d, want %d", c.got, scale, c.scale, both, c.both)
		}
	}
}
