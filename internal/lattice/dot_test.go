package lattice

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// slowDot is 2⁻⁶⁴·Σ a[i]·b[i] mod Q.
func slowDot(a, b []uint64) uint64 {
	sum := new(big.Int)
	for i := range a {
		sum.Add(sum, new(big.Int).Mul(new(big.Int).SetUint64(a[i]), new(big.Int).SetUint64(b[i])))
	}
	inverse := new(big.Int).ModInverse(new(big.Int).Lsh(big.NewInt(1), 64), bigQ)
	return sum.Mod(sum.Mul(sum, inverse), bigQ).Uint64()
}

func TestDotAgainstBigIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	largest := make([]uint64, 1500)
	for i := range largest {
		largest[i] = Q - 1
	}
	for _, n := range []int{0, 1, 2, 7, 8, 9, 15, 16, 100, 255, 256, 257, 264, 511, 512, 513, 1408, 1500} {
		a, b := elements(r, n), elements(r, n+3)
		if got, want := Dot(a, b), slowDot(a, b); got != want {
			t.Errorf("%d elements: %d, want %d", n, got, want)
		}
		// Nothing comes closer to 2¹²⁸ than this.
		if got, want := Dot(largest[:n], largest), slowDot(largest[:n], largest); got != want {
			t.Errorf("%d largest elements: %d, want %d", n, got, want)
		}
	}
}

func TestDotFourIsDotOfEach(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 0; n <= 1408; n += 16 {
		b := elements(r, n)
		var a [4][]uint64
		for i := range a {
			a[i] = elements(r, n)
		}
		for i, got := range DotFour(&a, b) {
			if want := Dot(a[i], b); got != want {
				t.Fatalf("%d elements, vector %d: %d, want %d", n, i, got, want)
			}
		}
	}
}

func TestDotFourOfTheLargest(t *testing.T) {
	b := make([]uint64, 1024)
	for i := range b {
		b[i] = Q - 1
	}
	want := slowDot(b, b)
	for _, got := range DotFour(&[4][]uint64{b, b, b, b}, b) {
		if got != want {
			t.Fatalf("%d, want %d", got, want)
		}
	}
}

func TestDotColumnsIsDotOfEach(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct{ rows, columns int }{{16, 256}, {128, 32}, {256, 16}, {3, 4}, {0, 8}} {
		a, b := elements(r, c.rows*c.columns), elements(r, c.rows*c.columns)
		for i := 0; i < len(a); i += c.columns {
			a[i], b[i] = Q-1, Q-1
		}
		sum := elements(r, c.columns)
		DotColumns(sum, a, b)
		for k, got := range sum {
			var x, y []uint64
			for at := k; at < len(a); at += c.columns {
				x, y = append(x, a[at]), append(y, b[at])
			}
			if want := Dot(x, y); got != want {
				t.Fatalf("%+v, column %d: %d, want %d", c, k, got, want)
			}
		}
	}
}

func BenchmarkDot(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := elements(r, 1408), elements(r, 1408)
	b.Run("one", func(b *testing.B) {
		b.SetBytes(8 * 1408)
		for b.Loop() {
			Dot(x, y)
		}
	})
	b.Run("four", func(b *testing.B) {
		b.SetBytes(4 * 8 * 1408)
		four := [4][]uint64{x, y, x, y}
		for b.Loop() {
			DotFour(&four, y)
		}
	})
}
