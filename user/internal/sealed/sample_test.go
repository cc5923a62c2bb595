package sealed

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"cpar/internal/lattice"
	"cpar/internal/seed"
)

// A prime just above a power of two rejects half of all words.
func TestReplaceTakesTheNextGoodWords(t *testing.T) {
	for _, q := range []uint64{5, 1<<59 + 1} {
		drop := 64 - new(big.Int).SetUint64(q).BitLen()
		s, words := seed.New(testSecret(1)), seed.New(testSecret(1))
		got, first := make([]uint64, 1000), make([]uint64, 1000)
		s.Words(got)
		for i := range got {
			got[i] >>= drop
		}
		words.Words(first)
		replace(s, got, q)
		replaced := 0
		for i, got := range got {
			want := first[i] >> drop
			for ; want >= q; want = words.Uint64() >> drop {
				replaced++
			}
			if got != want || got >= q {
				t.Fatalf("below %d: element %d is %d, want %d", q, i, got, want)
			}
		}
		if replaced < 100 {
			t.Errorf("below %d: %d words replaced", q, replaced)
		}
	}
}

// Q rejects one word in 2³⁰ or 2³⁴. These are the first of a stream, found by
// search.
func TestUniformReplacesWordsThatAreTooLarge(t *testing.T) {
	for r, rejected := range map[*lattice.Ring]uint64{lattice.Fast: 3714501551, lattice.Careful: 13531274011} {
		for _, before := range []int{0, 511, 512, 1500, r.N - 1, r.N, r.N + 9} {
			words := seed.New(testSecret(1)).At(8 * (rejected - uint64(before)))
			want := make([]uint64, r.N+1)
			words.Words(want)
			for i := range want {
				want[i] >>= 64 - r.LogQ
			}
			replaced := before < r.N
			if replaced {
				if want[before] < r.Q {
					t.Fatal("the word is not too large")
				}
				want[before] = want[r.N]
			}
			got := make([]uint64, r.N)
			if uniform(r, seed.New(testSecret(1)).At(8*(rejected-uint64(before))), got); !slices.Equal(got, want[:r.N]) {
				t.Errorf("N = %d: a word too large at %d: others", r.N, before)
			}
		}
	}
}

func TestUniformLooksUniform(t *testing.T) {
	p := make([]uint64, 1<<16)
	uniform(lattice.Fast, seed.New(testSecret(2)), p)
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
