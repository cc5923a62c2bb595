package lattice

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

func eachRing(t *testing.T, f func(t *testing.T, o *Ring)) {
	t.Helper()
	for _, o := range []*Ring{Fast, Careful} {
		t.Run(fmt.Sprint(o.N), func(t *testing.T) { f(t, o) })
	}
}

func (o *Ring) big() *big.Int { return new(big.Int).SetUint64(o.Q) }

func (o *Ring) widths() (d []int) {
	for w := minBlock; w <= o.N/minPoints; w *= 2 {
		d = append(d, w)
	}
	return d
}

func (o *Ring) random(r *rand.Rand, n int) []uint64 {
	x := make([]uint64, n)
	for i := range x {
		x[i] = r.Uint64N(o.Q)
	}
	return x
}

func (o *Ring) slowProduct(a, b []uint64) []uint64 {
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
		out[i] = sum[i].Mod(&sum[i], o.big()).Uint64()
	}
	return out
}

func (o *Ring) evaluated(p []uint64) []uint64 {
	q := slices.Clone(p)
	o.Evaluate(q)
	return q
}

func (o *Ring) product(a, b []uint64) []uint64 {
	x, y, sum := o.evaluated(a), o.evaluated(b), make([]uint64, len(a))
	o.Factors(y)
	o.MulAdd(sum, x, y)
	o.Interpolate(sum)
	return sum
}

func TestModulusIsLargestPrime(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		step := uint64(2 * o.N)
		if !o.big().ProbablyPrime(64) || o.Q%step != 1 || o.Q>>o.LogQ != 0 || o.Q != 1<<o.LogQ-o.gap+1 {
			t.Fatalf("%d is no prime below 2^%d that is 1 modulo %d", o.Q, o.LogQ, step)
		}
		for q := 1<<o.LogQ - step + 1; q > o.Q; q -= step {
			if new(big.Int).SetUint64(q).ProbablyPrime(64) {
				t.Errorf("%d is a larger one", q)
			}
		}
		if o.LogQ > 8*WordBytes {
			t.Error("a word does not hold an element")
		}
	})
}

func TestProductsAgainstBigIntegers(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, n := range []int{16, 32, 64, 128, 256} {
			for range 3 {
				a, b := o.random(r, n), o.random(r, n)
				a[0], b[n-1] = o.Q-1, o.Q-1
				if !slices.Equal(o.product(a, b), o.slowProduct(a, b)) {
					t.Fatalf("%d points: another product", n)
				}
			}
		}
	})
}

// At N points products of monomials suffice: X^i·X^j = ±X^(i+j).
func TestProductsOfMonomials(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		r := rand.New(rand.NewPCG(3, 4))
		for range 20 {
			i, j, x, y := r.IntN(o.N), r.IntN(o.N), r.Uint64N(o.Q), r.Uint64N(o.Q)
			a, b := make([]uint64, o.N), make([]uint64, o.N)
			a[i], b[j] = x, y
			xy := new(big.Int).Mul(new(big.Int).SetUint64(x), new(big.Int).SetUint64(y))
			want := xy.Mod(xy, o.big()).Uint64()
			if i+j >= o.N {
				want = o.Sub(0, want)
			}
			for at, got := range o.product(a, b) {
				if at == (i+j)%o.N && got != want || at != (i+j)%o.N && got != 0 {
					t.Fatalf("%d·X^%d times %d·X^%d has %d at X^%d", x, i, y, j, got, at)
				}
			}
		}
	})
}

// The points and their order are part of the format: position i is ψ to the
// power 2·reverse(i)+1, with reverse on log₂ N bits.
func TestEvaluationsArePinned(t *testing.T) {
	roots := map[*Ring]struct{ primitive, psi uint64 }{Fast: {7, 0x70e692206979}, Careful: {5, 0xb2eef893fa3c}}
	eachRing(t, func(t *testing.T, o *Ring) {
		psi := new(big.Int).Exp(new(big.Int).SetUint64(roots[o].primitive), new(big.Int).SetUint64((o.Q-1)/uint64(2*o.N)), o.big())
		if psi.Uint64() != roots[o].psi {
			t.Fatalf("ψ is %#x", psi)
		}
		x := make([]uint64, o.N)
		x[1] = 1
		o.Evaluate(x)
		for i, got := range x {
			odd := 2*int64(bits.Reverse16(uint16(i))>>(16-o.LogN)) + 1
			if want := new(big.Int).Exp(psi, big.NewInt(odd), o.big()).Uint64(); got != want {
				t.Fatalf("point %d is %#x, want %#x", i, got, want)
			}
		}
	})
}

func TestFoldedPointsLieTogether(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		x := make([]uint64, o.N)
		x[1] = 1
		o.Evaluate(x)
		for _, d := range o.widths() {
			y := make([]uint64, o.N/d)
			y[1] = 1
			o.Evaluate(y)
			for i, zeta := range x {
				power := new(big.Int).Exp(new(big.Int).SetUint64(zeta), big.NewInt(int64(d)), o.big())
				if power.Uint64() != y[i/d] {
					t.Fatalf("D = %d: point %d to the power of D is not point %d of %d", d, i, i/d, len(y))
				}
			}
		}
	})
}

func TestInterpolateFoldedAgainstWhole(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, d := range o.widths() {
			a, b := o.random(r, o.N), o.random(r, o.N)
			whole := o.product(a, b)
			x, z, y := o.evaluated(a), o.evaluated(b), make([]uint64, o.N/d)
			for k := range y {
				y[k] = o.slowDot(x[k*d:(k+1)*d], z[k*d:])
			}
			folded := slices.Clone(y)
			o.InterpolateFolded(y)
			for i, got := range y {
				if got != whole[i*d] {
					t.Fatalf("D = %d: coefficient %d is %d, want %d", d, i*d, got, whole[i*d])
				}
			}
			if o.EvaluateFolded(y); !slices.Equal(y, folded) {
				t.Fatalf("D = %d: EvaluateFolded does not invert InterpolateFolded", d)
			}
		}
	})
}

func TestArithmeticAgainstBigIntegers(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		r := rand.New(rand.NewPCG(7, 8))
		p := append(o.random(r, 100), 0, 1, o.Q-1)
		q := slices.Clone(p)
		o.Factors(q)
		o.Scale(q, 1)
		if !slices.Equal(p, q) {
			t.Error("Scale by 1 does not undo Factors")
		}
		factor := []uint64{o.Q - 3}
		o.Factors(factor)
		sum := slices.Clone(p)
		o.AddScaled(sum, p, factor[0])
		for i, x := range p {
			want := new(big.Int).Mul(new(big.Int).SetUint64(x), new(big.Int).SetUint64(o.Q-2))
			if sum[i] != want.Mod(want, o.big()).Uint64() {
				t.Errorf("%d plus itself times −3 is %d", x, sum[i])
			}
			if v := o.Centred(x); o.Lift(v) != x || v > int64(o.Q/2) || v < -int64(o.Q/2) {
				t.Errorf("%d stands for %d", x, v)
			}
		}
		if o.Mod(^uint64(0)) != ^uint64(0)%o.Q {
			t.Error("2⁶⁴−1 is reduced to something else")
		}
	})
}

func TestWordsRoundTrip(t *testing.T) {
	v := []uint64{0, 1, 1<<48 - 1, 0x123456789abc}
	b := AppendWords([]byte{7}, v)
	if want := "07000000000000010000000000ffffffffffffbc9a78563412"; hex.EncodeToString(b) != want {
		t.Errorf("%x", b)
	}
	back := make([]uint64, len(v))
	if Words(back, b[1:]); !slices.Equal(back, v) {
		t.Errorf("%x", back)
	}
}

func TestTransformPanicsOnBadLength(t *testing.T) {
	eachRing(t, func(t *testing.T, o *Ring) {
		for _, n := range []int{0, 1, 8, 17, o.N / 3, 2 * o.N} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%d points were transformed", n)
					}
				}()
				o.Evaluate(make([]uint64, n))
			}()
		}
	})
}

func BenchmarkEvaluate(b *testing.B) {
	for _, o := range []*Ring{Fast, Careful} {
		b.Run(fmt.Sprint(o.N), func(b *testing.B) {
			p := o.random(rand.New(rand.NewPCG(1, 2)), o.N)
			for b.Loop() {
				o.Evaluate(p)
			}
		})
	}
}
