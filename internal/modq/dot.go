package modq

// Dot returns Σ a[i]·b[i] modulo 2⁶⁴ over the length of a, which b must reach.
func Dot(a, b []uint64) uint64 { return dot(a, b[:len(a)]) }

// Axpy adds alpha·x to y modulo 2⁶⁴, over the length of x, which y must reach.
// x and y may be the same slice but must not overlap otherwise.
func Axpy(alpha uint64, x, y []uint64) { axpy(alpha, x, y[:len(x)]) }

// AxpyRows adds Σ alpha[q]·rows[q] to y, of equal lengths. ahead is the memory
// that is read next, if known, and is prefetched.
func AxpyRows(alpha *[TileRows]uint64, rows *[TileRows][]uint64, y, ahead []uint64) {
	for _, r := range rows {
		if len(r) != len(y) {
			panic("modq: rows and sum differ in length")
		}
	}
	axpyRows(alpha, rows, y, ahead)
}

// Sum returns Σ x[i] modulo 2⁶⁴, in the time of reading x from memory, the
// reference for the other kernels.
func Sum(x []uint64) uint64 { return sum(x) }

// SumFour is Sum in another order: with AVX-512 it reads the four quarters of x
// at once, like Rows.
func SumFour(x []uint64) uint64 { return sumFour(x) }

// DotLanes adds to sum[l] the inner product of row and lane l of x. x holds
// Lanes interleaved vectors: element k of vector l is x[k·Lanes+l].
func DotLanes(sum *[Lanes]uint64, row, x []uint64) { dotLanes(sum, row, x[:len(row)*Lanes]) }

// Rows sets dst[i] = ⟨row i of matrix, x⟩ for len(dst) contiguous rows of
// len(x) words.
func Rows(dst, matrix, x []uint64) { rows(dst, matrix[:len(dst)*len(x)], x) }

// Gather sets dst[i] = ⟨row index[i] of matrix, x⟩ for rows of len(x) words.
// index may have any order and repeat rows.
func Gather(dst, matrix []uint64, index []uint32, x []uint64) {
	var last uint32
	for _, i := range index {
		last = max(last, i)
	}
	if len(index) == 0 {
		return
	}
	_ = matrix[:(int(last)+1)*len(x)] // assembly checks no bounds
	gather(dst[:len(index)], matrix, index, x)
}
