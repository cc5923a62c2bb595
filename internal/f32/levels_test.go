package f32

import (
	"math"
	"math/rand/v2"
	"testing"

	inuse "cpar/internal/testing/kernels"
)

func TestRequiredKernelsRun(t *testing.T) { inuse.Require(t, AtEachLevel) }

func eachLevel(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for l := range level(len(levels)) {
		t.Run(l.String(), func(t *testing.T) {
			if l > best() {
				t.Skip("this processor has no ", l)
			}
			defer func(l level) { active = l }(active)
			active = l
			f(t)
		})
	}
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// A fenced slice lies between guard values that must not change.
type fenced struct{ all, values []float32 }

const guard, guardValues = -12345.5, 40

func fence(r *rand.Rand, n int) fenced {
	all := random(r, n+2*guardValues)
	for i := range all {
		if i < guardValues || i >= guardValues+n {
			all[i] = guard
		}
	}
	return fenced{all, all[guardValues : guardValues+n : guardValues+n]}
}

func (f fenced) check(t *testing.T, what string) {
	t.Helper()
	for i, v := range f.all {
		if (i < guardValues || i >= guardValues+len(f.values)) && v != guard {
			t.Fatalf("%s: wrote beyond %d values, at %d", what, len(f.values), i-guardValues)
		}
	}
}

// near compares sums of k products, where size is Σ|aᵢ·bᵢ|. Infinity and NaN
// must match.
func near(got float32, want, size float64, k int) bool {
	switch {
	case math.IsNaN(want):
		return got != got
	case math.IsInf(want, 0):
		return float64(got) == want
	}
	return math.Abs(float64(got)-want) <= 0x1p-24*(2+math.Sqrt(float64(k)))*4*size+1e-44
}
