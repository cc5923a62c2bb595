package modp

import "fmt"

const (
	// limit is the number of products that the kernels' sums hold, whatever the words.
	limit = 2048
	// step is the number of words that the kernels multiply at once: the rest is done in plain Go.
	step = 8

	// Streams is the number of matrices that Rows reads at once.
	Streams = 4
)

// Dot returns Σ a[i]·b[i] mod Q. b must not be shorter than a; the rest of b is ignored.
func Dot(a, b []uint64) (sum uint64) {
	b = b[:len(a)]
	for len(a) > limit {
		sum = Add(sum, dot(a[:limit], b[:limit]))
		a, b = a[limit:], b[limit:]
	}
	whole := len(a) / step * step
	if whole < len(a) {
		sum = Add(sum, dotPlain(a[whole:], b[whole:]))
	}
	return Add(sum, dot(a[:whole], b[:whole]))
}

// Rows multiplies the rows of four matrices by those of x: dst[k][q] = ⟨row k of matrices[q], row k
// of x⟩ mod Q. All have len(dst) contiguous rows; x says how long these are.
//
// The rows of each matrix are read in order, and what follows them is prefetched: matrices whose
// next parts follow in memory are read as fast as memory delivers.
func Rows(dst [][Streams]uint64, matrices *[Streams][]uint64, x []uint64) {
	if len(dst) == 0 {
		return
	}
	n := len(x) / len(dst)
	if n*len(dst) != len(x) {
		panic(fmt.Sprintf("modp: %d words are not %d rows", len(x), len(dst)))
	}
	for _, m := range matrices {
		_ = m[:len(x)] // assembly checks no bounds
	}
	if n%step == 0 && n <= limit {
		rows(dst, matrices, x, n)
		return
	}
	for k := range dst {
		for q, m := range matrices {
			dst[k][q] = Dot(m[k*n:(k+1)*n], x[k*n:])
		}
	}
}
