package network

import (
	"math"

	"gonum.org/v1/gonum/blas/gonum"
)

// kernels is gonum's BLAS, whose vector operations are in assembly on amd64.
// Its own product of matrices is not used: it starts goroutines, and here one
// image is to use one core.
var kernels gonum.Implementation

// axpy adds a·x to y, of the same length.
func axpy(a float32, x, y []float32) {
	kernels.Saxpy(len(y), a, x, 1, y, 1)
}

// dot is the scalar product of two vectors of the same length.
func dot(x, y []float32) float32 {
	return kernels.Sdot(len(y), x, 1, y, 1)
}

// A dot product stores nothing on its way and so takes half the time of as
// many additions of rows, but its vectors must be long enough to be worth the
// call, and the image has to be transposed.
const enoughForDots = 48

// blockColumns columns of b, of which there are few rows, stay in the cache
// while every row of c passes.
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

// dotBlock is how many elements of b stay in the cache while all of a passes.
const dotBlock = 8192

// dotProduct sets c = a·bᵀ + bias: a is m×k, b n×k, c m×n, bias one for each
// row of c.
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

// transpose writes from, rows×columns, to to, columns×rows: in strips, as each
// line of to is touched once for every row of a strip.
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

// clamp brings x into lo … hi.
func clamp(x []float32, lo, hi float32) {
	switch {
	case math.IsInf(float64(lo), -1) && math.IsInf(float64(hi), 1):
	case lo == 0 && hi > 0:
		// Floats that are not negative order as their bits do, negative ones
		// are negative integers: this compiles to conditional moves, where
		// comparing floats would branch on every other pixel.
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

// finite reports whether no value is infinite or not a number.
func finite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
