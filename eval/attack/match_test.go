package attack

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Three dimensions at a time have equal variances. Their eigenvectors in two
// samples of requests are rotations of each other, which signs alone do not undo.
func TestMatchFindsRotatedEigenvectors(t *testing.T) {
	const n, dim = 300, 8
	r := rand.New(rand.NewPCG(3, 4))
	point := func() (x [dim]float64) {
		for i := range x {
			x[i] = r.NormFloat64() * math.Pow(0.8, float64(i/3))
		}
		return x
	}
	photos := make([][dim]float64, n)
	for i := range photos {
		photos[i] = point()
	}
	distances := func(count int) (out [][]float64) {
		for range count {
			from, row := point(), make([]float64, n)
			for i, x := range photos {
				for j := range x {
					row[i] += (x[j] - from[j]) * (x[j] - from[j])
				}
			}
			out = append(out, row)
		}
		return out
	}
	near, err := match(distances(100), distances(100))
	if err != nil {
		t.Fatal(err)
	}
	if right := count(n, func(i int) bool { return near[i] == i }); right < n*9/10 {
		t.Errorf("%d of %d records were matched", right, n)
	}
}
