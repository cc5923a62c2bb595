package f32

import (
	"math"
	"slices"
	"testing"
)

func every() []float32 {
	var x []float32
	for b := uint32(0); b < 0x7f800000; b += 9973 {
		x = append(x, math.Float32frombits(b), -math.Float32frombits(b))
	}
	for i := -120000; i <= 120000; i++ {
		x = append(x, float32(i)/1000)
	}
	for _, v := range []float32{0.625, 0.927734375, 88.722839, 87.33655, 103.97, 104, 89, math.MaxFloat32, math.SmallestNonzeroFloat32} {
		for _, w := range []float32{v, math.Nextafter32(v, 0), math.Nextafter32(v, infinity)} {
			x = append(x, w, -w)
		}
	}
	return append(x, 0, float32(math.Copysign(0, -1)), infinity, -infinity, float32(math.NaN()))
}

// least is the smallest result of full precision.
const least = 0x1p-126

func TestFunctions(t *testing.T) {
	functions := []struct {
		name  string
		f     func(out, in []float32)
		want  func(float64) float64
		bound func(x, y float64) float64 // accepted error
	}{
		{"Exp", Exp, math.Exp, func(_, y float64) float64 { return 0x1p-22*y + 0x1p-148 }},
		{"Erf", Erf, math.Erf, func(_, y float64) float64 { return 2e-7*math.Abs(y) + 0x1p-149 }},
		{"Tanh", Tanh, math.Tanh, func(_, y float64) float64 { return 3e-7*math.Abs(y) + 0x1p-149 }},
		{"Sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
			func(_, y float64) float64 { return 3e-7*y + 2e-18 }},
		{"Gelu", Gelu, func(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) },
			func(x, _ float64) float64 { return 2e-7*math.Abs(x) + 0x1p-149 }},
	}
	in := every()
	eachLevel(t, func(t *testing.T) {
		for _, f := range functions {
			out := make([]float32, len(in))
			f.f(out, in)
			worst := 0.0
			for i, x := range in {
				y := f.want(float64(x))
				if f.name == "Gelu" && math.IsInf(float64(x), -1) {
					continue // −∞·0
				}
				if float32(y) != float32(y) || math.IsInf(float64(float32(y)), 0) {
					if out[i] == out[i] != (y == y) || y == y && out[i] != float32(y) {
						t.Fatalf("%s(%g) is %g, want %g", f.name, x, out[i], y)
					}
					continue
				}
				e := math.Abs(float64(out[i]) - y)
				if !(e <= f.bound(float64(x), y)) {
					t.Fatalf("%s(%g) is %g, want %g: wrong by %g, more than %g", f.name, x, out[i], y, e, f.bound(float64(x), y))
				}
				if math.Abs(y) > least {
					worst = max(worst, e/math.Abs(y))
				}
			}
			t.Logf("%s: relative error at most %.2g", f.name, worst)
			// The functions work in place, for any length, and write nothing
			// beyond it.
			for n := range 40 {
				x := slices.Clone(in[1000:1041])
				f.f(x, x[:n])
				if !slices.Equal(x[:n], out[1000:1000+n]) || !slices.Equal(x[n:], in[1000+n:1041]) {
					t.Fatalf("%s of %d values in place differs", f.name, n)
				}
			}
		}
	})
}
