package sealed

import (
	"math"
	"math/big"
	"testing"

	"cpar/internal/lattice"
	"cpar/user/internal/seed"
)

// A prime just above a power of two rejects half of all words, Q one in 2³⁰ or 2³⁴.
func TestUniformRejectsInTheOrderDocumented(t *testing.T) {
	for _, q := range []uint64{5, 1<<59 + 1, lattice.Fast.Q, lattice.Careful.Q} {
		p := make([]uint64, 1000)
		uniform(seed.New(testSecret(1)), p, q)
		words := seed.New(testSecret(1))
		first := make([]uint64, len(p))
		words.Words(first)
		drop := 64 - new(big.Int).SetUint64(q).BitLen()
		replaced := 0
		for i, got := range p {
			want := first[i] >> drop
			for ; want >= q; want = words.Uint64() >> drop {
				replaced++
			}
			if got != want || got >= q {
				t.Fatalf("below %d: element %d is %d, want %d", q, i, got, want)
			}
		}
		if q < 1<<30 && replaced < 100 {
			t.Errorf("below %d: %d words replaced", q, replaced)
		}
	}
}

func TestUniformLooksUniform(t *testing.T) {
	p := make([]uint64, 1<<16)
	uniform(seed.New(testSecret(2)), p, lattice.Fast.Q)
	var bins [16]float64
	for _, x := range p {
		bins[x>>43]++
	}
	chi := 0.
	for _, n := range bins {
		chi += (n - 4096) * (n - 4096) / 4096
	}
	if chi > 50 { // 15 degrees of freedom: 2 in 10⁵
		t.Errorf("χ² = %.1f", chi)
	}
}

func TestTernaryIsBalanced(t *testing.T) {
	count := map[uint64]float64{}
	for i := range 8 {
		for _, x := range ternary(lattice.Fast, seed.New(testSecret(byte(i)))) {
			count[x]++
		}
	}
	total := 8. * float64(lattice.Fast.N)
	if len(count) != 3 {
		t.Fatalf("%d values", len(count))
	}
	for _, x := range []uint64{0, 1, lattice.Fast.Q - 1} {
		if d := count[x] - total/3; math.Abs(d) > 5*math.Sqrt(total*2/9) {
			t.Errorf("%d comes %.0f times in %.0f", x, count[x], total)
		}
	}
}

func TestNoiseIsWhatTheBudgetAssumes(t *testing.T) {
	if seed.Sigma != lattice.Sigma || seed.GaussianBound != lattice.MaxNoise {
		t.Fatal("the sampler's width or bound is not the budget's")
	}
	p := make([]uint64, 1<<15)
	addGaussian(lattice.Fast, seed.New(testSecret(3)), p)
	sum := 0.
	for _, x := range p {
		v := lattice.Fast.Centred(x)
		if v > lattice.MaxNoise || v < -lattice.MaxNoise {
			t.Fatalf("a sample of %d", v)
		}
		sum += float64(v * v)
	}
	if sigma := math.Sqrt(sum / float64(len(p))); math.Abs(sigma-lattice.Sigma) > 0.06 {
		t.Errorf("σ = %.3f", sigma)
	}
}
