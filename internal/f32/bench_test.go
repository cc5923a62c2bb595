package f32

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkMul uses shapes of a vision transformer and a convolutional network.
func BenchmarkMul(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{50, 3072, 768}, {197, 768, 3072}, {64, 3136, 576}, {512, 55, 4608}, {24, 3136, 144}, {50, 50, 64}, {1000, 1000, 1000}} {
		m, n, k := s[0], s[1], s[2]
		x, y, c := random(r, m*k), random(r, k*n), make([]float32, m*n)
		name := fmt.Sprintf("%d×%d×%d", m, n, k)
		gflops := func(b *testing.B) {
			b.ReportMetric(2*float64(m*n*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOPS")
		}
		b.Run("both/"+name, func(b *testing.B) {
			scratch := make([]float32, Scratch(m, n, k))
			for b.Loop() {
				Mul(c, n, x, k, y, n, m, n, k, false, scratch)
			}
			gflops(b)
		})
		b.Run("left/"+name, func(b *testing.B) {
			left := PackLeft(x, k, m, k)
			scratch := make([]float32, LeftScratch(n, k))
			for b.Loop() {
				left.Mul(c, n, y, n, n, scratch)
			}
			gflops(b)
		})
		b.Run("right/"+name, func(b *testing.B) {
			right := PackRight(y, n, k, n, false)
			scratch := make([]float32, right.Scratch(m))
			for b.Loop() {
				right.Mul(c, n, x, k, m, nil, scratch)
			}
			gflops(b)
		})
	}
}

func BenchmarkTaps(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{55, 209, 3136} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, w, out := random(r, n+200), random(r, 9), make([]float32, n)
			offsets := []int{0, 1, 2, 57, 58, 59, 114, 115, 116}
			for b.Loop() {
				Taps(out, x, offsets, w, 1, &Epilogue{Clip: true, Hi: 6})
			}
			b.ReportMetric(2*float64(9*n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOPS")
		})
	}
}

func BenchmarkFunctions(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	x := random(r, 4096)
	out := make([]float32, len(x))
	for name, f := range map[string]func(out, in []float32){"Exp": Exp, "Erf": Erf, "Tanh": Tanh, "Sigmoid": Sigmoid, "Gelu": Gelu} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f(out, x)
			}
			b.ReportMetric(float64(len(x)*b.N)/float64(b.Elapsed().Nanoseconds()), "values/ns")
		})
	}
}
