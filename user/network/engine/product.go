package engine

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/blas/gonum"
)

// kernels is gonum's BLAS, whose vector operations are in assembly on amd64. Its matrix
// product is not used: it starts goroutines, and here one image must use one core.
var kernels gonum.Implementation

// axpy adds a·x to y, which has the same length.
func axpy(a float32, x, y []float32) {
	kernels.Saxpy(len(y), a, x, 1, y, 1)
}

// dot returns the dot product of two vectors of the same length.
func dot(x, y []float32) float32 {
	return kernels.Sdot(len(y), x, 1, y, 1)
}

// enoughForDots is the length from which dot products pay off. They store nothing on the
// way and take half the time of as many row additions, but each must be worth the call,
// and the image must be transposed.
const enoughForDots = 48

// blockColumns columns of the few rows of b stay in the cache while every row of c passes by.
const blockColumns = 1024

// addProduct adds a·b to c: a is m×k, b k×n, c m×n, all row by row.
func addProduct(c, a, b []float32, m, n, k int) {
	for j := 0; j < n; j += blockColumns {
		wide := min(blockColumns, n-j)
		for i := range m {
			row := c[i*n+j:][:wide]
			for p := range k {
				axpy(a[i*k+p], b[p*n+j:][:wide], row)
			}
		}
	}
}

// dotBlock is the number of elements of b that stay in the cache while all of a passes by.
const dotBlock = 8192

// dotProduct sets c = a·bᵀ + bias: a is m×k, b n×k, c m×n, with one bias per row of c.
func dotProduct(c, a, b, bias []float32, m, n, k int) {
	step := max(1, dotBlock/k)
	for j := 0; j < n; j += step {
		end := min(j+step, n)
		for i := range m {
			row, from := c[i*n:][:n], a[i*k:][:k]
			for p := j; p < end; p++ {
				row[p] = bias[i] + dot(from, b[p*k:][:k])
			}
		}
	}
}

// transpose writes from, rows×columns, to to, columns×rows, in strips: each line of to is
// touched once per row of a strip.
func transpose(to, from []float32, rows, columns int) {
	const strip = 16
	for i := 0; i < rows; i += strip {
		end := min(i+strip, rows)
		for j := range columns {
			line := to[j*rows+i:][:end-i]
			for k := range line {
				line[k] = from[(i+k)*columns+j]
			}
		}
	}
}

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
