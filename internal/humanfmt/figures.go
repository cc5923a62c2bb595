// Package humanfmt formats measured numbers for people.
package humanfmt

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// Digits formats a non-negative number with about three digits: 0.12, 1.23,
// 12.3, 123, 1234.
func Digits(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// Round rounds x to the given number of decimals, because more decimals would
// claim a precision that was not measured.
func Round(x float64, decimals int) float64 {
	s := math.Pow10(decimals)
	return math.Round(x*s) / s
}

func Median[T cmp.Ordered](x []T) T {
	var none T
	if len(x) == 0 {
		return none
	}
	return slices.Sorted(slices.Values(x))[len(x)/2]
}
