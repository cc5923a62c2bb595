//go:build unix

package f32

import (
	"math"
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
		for shape := range levels[active].windows {
			for _, p := range []Plane{{7, 7, 1, 1, 7, 7}, {14, 14, 2, 2, 14, 14}, {15, 14, 1, 1, 8, 7}, {9, 21, 0, 0, 7, 19}, {1, 1, 1, 2, 2, 2},
				{56, 28, 0, 1, 27, 14}, {3, 40, 6, 7, 8, 44}, {5, 33, 2, 1, 9, 36}} {
				const planes = 3
				x, w, bias := edge[float32](t, r, planes*p.InH*p.InW, atEnd), edge[float32](t, r, planes*shape.size*shape.size, atEnd), random(r, planes)
				out, e := edge[float32](t, r, planes*p.OutH*p.OutW, atEnd), (*Epilogue)(nil)
				if !shape.max {
					e = &Epilogue{Bias: bias, Clip: true, Lo: -3, Hi: 4}
				}
				k := NewWindows(p, shape.max, shape.size, shape.stride)
				k.Compute(out, x, w, e, random(r, k.Scratch()))
				for i, got := range out {
					c, y, x0 := i/(p.OutH*p.OutW), i/p.OutW%p.OutH*shape.stride-p.Top, i%p.OutW*shape.stride-p.Left
					want, size := float64(bias[c]), 1.0
					if shape.max {
						want = math.Inf(-1)
					}
					for tap, by := range w[c*shape.size*shape.size:][:shape.size*shape.size] {
						if iy, ix := y+tap/shape.size, x0+tap%shape.size; iy >= 0 && iy < p.InH && ix >= 0 && ix < p.InW {
							v := float64(x[(c*p.InH+iy)*p.InW+ix])
							if shape.max {
								want = max(want, v)
								continue
							}
							v *= float64(by)
							want, size = want+v, size+max(v, -v)
						}
					}
					if !shape.max {
						want = min(max(want, -3), 4)
					}
					if !near(got, want, size, shape.size*shape.size) {
						t.Fatalf("%v of %v: value %d is %g, want %g", shape, p, i, got, want)
					}
				}
			}
		}
	})
}

func TestMaximaPropagateNaN(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		k := NewWindows(Plane{9, 9, 1, 1, 9, 9}, true, 3, 1)
		if k == nil {
			t.Skip("this level has no kernels for it")
		}
		x, out := make([]float32, 81), make([]float32, 81)
		x[40] = -infinity + infinity
		k.Compute(out, x, make([]float32, 9), nil, make([]float32, k.Scratch()))
		for i, v := range out {
			if near := max(i/9, 8-i/9) < 6 && max(i%9, 8-i%9) < 6; (v != v) != near {
				t.Errorf("value %d is %g", i, v)
			}
		}
	})
}
