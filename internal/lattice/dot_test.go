package lattice

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

func (o *Ring) slowDot(a, b []uint64) uint64 {
	sum := new(big.Int)
	for i := range a {
		sum.Add(sum, new(big.Int).Mul(new(big.Int).SetUint64(a[i]), new(big.Int).SetUint64(b[i])))
	}
	return sum.Mod(sum, o.big()).Uint64()
}

func TestDotAgainstBigIntegers(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		r := rand.New(rand.NewPCG(1, 2))
		// The largest sums possible, close to 2¹²⁸.
		largest := slices.Repeat([]uint64{o.Q - 1}, lazy+3)
		for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 100, 1408, lazy, lazy + 1, lazy + 3} {
			if n < 2000 {
				a, b := o.random(r, n), o.random(r, n+3)
				if got, want := o.Dot(a, b), o.slowDot(a, b); got != want {
					t.Errorf("%d elements: %d, want %d", n, got, want)
				}
			}
			if got, want := o.Dot(largest[:n], largest), o.slowDot(largest[:n], largest); got != want {
				t.Errorf("%d largest elements: %d, want %d", n, got, want)
			}
		}
	})
}

func TestDotRowsIsDotOfEach(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, d := range o.widths() {
			a, b, sum := o.random(r, o.N), o.random(r, o.N), make([]uint64, o.N/d)
			for i := 0; i < len(a); i += 3 {
				a[i], b[i] = o.Q-1, o.Q-1
			}
			o.DotRows(sum, a, b)
			for k, got := range sum {
				if want := o.Dot(a[k*d:(k+1)*d], b[k*d:]); got != want {
					t.Fatalf("D = %d, row %d: %d, want %d", d, k, got, want)
				}
			}
		}
	})
}

func BenchmarkDot(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := Fast.random(r, 1408), Fast.random(r, 1408)
	b.SetBytes(8 * 1408)
	for b.Loop() {
		Fast.Dot(x, y)
	}
}
