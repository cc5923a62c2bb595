package estimate

import (
	"math"
	"testing"

	"cpar/internal/lattice"
)

// Kyber as printed by its authors' script (pq-crystals/security-estimates,
// Kyber.py of round 3): block size, classical and quantum core-SVP of both
// attacks. Kyber512 includes rounding in its noise. The script models bases in
// more detail, hence the tolerances.
func TestKyber(t *testing.T) {
	q := math.Log2(3329)
	for _, c := range []struct {
		name         string
		lwe          LWE
		primal, dual [3]float64
	}{
		{"Kyber512", LWE{Dim: 512, LogQ: q, Sigma: math.Sqrt(1.5), Secret: math.Sqrt(1.5)}, [3]float64{405, 118, 107}, [3]float64{403, 117, 106}},
		{"Kyber768", LWE{Dim: 768, LogQ: q, Sigma: 1, Secret: 1}, [3]float64{625, 182, 165}, [3]float64{620, 181, 164}},
		{"Kyber1024", LWE{Dim: 1024, LogQ: q, Sigma: 1, Secret: 1}, [3]float64{877, 256, 232}, [3]float64{868, 253, 230}},
	} {
		near := func(what string, got, want, within float64) {
			if math.Abs(got-want) > within {
				t.Errorf("%s, %s: %.1f, published as %.0f", c.name, what, got, want)
			}
		}
		p := c.lwe.Primal()
		near("primal block size", float64(p.BlockSize), c.primal[0], 3)
		near("primal, classical", p.Bits, c.primal[1], 1)
		near("primal, quantum", CoreQuantum.Cost(p.BlockSize, p.Dimension), c.primal[2], 1)
		d := c.lwe.Dual(CoreClassical)
		near("dual block size", float64(d.BlockSize), c.dual[0], 3)
		near("dual, classical", d.Bits, c.dual[1], 1)
		near("dual, quantum", c.lwe.Dual(CoreQuantum).Bits, c.dual[2], 1)
	}
}

// The values for uSVP are documented by malb/lattice-estimator
// (estimator/lwe_primal.py), for secrets in {0, 1} with standard deviation ½.
func TestSmallSecrets(t *testing.T) {
	for _, c := range []struct {
		lwe      LWE
		block, d int
	}{
		{LWE{Dim: 384, LogQ: 7, Sigma: 2, Secret: 0.5, MaxSamples: 768}, 456, 595},
		{LWE{Dim: 1030, LogQ: 64, Sigma: 3.19, Secret: 0.5, MaxSamples: 2060}, 78, 1933},
	} {
		e := c.lwe.Primal()
		if math.Abs(float64(e.BlockSize-c.block)) > 1 || math.Abs(float64(e.Dimension-c.d)) > 0.03*float64(c.d) {
			t.Errorf("%+v: %+v, documented as β = %d, d = %d", c.lwe, e, c.block, c.d)
		}
	}
}

// Homomorphic Encryption Standard (2018, tables for the secret (−1, 1)):
// largest log q with 128, 192 and 256 bits per degree, and the cost printed for
// uSVP.
func TestStandard(t *testing.T) {
	for _, c := range []struct {
		n, logQ int
		usvp    float64
	}{
		{1024, 27, 131.6}, {2048, 54, 129.7}, {4096, 109, 128.1}, {8192, 218, 128.5}, {16384, 438, 128.1}, {32768, 881, 128.5},
		{1024, 19, 193.0}, {2048, 37, 197.5}, {4096, 75, 194.7},
		{1024, 14, 265.6}, {2048, 29, 259.1}, {4096, 58, 260.4},
	} {
		e := Ring{c.n, c.logQ}.LWE().Primal()
		if got := StandardClassical.Cost(e.BlockSize, e.Dimension); math.Abs(got-c.usvp) > 0.5 {
			t.Errorf("N = %d, log q = %d: %.1f bits, the standard has %.1f", c.n, c.logQ, got, c.usvp)
		}
	}
}

// Where the standard's 128 bits end, the cheapest attack falls below 128, to
// within 1 % of log q or one bit.
func TestStandardBoundaryMatchesEstimate(t *testing.T) {
	for n := 1 << 10; n <= 1<<15; n *= 2 {
		classical, quantum, ok := lattice.Standard(n)
		if !ok {
			t.Fatalf("no row for degree %d", n)
		}
		for _, c := range []struct {
			row   float64
			model Model
		}{{classical, StandardClassical}, {quantum, StandardQuantum}} {
			slack := max(1, 0.01*c.row)
			bits := func(logQ float64) float64 {
				lwe := Ring{N: n}.LWE()
				lwe.LogQ = logQ
				e := lwe.Primal()
				return min(c.model.Cost(e.BlockSize, e.Dimension), lwe.Dual(c.model).Bits)
			}
			if b := bits(c.row - slack); b < 128 {
				t.Errorf("N = %d: %.1f bits at log q = %.0f, which the standard allows", n, b, c.row-slack)
			}
			if b := bits(c.row + slack); b >= 128+1 {
				t.Errorf("N = %d: %.1f bits at log q = %.0f, which the standard refuses", n, b, c.row+slack)
			}
		}
	}
}

// With too few samples there is no attack.
func TestEstimatesAreMonotonic(t *testing.T) {
	base := LWE{Dim: 700, LogQ: 20, Sigma: 3.2}
	bits := base.Primal().Bits
	for _, harder := range []LWE{{Dim: 800, LogQ: 20, Sigma: 3.2}, {Dim: 700, LogQ: 20, Sigma: 10}, {Dim: 700, LogQ: 18, Sigma: 3.2}} {
		if b := harder.Primal().Bits; b <= bits {
			t.Errorf("%+v has %.1f bits, %+v %.1f", harder, b, base, bits)
		}
	}
	if e := (LWE{Dim: 700, LogQ: 20, Sigma: 3.2, MaxSamples: 700}).Primal(); !math.IsInf(e.Bits, 1) {
		t.Errorf("as many samples as unknowns: %+v", e)
	}
	if a, b := Dense(700, 650, 40, 1e3), Dense(700, 650, 40, 1e5); a.Bits >= b.Bits {
		t.Errorf("longer vectors are easier: %+v, %+v", a, b)
	}
	// Published values of δ: 1.0219 for LLL, 1.0093 for β = 100, 1.0063 for
	// 200.
	for b := 3; b < 600; b++ {
		if hermite(b) > hermite(b-1) {
			t.Errorf("δ(%d) = %.5f above δ(%d) = %.5f", b, hermite(b), b-1, hermite(b-1))
		}
	}
	for block, want := range map[int]float64{2: 1.0219, 100: 1.0093, 200: 1.0063} {
		if got := hermite(block); math.Abs(got-want) > 1e-4 {
			t.Errorf("δ(%d) = %.5f, want %.4f", block, got, want)
		}
	}
}
