package scene

import (
	"math"
	"math/rand/v2"
)

// noise is smooth value noise on the integer lattice with period 256.
type noise [256][256]float64

func newNoise(rng *rand.Rand) *noise {
	n := new(noise)
	for i := range 256 * 256 {
		n[i/256][i%256] = rng.Float64()
	}
	return n
}

func (n *noise) at(x, y float64) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	ix, iy := int(fx)&255, int(fy)&255
	x, y = x-fx, y-fy
	x, y = x*x*(3-2*x), y*y*(3-2*y)
	above, below := &n[iy], &n[(iy+1)&255]
	top, bottom := above[ix]+(above[(ix+1)&255]-above[ix])*x, below[ix]+(below[(ix+1)&255]-below[ix])*x
	return top + (bottom-top)*y
}

// fbm sums octaves of doubling frequency and halving weight. The result is in
// [0, 1], mostly within 0.25 of one half.
func (n *noise) fbm(x, y float64, octaves int) float64 {
	sum, weight, total := 0.0, 1.0, 0.0
	for range octaves {
		sum += weight * n.at(x, y)
		total += weight
		// The shift prevents the octaves' lattice points from coinciding.
		x, y, weight = 2*x+17.3, 2*y+9.1, weight/2
	}
	return sum / total
}

func smoothstep(low, high, x float64) float64 {
	t := clamp((x-low)/(high-low), 0, 1)
	return t * t * (3 - 2*t)
}

func clamp(x, low, high float64) float64 { return max(low, min(high, x)) }
