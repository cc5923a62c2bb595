package fourier

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

func randomly(x []complex128, rng *rand.Rand) {
	for i := range x {
		x[i] = complex(rng.NormFloat64(), rng.NormFloat64())
	}
}

func TestAgainstSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, radices := range [][]int{{3}, {4}, {3, 4}, {4, 3}, {3, 3}, {4, 4, 4, 3}, {4, 4, 4}, {3, 4, 3, 4}} {
		f := New(radices...)
		in := make([]complex128, len(f.Input()))
		randomly(in, rng)
		copy(f.Input(), in)
		out, n := f.Run(), len(in)/Lanes
		for lane := range Lanes {
			for k := range n {
				var sum complex128
				for j := range n {
					sum += in[j*Lanes+lane] * cmplx.Rect(1, 2*math.Pi*float64(j*k%n)/float64(n))
				}
				if got := out[k*Lanes+lane]; !(cmplx.Abs(sum-got) < 1e-11) {
					t.Fatalf("%v: lane %d, element %d: %v, want %v", radices, lane, k, got, sum)
				}
			}
		}
	}
}

func TestPasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, done := range []int{1, 2, 3, 16, 64} {
		for _, stride := range []int{4, 8, 12, 48} {
			for _, radix := range []int{3, 4} {
				p := &pass{radix: radix, done: done, stride: stride, twiddles: make([]complex128, done*(radix-1))}
				randomly(p.twiddles, rng)
				x := make([]complex128, radix*done*stride)
				randomly(x, rng)
				got, want := make([]complex128, len(x)+2), make([]complex128, len(x))
				if radix == 3 {
					pass3(p, x, got[:len(x)])
					pass3Plain(p, x, want)
				} else {
					pass4(p, x, got[:len(x)])
					pass4Plain(p, x, want)
				}
				for i, w := range want {
					if !(cmplx.Abs(got[i]-w) <= 1e-14*(1+cmplx.Abs(w))*8) {
						t.Fatalf("radix %d, %d by %d: value %d is %v, want %v", radix, done, stride, i, got[i], w)
					}
				}
				if got[len(x)] != 0 || got[len(x)+1] != 0 {
					t.Fatal("wrote beyond the end")
				}
			}
		}
	}
}

func TestScaleLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, rows := range []int{0, 1, 2, 7} {
		src, by := make([]complex128, 7*9), make([]float64, 7*9)
		randomly(src, rng)
		for i := range by {
			by[i] = rng.NormFloat64()
		}
		got, want := make([]complex128, rows*Lanes), make([]complex128, rows*Lanes)
		ScaleLanes(got, src, by, 9)
		scaleLanesPlain(want, src, by, 9)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%d rows: %v, want %v", rows, got, want)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	f := New(4, 4, 4, 3)
	randomly(f.Input(), rand.New(rand.NewPCG(7, 8)))
	for b.Loop() {
		f.Run()
		clear(f.Input()) // values would grow
	}
}
