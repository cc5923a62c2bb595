package sealed

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar/user/internal/seed"
)

// TestCheckArithmetic against math/big.
func TestCheckArithmetic(t *testing.T) {
	p := big.NewInt(checkPrime)
	if !p.ProbablyPrime(20) {
		t.Fatal("the modulus is not prime")
	}
	rng := rand.New(rand.NewPCG(9, 10))
	edges := []uint64{0, 1, 2, checkPrime - 1, checkPrime - 2, 1 << 60}
	for i := range 2000 {
		x, y := rng.Uint64N(checkPrime), rng.Uint64N(checkPrime)
		if i < 36 {
			x, y = edges[i/6], edges[i%6]
		}
		a, b := new(big.Int).SetUint64(x), new(big.Int).SetUint64(y)
		if got, want := mulMod(x, y), new(big.Int).Mod(new(big.Int).Mul(a, b), p).Uint64(); got != want {
			t.Fatalf("%d·%d: %d, want %d", x, y, got, want)
		}
		if got, want := addMod(x, y), new(big.Int).Mod(new(big.Int).Add(a, b), p).Uint64(); got != want {
			t.Fatalf("%d+%d: %d, want %d", x, y, got, want)
		}
		s := int64(x) - checkPrime/2
		if got, want := liftMod(s), new(big.Int).Mod(big.NewInt(s), p).Uint64(); got != want {
			t.Fatalf("%d: %d, want %d", s, got, want)
		}
	}
	if addMod(checkPrime, checkPrime) != 0 || addMod(checkPrime, 0) != 0 {
		t.Error("p is not 0")
	}
}

// TestCheckFits: right scores fit, and no other that differ in one record, in
// two by opposite amounts, or in their order.
func TestCheckFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	s := seed.New([32]byte{1})
	const n, d = 20, 7
	c := checkSums{vector: make([]uint64, d)}
	u := make([]int16, d)
	for i := range u {
		u[i] = int16(rng.IntN(2001) - 1000)
	}
	scores := make([]int64, n)
	all := make([]uint64, n)
	rhos(s, all, 0)
	for i := range scores {
		row, addend := make([]int16, d), rng.Int64N(1<<20)-1<<19
		for j := range row {
			row[j] = int16(rng.IntN(2001) - 1000)
		}
		scores[i] = addend + dotPlain(row, u)
		if rho(s, i) != all[i] {
			t.Fatalf("ρ of record %d depends on how it is read", i)
		}
		c.add(rho(s, i), row, addend)
	}
	if !c.fit(s, scores, u) {
		t.Fatal("the right scores do not fit")
	}
	if c.fit(seed.New([32]byte{2}), scores, u) {
		t.Error("they fit numbers of another key")
	}
	for i := range scores {
		for _, e := range []int64{1, -1, 1 << 21} {
			bad := slices.Clone(scores)
			bad[i] += e
			if c.fit(s, bad, u) {
				t.Errorf("score %d is off by %d and fits", i, e)
			}
			bad[(i+1)%n] -= e
			if c.fit(s, bad, u) {
				t.Errorf("scores %d and the next are off by %d and fit", i, e)
			}
		}
	}
	if c.fit(s, scores[:n-1], u) || c.fit(s, append(slices.Clone(scores), 1), u) {
		t.Error("a score too few or too many fits")
	}
}
