package lattice

import (
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"cpar/internal/modp"
)

var bigQ = new(big.Int).SetUint64(Q)

func elements(r *rand.Rand, n int) []uint64 {
	x := make([]uint64, n)
	for i := range x {
		x[i] = r.Uint64N(Q)
	}
	return x
}

// slowProduct returns a·b modulo X^n+1 and Q, by definition.
func slowProduct(a, b []uint64) []uint64 {
	n := len(a)
	sum := make([]big.Int, n)
	var x, y, xy big.Int
	for i := range a {
		x.SetUint64(a[i])
		for j := range b {
			xy.Mul(&x, y.SetUint64(b[j]))
			if at := i + j; at < n {
				sum[at].Add(&sum[at], &xy)
			} else {
				sum[at-n].Sub(&sum[at-n], &xy)
			}
		}
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = sum[i].Mod(&sum[i], bigQ).Uint64()
	}
	return out
}

func evaluated(p []uint64) []uint64 {
	q := append([]uint64(nil), p...)
	Evaluate(q)
	return q
}

func product(a, b []uint64) []uint64 {
	x, y, sum := evaluated(a), evaluated(b), make([]uint64, len(a))
	Factors(y)
	MulAdd(sum, x, y)
	Interpolate(sum)
	return sum
}

func TestModulus(t *testing.T) {
	if !bigQ.ProbablyPrime(64) || Q%(2*N) != 1 {
		t.Fatalf("%d is no prime that is 1 modulo %d", uint64(Q), 2*N)
	}
	for q := uint64(1<<logQ - 2*N + 1); q > Q; q -= 2 * N {
		if new(big.Int).SetUint64(q).ProbablyPrime(64) {
			t.Errorf("%d is a larger one", q)
		}
	}
}

func TestProductsAgainstBigIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{16, 32, 64, 128, 256} {
		for range 3 {
			a, b := elements(r, n), elements(r, n)
			a[0], b[n-1] = Q-1, Q-1
			want := slowProduct(a, b)
			for i, got := range product(a, b) {
				if got != want[i] {
					t.Fatalf("%d points: coefficient %d is %d, want %d", n, i, got, want[i])
				}
			}
		}
	}
}

// At N points a product with few terms suffices: that of X^i and X^j is ±X^(i+j).
func TestProductsOfMonomials(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		i, j, x, y := r.IntN(N), r.IntN(N), r.Uint64N(Q), r.Uint64N(Q)
		a, b := make([]uint64, N), make([]uint64, N)
		a[i], b[j] = x, y
		xy := new(big.Int).Mul(new(big.Int).SetUint64(x), new(big.Int).SetUint64(y))
		want := xy.Mod(xy, bigQ).Uint64()
		if i+j >= N {
			want = Q - want
		}
		for at, got := range product(a, b) {
			if at == (i+j)%N && got != want || at != (i+j)%N && got != 0 {
				t.Fatalf("%d·X^%d times %d·X^%d has %d at X^%d", x, i, y, j, got, at)
			}
		}
	}
}

// The points and their order are part of the format: position i is ψ to the
// power of 2·reverse(i)+1, with reverse on twelve bits and ψ as documented.
func TestEvaluationsArePinned(t *testing.T) {
	psi := new(big.Int).Exp(big.NewInt(10), big.NewInt((Q-1)/(2*N)), bigQ)
	if psi.Uint64() != 0x5f778de1e15e728 {
		t.Fatalf("ψ is %#x", psi)
	}
	x := make([]uint64, N)
	x[1] = 1
	Evaluate(x)
	for i, got := range x {
		odd := 2*int64(bits.Reverse16(uint16(i))>>4) + 1
		if want := new(big.Int).Exp(psi, big.NewInt(odd), bigQ).Uint64(); got != want {
			t.Fatalf("point %d is %#x, want %#x", i, got, want)
		}
	}
}

func TestFoldedPointsLieTogether(t *testing.T) {
	x := make([]uint64, N)
	x[1] = 1
	Evaluate(x)
	for d := minBlock; d <= maxBlock; d *= 2 {
		y := make([]uint64, N/d)
		y[1] = 1
		Evaluate(y)
		for i, zeta := range x {
			power := new(big.Int).Exp(new(big.Int).SetUint64(zeta), big.NewInt(int64(d)), bigQ)
			if power.Uint64() != y[i/d] {
				t.Fatalf("D = %d: point %d to the power of D is not point %d of %d", d, i, i/d, len(y))
			}
		}
	}
}

func TestInterpolateFoldedAgainstWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for d := minBlock; d <= maxBlock; d *= 2 {
		a, b := elements(r, N), elements(r, N)
		whole := product(a, b)
		x, z, y := evaluated(a), evaluated(b), make([]uint64, N/d)
		for k := range y {
			y[k] = modp.Dot(x[k*d:(k+1)*d], z[k*d:])
		}
		InterpolateFolded(y)
		for i, got := range y {
			if got != whole[i*d] {
				t.Fatalf("D = %d: coefficient %d is %d, want %d", d, i*d, got, whole[i*d])
			}
		}
	}
}

func TestScaleByOneUndoesFactors(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	p := append(elements(r, 100), 0, 1, Q-1)
	q := append([]uint64(nil), p...)
	Factors(q)
	Scale(q, 1)
	for i := range p {
		if q[i] != p[i] {
			t.Fatalf("%d became %d", p[i], q[i])
		}
	}
}

func TestLengthsThatAreNoTransform(t *testing.T) {
	for _, n := range []int{0, 1, 8, 17, N / 3, 2 * N} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d points were transformed", n)
				}
			}()
			Evaluate(make([]uint64, n))
		}()
	}
}

func BenchmarkEvaluate(b *testing.B) {
	p := elements(rand.New(rand.NewPCG(1, 2)), N)
	for b.Loop() {
		Evaluate(p)
	}
}
