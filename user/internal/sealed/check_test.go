package sealed

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	cloud "cpar/cloud/sealed"
	"cpar/internal/lattice"
	"cpar/internal/seed"
)

func TestCheckSums(t *testing.T) {
	for _, p := range []lattice.Params{tiny(t), balanced(t, careful(tiny(t)))} {
		ring, s := p.Ring(), seed.New([32]byte{1})
		big1 := func(x uint64) *big.Int { return new(big.Int).SetUint64(x) }
		r := rand.New(rand.NewPCG(9, 10))
		random := func(n int) (b []byte) {
			for range n {
				b = lattice.AppendWords(b, []uint64{r.Uint64N(ring.Q)})
			}
			return b
		}
		c := newCheckSums(p)
		matrix, addends := make([]big.Int, p.Words()), make([]big.Int, p.Records())
		numbers := make([]uint64, 3)
		s.At(0).Words(numbers)
		for n := range 3 {
			g := &lattice.Group{Matrix: random(p.Words()), Addends: random(p.Records())}
			c.add(p, s, n, g)
			rho := new(big.Int).Mod(big1(numbers[n]), big1(ring.Q))
			for i, x := range words(g.Matrix) {
				matrix[i].Add(&matrix[i], new(big.Int).Mul(rho, big1(x)))
			}
			for i, x := range words(g.Addends) {
				addends[i].Add(&addends[i], new(big.Int).Mul(rho, big1(x)))
			}
		}
		for i, x := range c.matrix {
			if want := new(big.Int).Mod(&matrix[i], big1(ring.Q)).Uint64(); x != want {
				t.Fatalf("word %d of the matrix is %d, want %d", i, x, want)
			}
		}
		request := random(p.Words())
		q := words(request)
		for k, got := range c.wanted(p, request) {
			sum := new(big.Int).Set(&addends[k])
			for j := range p.RowLen() {
				at := k*p.RowLen() + j
				sum.Add(sum, new(big.Int).Mul(&matrix[at], big1(q[at])))
			}
			if want := sum.Mod(sum, big1(ring.Q)).Uint64(); got != want {
				t.Fatalf("at point %d %d is wanted, not %d", k, got, want)
			}
		}
	}
}

func TestOnlyRightRepliesFit(t *testing.T) {
	for _, p := range []lattice.Params{tiny(t), balanced(t, careful(tiny(t)))} {
		ring, k, s := p.Ring(), testKey(t, p), seed.New([32]byte{1})
		groups, _ := build(t, k, randomCollection(rand.New(rand.NewPCG(11, 12)), p, 40), p.Records())
		c := newCheckSums(p)
		for n, g := range groups {
			c.add(p, s, n, g)
		}
		x, err := cloud.NewIndex(p, testID, 0, groups)
		if err != nil {
			t.Fatal(err)
		}
		_, q, err := k.NewRequest(make([]int16, p.Dim), fresh())
		if err != nil {
			t.Fatal(err)
		}
		right, wanted := evaluate(t, p, x, q, 1).Words, c.wanted(p, q.Matrix)
		if !fits(p, s, right, wanted) {
			t.Fatal("the right reply does not fit")
		}
		if fits(p, seed.New([32]byte{2}), right, wanted) {
			t.Error("it fits numbers of another key")
		}
		for i := range right {
			for _, e := range []uint64{1, ring.Q - 1, 1 << 30} {
				bad := slices.Clone(right)
				bad[i] = ring.Add(bad[i], e)
				if fits(p, s, bad, wanted) {
					t.Fatalf("word %d is off by %d and fits", i, e)
				}
				next := (i + p.Records()) % len(bad) // of the same point
				bad[next] = ring.Sub(bad[next], e)
				if fits(p, s, bad, wanted) {
					t.Fatalf("words %d and %d are off by %d and fit", i, next, e)
				}
			}
		}
		if fits(p, s, right[p.Records():], wanted) || fits(p, s, append(slices.Clone(right), right[:p.Records()]...), wanted) {
			t.Error("a group too few or too many fits")
		}
	}
}
