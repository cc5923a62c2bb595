//go:build unix

package f32

import (
	"math/rand/v2"
	"testing"
)

// TestWindows compares Compute with the definition of each value. An access
// beyond a slice crashes it.
func TestWindows(t *testing.T) {
	eachEdge(t, func(t *testing.T, r *rand.Rand, atEnd bool) {
		if len(levels[active].windows) == 0 {
			t.Skip("this level has no kernels for it")
		}
		for k := range levels[active].windows {
			for _, p := range []Plane{{7, 7, 1, 1, 7, 7}, {14, 14, 2, 2, 14, 14}, {15, 14, 1, 1, 8, 7}, {9, 21, 0, 0, 7, 19}, {1, 1, 1, 2, 2, 2},
				{56, 28, 0, 1, 27, 14}, {3, 40, 6, 7, 8, 44}, {5, 33, 2, 1, 9, 36}} {
				const planes = 3
				x, w, bias := edge[float32](t, r, planes*p.InH*p.InW, atEnd), edge[float32](t, r, planes*k.Size*k.Size, atEnd), random(r, planes)
				out, e := edge[float32](t, r, planes*p.OutH*p.OutW, atEnd), (*Epilogue)(nil)
				if k.Of == WindowDot {
					e = &Epilogue{Bias: bias, Clip: true, Lo: -3, Hi: 4}
				}
				NewWindows(k, p, w).Compute(out, x, e, random(r, WindowScratch(p)))
				for i, got := range out {
					c, y, x0 := i/(p.OutH*p.OutW), i/p.OutW%p.OutH*k.Stride-p.Top, i%p.OutW*k.Stride-p.Left
					dot, sum, most, size := float64(bias[c]), 0.0, -infinity, 1.0
					for tap, by := range w[c*k.Size*k.Size:][:k.Size*k.Size] {
						if iy, ix := y+tap/k.Size, x0+tap%k.Size; iy >= 0 && iy < p.InH && ix >= 0 && ix < p.InW {
							v := x[(c*p.InH+iy)*p.InW+ix]
							dot, sum, most, size = dot+float64(by*v), sum+float64(v), max(most, v), size+float64(max(by*v, -by*v, v, -v))
						}
					}
					want := [...]float64{min(max(dot, -3), 4), sum, float64(most)}[k.Of]
					if !near(got, want, size, k.Size*k.Size) {
						t.Fatalf("%v of %v: value %d is %g, want %g", k, p, i, got, want)
					}
				}
			}
		}
	})
}

func TestMaximaPropagateNaN(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		k := WindowKind{WindowMax, 3, 1}
		if !HasWindows(k) {
			t.Skip("this level has no kernels for it")
		}
		p := Plane{9, 9, 1, 1, 9, 9}
		x, out := make([]float32, 81), make([]float32, 81)
		x[40] = -infinity + infinity
		NewWindows(k, p, nil).Compute(out, x, nil, nil)
		for i, v := range out {
			if near := max(i/9, 8-i/9) < 6 && max(i%9, 8-i%9) < 6; (v != v) != near {
				t.Errorf("value %d is %g", i, v)
			}
		}
	})
}
