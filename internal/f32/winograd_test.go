package f32

import (
	"math/rand/v2"
	"testing"
)

func TestWinograd(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		if !HasWinograd() {
			t.Skip("this level has no kernels for it")
		}
		r := rand.New(rand.NewPCG(9, 10))
		for _, p := range []Plane{{4, 4, 1, 1, 4, 4}, {14, 14, 1, 1, 14, 14}, {9, 21, 0, 0, 7, 19}, {57, 58, 1, 0, 57, 57}, {3, 200, 1, 2, 3, 201}, {5, 6, 7, 9, 20, 19}} {
			for _, size := range [][2]int{{1, 1}, {5, 3}, {33, 17}} {
				m, k := size[0], size[1]
				x, w, bias := random(r, k*p.InH*p.InW), random(r, m*k*9), random(r, m)
				out := fence(r, m*p.OutH*p.OutW)
				e := &Epilogue{Bias: bias, Clip: true, Lo: -3, Hi: 4}
				PackWinograd(w, m, k).Convolve(out.values, x, p, e, random(r, WinogradScratch(p, m, k)))
				out.check(t, "Convolve")
				for i, got := range out.values {
					c, y, x0 := i/(p.OutH*p.OutW), i/p.OutW%p.OutH, i%p.OutW
					want, size := float64(bias[c]), float64(k)
					for tap := range 9 * k {
						iy, ix := y+tap%9/3-p.Top, x0+tap%3-p.Left
						if iy >= 0 && iy < p.InH && ix >= 0 && ix < p.InW {
							v := float64(w[c*k*9+tap]) * float64(x[(tap/9*p.InH+iy)*p.InW+ix])
							want, size = want+v, size+max(v, -v)
						}
					}
					// The intermediate values are larger than the products.
					if want = min(max(want, -3), 4); !near(got, want, 10*size, 1) {
						t.Fatalf("%v, %d×%d: value %d is %g, want %g", p, m, k, i, got, want)
					}
				}
			}
		}
	})
}

func TestHalves(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for n := range 100 {
			x, even, odd := random(r, n), fence(r, (n+1)/2), fence(r, n/2)
			Halves(even.values, odd.values, x)
			even.check(t, "Halves")
			odd.check(t, "Halves")
			for i, v := range x {
				if got := [2][]float32{even.values, odd.values}[i%2][i/2]; got != v {
					t.Fatalf("%d values: value %d is %g, want %g", n, i, got, v)
				}
			}
		}
	})
}

func TestCopyRows(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 14))
		for n := 1; n < 70; n++ {
			for gap := range 3 {
				const rows = 9
				toStep, step := n+gap, n+2-gap
				x, out := random(r, (rows-1)*step+n), fence(r, rows*toStep)
				clear(out.values)
				CopyRows(out.values, x, toStep, step, n, rows, 0)
				out.check(t, "CopyRows")
				for i, got := range out.values {
					want := float32(0)
					if i%toStep < n {
						want = x[i/toStep*step+i%toStep]
					}
					if got != want {
						t.Fatalf("rows of %d and %d: value %d is %g, want %g", n, gap, i, got, want)
					}
				}
			}
		}
	})
}
