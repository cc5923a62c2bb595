package eval

import (
	"math"
	"slices"
)

// median returns the middle of x, the greater of two; 0 if x is empty.
func median[T int64 | float64](x []T) T {
	y := slices.Clone(x)
	slices.Sort(y)
	if len(y) == 0 {
		return 0
	}
	return y[len(y)/2]
}

// mean returns the mean of x, 0 if x is empty.
func mean[T int64 | uint32 | uint64 | float64](x []T) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(max(len(x), 1))
}

// weightedMedian returns the value below which half of the weight lies.
func weightedMedian(x []int64, weights []float64) int64 {
	total, below := 0.0, 0.0
	for _, w := range weights {
		total += w
	}
	order := ascending(x)
	for _, i := range order {
		if below += weights[i]; 2*below > total {
			return x[i]
		}
	}
	return x[order[len(order)-1]]
}

// milliseconds returns the median of ns in milliseconds.
func milliseconds(ns []int64) float64 { return float64(median(ns)) / 1e6 }

// round keeps figures readable: nobody measures P to fifteen digits.
func RoundTo(x float64, digits int) float64 {
	s := math.Pow10(digits)
	return math.Round(x*s) / s
}
