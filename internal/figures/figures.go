// Package figures writes numbers for people.
package figures

import "strconv"

// Digits writes a number that is not negative with three digits or so: 0.12, 1.23,
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
