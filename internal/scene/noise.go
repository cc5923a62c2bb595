package scene

import (
	"math"
	"math/rand/v2"
)

// noise is smooth value noise on the integer lattice with period 256.
type noise struct {
	perm  [512]uint8
	value [256]float64
}

func newNoise(rng *rand.Rand) *noise {
	n := &noise{}
	for i, v := range rng.Perm(256) {
		n.perm[i], n.perm[i+256] = uint8(v), uint8(v)
		n.value[i] = rng.Float64()
	}
	return n
}

func (n *noise) at(x, y float64) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	ix, iy := int(fx)&255, int(fy)&255
	x, y = x-fx, y-fy
	x, y = x*x*(3-2*x), y*y*(3-2*y)
	a, b := int(n.perm[ix]), int(n.perm[(ix+1)&255])
	v00, v10 := n.value[n.perm[a+iy]], n.value[n.perm[b+iy]]
	v01, v11 := n.value[n.perm[a+(iy+1)&255]], n.value[n.perm[b+(iy+1)&255]]
	top, bottom := v00+(v10-v00)*x, v01+(v11-v01)*x
	return top + (bottom-top)*y
}

// fbm sums octaves of doubling frequency and half the weight. It is in [0, 1],
// mostly within 0.25 of one half.
func (n *noise) fbm(x, y float64, octaves int) float64 {
	sum, weight, total := 0.0, 1.0, 0.0
	for range octaves {
		sum += weight * n.at(x, y)
		total += weight
		// The odd shift keeps the lattices of the octaves apart.
		x, y, weight = 2*x+17.3, 2*y+9.1, weight/2
	}
	return sum / total
}

func smoothstep(low, high, x float64) float64 {
	t := clamp((x-low)/(high-low), 0, 1)
	return t * t * (3 - 2*t)
}

func clamp(x, low, high float64) float64 { return max(low, min(high, x)) }
