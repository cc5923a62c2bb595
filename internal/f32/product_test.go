package f32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A sum is a value of a product and the sum of its terms' magnitudes.
type sum struct{ value, size float64 }

func naive(a []float32, lda int, b func(i, j int) float32, m, n, k int, from func(i, j int) float32) []sum {
	out := make([]sum, 0, m*n)
	for i := range m {
		for j := range n {
			s := sum{float64(from(i, j)), math.Abs(float64(from(i, j)))}
			for p := range k {
				term := float64(a[i*lda+p]) * float64(b(p, j))
				s.value, s.size = s.value+term, s.size+math.Abs(term)
			}
			out = append(out, s)
		}
	}
	return out
}

func compare(t *testing.T, what string, c fenced, ldc int, want []sum, m, n, k int) {
	t.Helper()
	c.check(t, what)
	for i := range m {
		for j := range n {
			w := want[i*n+j]
			if got := c.values[i*ldc+j]; !near(got, w.value, w.size, k) {
				t.Fatalf("%s: value (%d, %d) is %g, want %g", what, i, j, got, w.value)
			}
		}
		if rest := c.values[i*ldc+n : min(len(c.values), (i+1)*ldc)]; len(rest) > 0 {
			for _, v := range rest {
				if v != guard {
					t.Fatalf("%s: wrote between rows", what)
				}
			}
		}
	}
}

func output(r *rand.Rand, m, n, ldc int) fenced {
	c := fence(r, (m-1)*ldc+n)
	for i := range c.values {
		if i%ldc >= n {
			c.values[i] = guard
		}
	}
	return c
}

// sizes include one, primes, and sizes near tiles and blocks of every level.
var sizes = [][3]int{
	{1, 1, 1}, {1, 1, 7}, {1, 17, 1}, {2, 3, 5}, {3, 8, 300}, {4, 4, 4}, {5, 15, 11}, {6, 16, 2}, {7, 17, 3},
	{11, 31, 64}, {12, 32, 193}, {13, 33, 65}, {17, 1, 256}, {1, 100, 257}, {23, 47, 29}, {37, 64, 512},
	{145, 20, 31}, {289, 9, 13}, {5, 513, 19}, {3, 1031, 260}, {50, 70, 600}, {101, 103, 107},
}

func TestMul(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, s := range sizes {
			m, n, k := s[0], s[1], s[2]
			for variant := range 4 {
				transB, gap := variant&1 != 0, 3*(variant>>1)
				what := fmt.Sprintf("%d×%d×%d, transposed %v, gap %d", m, n, k, transB, gap)
				lda, ldc, ldb, rowsB := k+gap, n+gap, n+gap, k
				if transB {
					ldb, rowsB = k+gap, n
				}
				a, b, c := fence(r, (m-1)*lda+k), fence(r, (rowsB-1)*ldb+min(ldb, ldb-gap)), output(r, m, n, ldc)
				at := func(i, j int) float32 {
					if transB {
						return b.values[j*ldb+i]
					}
					return b.values[i*ldb+j]
				}
				want := naive(a.values, lda, at, m, n, k, func(int, int) float32 { return 0 })
				before := append([]float32(nil), c.values...)
				Mul(c.values, ldc, a.values, lda, b.values, ldb, m, n, k, transB, make([]float32, Scratch(m, n, k)))
				compare(t, what, c, ldc, want, m, n, k)

				copy(c.values, before)
				left := PackLeft(a.values, lda, m, k)
				if !transB {
					left.Mul(c.values, ldc, b.values, ldb, n, make([]float32, LeftScratch(n, k)))
					compare(t, "left "+what, c, ldc, want, m, n, k)
				}
				copy(c.values, before)
				right := PackRight(b.values, ldb, k, n, transB)
				right.Mul(c.values, ldc, a.values, lda, m, nil, make([]float32, right.Scratch(m)))
				compare(t, "right "+what, c, ldc, want, m, n, k)
			}
		}
	})
}

func TestEpilogue(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, s := range sizes {
			m, n, k := s[0], s[1], s[2]
			a := random(r, m*k)
			bound := float32(math.Sqrt(float64(k)) / 2)
			for i, e := range []*Epilogue{nil, {Bias: random(r, m)}, {Clip: true, Lo: -bound, Hi: bound}, {random(r, m), true, 0, bound}} {
				// Offsets that are multiples of the longest register must not be mistaken
				// for rows equally far apart.
				unit := 1 + i%2*15
				b, offsets := random(r, n+unit*2*k), make([]int, k)
				for i := range offsets {
					offsets[i] = unit * r.IntN(2*k+1)
				}
				c := output(r, m, n, n+1)
				want := naive(a, k, func(i, j int) float32 { return b[offsets[i]+j] }, m, n, k, func(i, _ int) float32 { return e.bias(i) })
				left := PackLeft(a, k, m, k)
				left.MulRows(c.values, n+1, b, offsets, n, e, make([]float32, LeftScratch(n, k)))
				compare(t, fmt.Sprint("rows ", s, e), c, n+1, e.clipped(want), m, n, k)
			}
			dense := random(r, k*n)
			for _, e := range []*Epilogue{nil, {Bias: random(r, n)}, {random(r, n), true, -bound, bound}} {
				c := output(r, m, n, n)
				want := naive(a, k, func(i, j int) float32 { return dense[i*n+j] }, m, n, k, func(_, j int) float32 { return e.bias(j) })
				right := PackRight(dense, n, k, n, false)
				right.Mul(c.values, n, a, k, m, e, make([]float32, right.Scratch(m)))
				compare(t, fmt.Sprint("right ", s, e), c, n, e.clipped(want), m, n, k)
			}
		}
	})
}

func (e *Epilogue) bias(i int) float32 {
	if e == nil || e.Bias == nil {
		return 0
	}
	return e.Bias[i]
}

func (e *Epilogue) clipped(s []sum) []sum {
	if e != nil && e.Clip {
		for i := range s {
			s[i].value = min(max(s[i].value, float64(e.Lo)), float64(e.Hi))
		}
	}
	return s
}

func TestMulPropagatesInfinityAndNaN(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		inf, nan := infinity, float32(math.NaN())
		for _, s := range sizes {
			m, n, k := s[0], s[1], s[2]
			a, b := random(r, m*k), random(r, k*n)
			for range 2 {
				a[r.IntN(len(a))], b[r.IntN(len(b))] = inf, -inf
				a[r.IntN(len(a))], b[r.IntN(len(b))] = 0, nan
			}
			none := func(int, int) float32 { return 0 }
			want := naive(a, k, func(i, j int) float32 { return b[i*n+j] }, m, n, k, none)
			c := output(r, m, n, n)
			Mul(c.values, n, a, k, b, n, m, n, k, false, make([]float32, Scratch(m, n, k)))
			compare(t, fmt.Sprint(s), c, n, want, m, n, k)
			e := &Epilogue{Clip: true, Lo: -1, Hi: 1}
			right := PackRight(b, n, k, n, false)
			right.Mul(c.values, n, a, k, m, e, make([]float32, right.Scratch(m)))
			for i, w := range want {
				if got := c.values[i]; (got != got) != math.IsNaN(w.value) || got > 1 || got < -1 {
					t.Fatalf("%v: %g within −1 … 1 gives %g", s, w.value, got)
				}
			}
		}
	})
}

func TestTaps(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for n := 1; n < 300; n += 1 + n/40 {
			for _, taps := range []int{0, 1, 2, 9, 49} {
				x, w, offsets := random(r, n+50), random(r, taps), make([]int, taps)
				for i := range offsets {
					offsets[i] = r.IntN(51)
				}
				for _, e := range []*Epilogue{nil, {Clip: true, Lo: 0, Hi: 1}} {
					out := fence(r, n)
					from := func(int, int) float32 { return 0.25 }
					want := naive(w, taps, func(i, j int) float32 { return x[offsets[i]+j] }, 1, n, taps, from)
					Taps(out.values, x, offsets, w, 0.25, e)
					compare(t, fmt.Sprint(n, taps), out, n, e.clipped(want), 1, n, taps)
				}
			}
		}
	})
}

func TestVectors(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 10))
		for n := range 200 {
			x, y := fence(r, n), fence(r, n)
			var dot, size float64
			wide, wantWide := make([]float64, n+1), make([]float64, n+1)
			for i, v := range x.values {
				dot += float64(v) * float64(y.values[i])
				size += math.Abs(float64(v) * float64(y.values[i]))
				wide[i] = float64(i) / 7
				wantWide[i] = wide[i] + float64(v)
			}
			if got := Dot(x.values, y.values); !near(got, dot, size, n) {
				t.Fatalf("n = %d: Dot is %g, want %g", n, got, dot)
			}
			AddTo64(wide, x.values)
			for i := range wide {
				if wide[i] != wantWide[i] {
					t.Fatalf("n = %d: AddTo64 makes %g of value %d, want %g", n, wide[i], i, wantWide[i])
				}
			}
			centred := fence(r, n)
			Centre(centred.values, x.values, wide, 0.25)
			centred.check(t, "Centre")
			for i, v := range x.values {
				if want := float32((float64(v) - wide[i]) * 0.25); centred.values[i] != want {
					t.Fatalf("n = %d: Centre makes %g of value %d, want %g", n, centred.values[i], i, want)
				}
			}
			before := append([]float32(nil), y.values...)
			Axpy(-2.5, x.values, y.values)
			y.check(t, "Axpy")
			for i, v := range y.values {
				if want := float64(before[i]) - 2.5*float64(x.values[i]); !near(v, want, math.Abs(want)+math.Abs(float64(before[i])), 1) {
					t.Fatalf("n = %d: Axpy makes %g of value %d, want %g", n, v, i, want)
				}
			}
		}
	})
}

func TestElementwiseOperators(t *testing.T) {
	nan, odd := float32(math.NaN()), []float32{float32(math.NaN()), infinity, -infinity, 0, -0x1p-149, math.MaxFloat32}
	same := func(x, y float32) bool { return x == y || x != x && y != y }
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 14))
		for n := range 200 {
			x, y := random(r, n), random(r, n)
			for i := range n / 4 { // every pair in turn
				x[r.IntN(n)], y[r.IntN(n)] = odd[i%len(odd)], odd[r.IntN(len(odd))]
			}
			check := func(what string, f func(out []float32), want func(x, y float32) float32) {
				out := fence(r, n)
				f(out.values)
				out.check(t, what)
				for i, v := range out.values {
					if w := want(x[i], y[i]); !same(v, w) && !(math.Abs(float64(v-w)) <= 1e-6) {
						t.Fatalf("%s of %g and %g is %g, want %g", what, x[i], y[i], v, w)
					}
				}
			}
			line := func(lo, hi float32) func(x, _ float32) float32 {
				return func(x, _ float32) float32 { return clip(float32(2.5*float64(x)+0.5), lo, hi) }
			}
			check("Line", func(out []float32) { Line(out, x, 2.5, 0.5, -infinity, infinity) }, line(-infinity, infinity))
			check("Line", func(out []float32) { Line(out, x, 2.5, 0.5, -1, 2) }, line(-1, 2))
			check("Times", func(out []float32) { Times(out, x, y) }, func(x, y float32) float32 { return x * y })
			check("Larger", func(out []float32) { Larger(out, x, y) }, func(x, y float32) float32 { return max(x, y) })
			for at := range n {
				if top := Largest(x[at:]); top != largestPlain(x[at:]) {
					t.Fatalf("the largest of %g is %g", x[at:], top)
				}
			}
		}
		if top := Largest([]float32{nan, nan}); top != -infinity {
			t.Errorf("the largest of nothing is %g", top)
		}
		long := random(r, 1000)
		sum := 0.0
		for i, v := range long {
			if got := Sum(long[:i]); math.Abs(got-sum) > 1e-4 {
				t.Fatalf("the sum of %d values is %g, want %g", i, got, sum)
			}
			sum += float64(v)
		}
	})
}

func TestMul64(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for _, s := range sizes {
			m, n, k := s[0], s[1], s[2]
			a, narrow := make([]float64, m*(k+1)), random(r, (n+1)*(k+1))
			for i := range a {
				a[i] = r.NormFloat64()
			}
			wide, minus := make([]float64, len(narrow)), make([]float64, len(narrow))
			for i, v := range narrow {
				wide[i], minus[i] = float64(v), -float64(v)
			}
			for _, transB := range []bool{false, true} {
				ldb := n + 1
				if transB {
					ldb = k + 1
				}
				c := make([]float64, m*(n+2))
				want := make([]float64, len(c))
				for i := range c {
					c[i] = float64(i)
					want[i] = c[i]
				}
				for i := range m {
					for j := range n {
						for p := range k {
							at := p*ldb + j
							if transB {
								at = j*ldb + p
							}
							want[i*(n+2)+j] += a[i*(k+1)+p] * wide[at]
						}
					}
				}
				same, less := append([]float64(nil), c...), append([]float64(nil), c...)
				Mul64(c, n+2, a, k+1, narrow, ldb, m, n, k, transB)
				Mul64(same, n+2, a, k+1, wide, ldb, m, n, k, transB)
				Sub64(less, n+2, a, k+1, minus, ldb, m, n, k, transB)
				for i, w := range want {
					if math.Abs(c[i]-w) > 1e-13*(1+math.Abs(w))*float64(k) || c[i] != same[i] || c[i] != less[i] {
						t.Fatalf("%v, transposed %v: value %d is %g, %g or %g, want %g", s, transB, i, c[i], same[i], less[i], w)
					}
				}
				alone := make([]float64, n)
				for j := range alone {
					alone[j] = float64((m-1)*(n+2) + j)
				}
				Mul64(alone, n, a[(m-1)*(k+1):], k, wide, ldb, 1, n, k, transB)
				for j, v := range alone {
					if v != c[(m-1)*(n+2)+j] {
						t.Fatalf("%v: value %d of a row alone is %g, among others %g", s, j, v, c[(m-1)*(n+2)+j])
					}
				}
			}
		}
	})
}
