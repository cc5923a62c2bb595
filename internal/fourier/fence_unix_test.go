//go:build unix

package fourier

import (
	"testing"
	"unsafe"

	"cpar/internal/testing/guardpage"
)

// edge returns n values of zeros at the end or the beginning of accessible
// memory.
func edge[T complex128 | float64](t *testing.T, n int, atEnd bool) []T {
	t.Helper()
	var size T
	b := guardpage.Bytes(t, n*int(unsafe.Sizeof(size)), atEnd)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// A read or write beyond a slice crashes this test.
func TestKernelsStayWithinSlices(t *testing.T) {
	AtEachLevel(func(string) {
		for _, atEnd := range []bool{false, true} {
			for _, stride := range []int{4, 12} {
				for done := 1; done <= 3; done++ {
					three, four := 3*done*stride, 4*done*stride
					pass3(&pass{radix: 3, done: done, stride: stride, twiddles: edge[complex128](t, 2*done, atEnd)},
						edge[complex128](t, three, atEnd), edge[complex128](t, three, atEnd))
					pass4(&pass{radix: 4, done: done, stride: stride, twiddles: edge[complex128](t, 3*done, atEnd)},
						edge[complex128](t, four, atEnd), edge[complex128](t, four, atEnd))
				}
			}
			for rows := 1; rows < 4; rows++ {
				n := (rows-1)*9 + Lanes
				ScaleLanes(edge[complex128](t, rows*Lanes, atEnd), edge[complex128](t, n, atEnd), edge[float64](t, n, atEnd), 9)
			}
		}
	})
}
