//go:build unix

package fourier

import (
	"testing"

	"cpar/internal/testing/guardpage"
)

// A read or write beyond a slice crashes this test.
func TestKernelsStayWithinSlices(t *testing.T) {
	AtEachLevel(func(string) {
		for _, atEnd := range []bool{false, true} {
			for _, stride := range []int{4, 12} {
				for done := 1; done <= 3; done++ {
					three, four := 3*done*stride, 4*done*stride
					pass3(&pass{radix: 3, done: done, stride: stride, twiddles: guardpage.Slice[complex128](t, 2*done, atEnd)},
						guardpage.Slice[complex128](t, three, atEnd), guardpage.Slice[complex128](t, three, atEnd))
					pass4(&pass{radix: 4, done: done, stride: stride, twiddles: guardpage.Slice[complex128](t, 3*done, atEnd)},
						guardpage.Slice[complex128](t, four, atEnd), guardpage.Slice[complex128](t, four, atEnd))
				}
			}
			for rows := 1; rows < 4; rows++ {
				n := (rows-1)*9 + Lanes
				ScaleLanes(guardpage.Slice[complex128](t, rows*Lanes, atEnd), guardpage.Slice[complex128](t, n, atEnd), guardpage.Slice[float64](t, n, atEnd), 9)
			}
		}
	})
}
