package modq

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestDotAgainstBigIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a, b := words(r, 1347), words(r, 1347)
	sum := new(big.Int)
	for i := range a {
		p := new(big.Int).Mul(new(big.Int).SetUint64(a[i]), new(big.Int).SetUint64(b[i]))
		sum.Add(sum, p)
	}
	sum.And(sum, new(big.Int).SetUint64(math.MaxUint64))
	if got := Dot(a, b); got != sum.Uint64() {
		t.Fatalf("%#x, want %#x", got, sum.Uint64())
	}
}

func TestRoundShift(t *testing.T) {
	for _, c := range []struct {
		x     int64
		shift uint
		want  int64
	}{
		{7, 0, 7}, {-7, 0, -7},
		{5, 1, 3}, {-5, 1, -2}, // ties go up
		{3, 2, 1}, {-3, 2, -1}, {1, 2, 0}, {-1, 2, 0}, {2, 2, 1}, {-2, 2, 0},
		{math.MaxInt64, 1, 1 << 62}, {math.MinInt64, 1, -1 << 62},
		{math.MaxInt64, 28, 1 << 35}, {math.MinInt64, 28, -1 << 35},
		{math.MaxInt64, 63, 1}, {math.MinInt64, 63, -1},
		{math.MaxInt64, 64, 0}, {math.MinInt64, 64, 0}, {-1, 65, 0}, {1, 65, 0},
	} {
		if got := RoundShift(uint64(c.x), c.shift); got != c.want {
			t.Errorf("RoundShift(%d, %d) = %d, want %d", c.x, c.shift, got, c.want)
		}
	}
}

func TestRoundShiftAgainstBigIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 20000 {
		x, shift := r.Uint64()>>r.UintN(64), uint(r.UintN(63)+1)
		if r.Uint64()&1 == 0 {
			x = -x
		}
		// floor((x + 2^(shift-1)) / 2^shift), since big's Rsh rounds down.
		v := big.NewInt(int64(x))
		v.Add(v, new(big.Int).Lsh(big.NewInt(1), shift-1))
		v.Rsh(v, shift)
		if got := RoundShift(x, shift); got != v.Int64() {
			t.Fatalf("RoundShift(%d, %d) = %d, want %v", int64(x), shift, got, v)
		}
	}
}

func TestSignedRoundTrip(t *testing.T) {
	src := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, -1 << 40}
	w, back := make([]uint64, len(src)), make([]int64, len(src))
	FromSigned(w, src)
	ToSigned(back, w)
	if w[2] != math.MaxUint64 {
		t.Errorf("-1 became %#x", w[2])
	}
	for i := range src {
		if back[i] != src[i] {
			t.Errorf("element %d: %d, want %d", i, back[i], src[i])
		}
	}
}

func TestInverseOdd(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 1000 {
		a := r.Uint64() | 1
		if a*InverseOdd(a) != 1 {
			t.Fatalf("%#x·%#x is not 1", a, InverseOdd(a))
		}
	}
}
