package modq

// Dot is Σ a[i]·b[i] modulo 2⁶⁴. b must not be shorter than a; what it has beyond
// len(a) is ignored.
func Dot(a, b []uint64) uint64 { return dot(a, b[:len(a)]) }

// Axpy adds alpha·x to y, element by element modulo 2⁶⁴. y must not be shorter
// than x; what it has beyond len(x) is left alone. They may be one slice, but not
// overlap otherwise.
func Axpy(alpha uint64, x, y []uint64) { axpy(alpha, x, y[:len(x)]) }

// AxpyRows adds Σ alpha[q]·rows[q] to y. The rows are as long as y. ahead is what
// will be read next, if known: it is fetched meanwhile.
func AxpyRows(alpha *[TileRows]uint64, rows *[TileRows][]uint64, y, ahead []uint64) {
	for _, r := range rows {
		if len(r) != len(y) {
			panic("modq: rows to add differ in length from their sum")
		}
	}
	axpyRows(alpha, rows, y, ahead)
}

// Sum is Σ x[i] modulo 2⁶⁴. One addition a word is all that it does, so that it
// takes as long as reading x from memory: the yardstick of the other kernels.
func Sum(x []uint64) uint64 { return sum(x) }

// DotLanes adds to sum[l] the inner product of row and of lane l of x, where x
// holds Lanes vectors interleaved: element k of vector l is x[k·Lanes+l].
func DotLanes(sum *[Lanes]uint64, row, x []uint64) { dotLanes(sum, row, x[:len(row)*Lanes]) }

// Rows writes dst[i] = ⟨row i of matrix, x⟩. A row has len(x) words and follows the
// one before it; matrix must hold len(dst) of them. One core reads the matrix as
// fast as memory gives it.
func Rows(dst, matrix, x []uint64) { rows(dst, matrix[:len(dst)*len(x)], x) }

// Gather writes dst[i] = ⟨row index[i] of matrix, x⟩ for rows of len(x) words. dst
// must not be shorter than index. While one row is multiplied, the next one named
// is fetched: the order may be any, and a row may come twice.
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
