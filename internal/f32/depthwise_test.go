//go:build unix

package f32

import (
	"math/rand/v2"
	"testing"
)

// TestDepthwise compares Convolve with the definition of a convolution. An
// access beyond a slice crashes it.
func TestDepthwise(t *testing.T) {
	eachEdge(t, func(t *testing.T, r *rand.Rand, atEnd bool) {
		if !HasDepthwise(3, 1) {
			t.Skip("this level has no kernels for it")
		}
		for _, p := range []Plane{{7, 7, 1, 1, 7, 7}, {14, 14, 2, 2, 14, 14}, {15, 14, 1, 1, 8, 7}, {9, 21, 0, 0, 7, 19}, {1, 1, 1, 2, 2, 2},
			{56, 28, 0, 1, 27, 14}, {3, 40, 6, 7, 8, 44}, {5, 33, 2, 1, 9, 36}} {
			for size := 3; size <= 5; size += 2 {
				for stride := 1; stride <= 2; stride++ {
					const planes = 3
					x, w, bias := edge[float32](t, r, planes*p.InH*p.InW, atEnd), edge[float32](t, r, planes*size*size, atEnd), random(r, planes)
					out := edge[float32](t, r, planes*p.OutH*p.OutW, atEnd)
					e := &Epilogue{Bias: bias, Clip: true, Lo: -3, Hi: 4}
					PackDepthwise(w, p, size, stride).Convolve(out, x, e, random(r, DepthwiseScratch(p)))
					for i, got := range out {
						c, y, x0 := i/(p.OutH*p.OutW), i/p.OutW%p.OutH*stride-p.Top, i%p.OutW*stride-p.Left
						want, all := float64(bias[c]), 1.0
						for tap, by := range w[c*size*size:][:size*size] {
							iy, ix := y+tap/size, x0+tap%size
							if iy >= 0 && iy < p.InH && ix >= 0 && ix < p.InW {
								v := float64(by) * float64(x[(c*p.InH+iy)*p.InW+ix])
								want, all = want+v, all+max(v, -v)
							}
						}
						if want = min(max(want, -3), 4); !near(got, want, all, size*size) {
							t.Fatalf("%v, %d×%[2]d at stride %d: value %d is %g, want %g", p, size, stride, i, got, want)
						}
					}
				}
			}
		}
	})
}
