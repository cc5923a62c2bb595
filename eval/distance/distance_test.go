package distance

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got != want && (math.IsInf(want, 0) || !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want)))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestByHand(t *testing.T) {
	a, c := []float64{0.5, 0.25, 0.25}, []float64{0.25, 0.25, 0.5}
	near(t, "L1", L1(a, c), 0.5)
	near(t, "SquaredL2", SquaredL2(a, c), 0.125)
	near(t, "KL", KL(a, c), 0.25*math.Ln2) // ½·ln 2 + 0 − ¼·ln 2
	near(t, "Dis", L1([]float64{1, -1}, []float64{-1, 1})+KL(a, c), 4+0.25*math.Ln2)
	near(t, "L1Levels", float64(L1Levels([]uint16{0, 999, 7}, []uint16{999, 0, 7})), 1998)
	near(t, "SquaredL2Int", float64(SquaredL2Int([]int16{-32768, 3}, []int16{32767, 1})), 65535*65535+4)
	near(t, "SquaredL2Int", float64(SquaredL2Int([]int32{1 << 30}, []int32{-1 << 30})), 1<<62)
	near(t, "L1 of nothing", L1(nil, nil), 0)
}

func TestKLIsNotSymmetric(t *testing.T) {
	record, request := []float64{0.9, 0.1}, []float64{0.5, 0.5}
	near(t, "record ‖ request", KL(record, request), 0.9*math.Log(1.8)+0.1*math.Log(0.2))
	near(t, "request ‖ record", KL(request, record), 0.5*math.Log(0.5/0.9)+0.5*math.Log(5))
}

func TestKLOfEmptyBins(t *testing.T) {
	near(t, "empty in the record", KL([]float64{1, 0}, []float64{0.5, 0.5}), math.Ln2)
	near(t, "empty in both", KL([]float64{1, 0}, []float64{1, 0}), 0)
	near(t, "empty in the request", KL([]float64{0.5, 0.5}, []float64{1, 0}), math.Inf(1))
}

// A zeroRule defines the logarithm of 0 in klPaper.
type zeroRule int

const (
	// logZeroIsZero counts log 0 as 0 and nothing else. A bin a that is empty
	// in the request adds a·log a − a·0, which is negative.
	logZeroIsZero zeroRule = iota
	// skipZeroTerms is the paper's rule (Sec. IV-C): such bins add 0.
	skipZeroTerms
)

// klPaper is the divergence of unsmoothed histograms as the paper computes it,
// from Σ a·log a and log c. It exists for comparison and can be negative under
// either rule. For disjoint histograms, which are as far apart as possible,
// skipZeroTerms gives 0 and logZeroIsZero gives −(entropy of a).
func klPaper(record, request []float64, rule zeroRule) float64 {
	sameLength(len(record), len(request))
	sum := 0.0
	for i, a := range record {
		if a == 0 || request[i] == 0 && rule == skipZeroTerms {
			continue
		}
		sum += a * math.Log(a)
		if request[i] != 0 {
			sum -= a * math.Log(request[i])
		}
	}
	return sum
}

func histogram(rng *rand.Rand) []float64 {
	h, sum := make([]float64, 48), 0.0
	for i := range h {
		h[i] = rng.ExpFloat64() + 1e-3
		sum += h[i]
	}
	for i := range h {
		h[i] /= sum
	}
	return h
}

func TestKLProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		a, c := histogram(rng), histogram(rng)
		got := KL(a, c)
		// The bound is Pinsker's inequality.
		if l1 := L1(a, c); got < l1*l1/2 {
			t.Fatalf("KL %g is below ½·L1² = %g", got, l1*l1/2)
		}
		near(t, "KL(a ‖ a)", KL(a, a), 0)
		for _, rule := range []zeroRule{logZeroIsZero, skipZeroTerms} {
			if p := klPaper(a, c, rule); math.Abs(p-got) > 1e-12 {
				t.Fatalf("without empty bins rule %d gives %g, KL %g", rule, p, got)
			}
		}
	}
}

// Erratum: by the paper's rule, histograms without a common bin have distance 0,
// by log 0 = 0 alone even less, and the "divergence" of others can be negative.
func TestErratumLogOfZero(t *testing.T) {
	red, blue := []float64{1, 0, 0, 0}, []float64{0, 0, 0.5, 0.5}
	near(t, "one bin, disjoint", klPaper(red, blue, logZeroIsZero), 0)
	near(t, "two bins, disjoint", klPaper(blue, red, logZeroIsZero), -math.Ln2)
	near(t, "two bins, disjoint, skipped", klPaper(blue, red, skipZeroTerms), 0)
	near(t, "overlapping", klPaper([]float64{0.5, 0.5}, []float64{1, 0}, logZeroIsZero), -math.Ln2)
	near(t, "overlapping, skipped", klPaper([]float64{0.5, 0.5}, []float64{1, 0}, skipZeroTerms), -math.Ln2/2)

	// Smoothed as in the profiles, disjoint histograms are far apart.
	smooth := func(h []float64) []float64 {
		s := make([]float64, len(h))
		for i, v := range h {
			s[i] = (v + 1e-3) / (1 + 1e-3*float64(len(h)))
		}
		return s
	}
	if got := KL(smooth(red), smooth(blue)); got < 6 {
		t.Errorf("smoothed and disjoint: %g", got)
	}
}

func TestLengthsMustAgree(t *testing.T) {
	for name, f := range map[string]func(){
		"L1":           func() { L1([]float64{1}, nil) },
		"L1Levels":     func() { L1Levels([]uint16{1}, nil) },
		"SquaredL2":    func() { SquaredL2([]float64{1}, nil) },
		"SquaredL2Int": func() { SquaredL2Int([]int16{1}, nil) },
		"KL":           func() { KL([]float64{1}, nil) },
		"klPaper":      func() { klPaper(nil, []float64{1}, logZeroIsZero) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s compares vectors of different lengths", name)
				}
			}()
			f()
		}()
	}
}

func BenchmarkDis(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	a, c := histogram(rng), histogram(rng)
	x, y := make([]float64, 864), make([]float64, 864)
	for i := range x {
		x[i], y[i] = rng.Float64(), rng.Float64()
	}
	for b.Loop() {
		_ = L1(x, y) + KL(a, c)
	}
}
