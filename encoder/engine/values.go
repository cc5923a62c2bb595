package engine

import "errors"

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
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
