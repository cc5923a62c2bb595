package lattice

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

func (o *Ring) slowDot(a, b []uint64) uint64 {
	sum := new(big.Int)
	for i := range a {
		sum.Add(sum, new(big.Int).Mul(new(big.Int).SetUint64(a[i]), new(big.Int).SetUint64(b[i])))
	}
	return sum.Mod(sum, o.big()).Uint64()
}

func TestDotRowsAgainstBigIntegers(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, d := range o.widths() {
			a, b, sum := o.random(r, o.N), o.random(r, o.N), make([]uint64, o.N/d)
			for i := 0; i < len(a); i += 3 {
				a[i], b[i] = o.Q-1, o.Q-1
			}
			o.DotRows(sum, a, b)
			for k, got := range sum {
				if want := o.slowDot(a[k*d:(k+1)*d], b[k*d:]); got != want {
					t.Fatalf("D = %d, row %d: %d, want %d", d, k, got, want)
				}
			}
		}
	})
}
