package engine

import (
	"errors"
	"math"
)

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// clamp limits x to lo … hi.
func clamp(x []float32, lo, hi float32) {
	switch {
	case math.IsInf(float64(lo), -1) && math.IsInf(float64(hi), 1):
	case lo == 0 && hi > 0:
		// Non-negative floats have the order of their bits, and negative ones are
		// negative integers: this compiles to conditional moves, where comparing floats
		// would branch on every other pixel.
		top := int32(math.Float32bits(hi))
		for i, v := range x {
			x[i] = math.Float32frombits(uint32(min(max(int32(math.Float32bits(v)), 0), top)))
		}
	default:
		for i, v := range x {
			x[i] = min(max(v, lo), hi)
		}
	}
}

var errNotFinite = errors.New("weights that are not finite numbers once they are folded")

// count returns the number of elements of a shape that has already been checked.
func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// finite reports whether no value is infinite or NaN.
func finite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
