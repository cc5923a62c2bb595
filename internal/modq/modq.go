// Package modq implements arithmetic modulo q = 2⁶⁴ on slices of machine words.
//
//	in   []uint64, each word an element of Z/2⁶⁴; signed integers in two's complement
//	out  words of the same ring, or signed integers read from them
//
// Unsigned words wrap in Go, so every sum and product is exact modulo q. A
// result is an integer again only if the true value lies in [-2⁶³, 2⁶³).
//
// The owner uses modq to encrypt, and the server uses it to score. Running time
// depends only on lengths and on the rows that Gather reads.
//
//	one vector     Dot, Axpy; Rows for a whole matrix in order, Gather for some rows
//	a few vectors  RowsMany on packed requests: the matrix is read once
//	many vectors   Tile, four rows by sixteen vectors: encryption
//	none           Sum and SumFour, which only read, to measure the speed of memory
//
// Plain Go (plain.go) defines the operations. Assembly replaces it: on amd64
// for AVX2 or AVX-512, written by package gen, and on arm64 for NEON. Build tag
// purego leaves it out. Tests compare every supported kernel with plain
// multiplication.
//
// On a core with AVX-512, memory bandwidth limits Dot, Rows and Gather. From
// about eight requests on, the multiplier limits RowsMany. Eight requests take
// 1.4 times as long as one scan, and sixteen take 2.4 times as long.
package modq

// RoundShift reads x as a signed word and divides it by 2^shift, rounding to
// the nearest integer and ties towards +∞. It cannot overflow.
func RoundShift(x uint64, shift uint) int64 {
	if shift == 0 {
		return int64(x)
	}
	s := int64(x)
	return s>>shift + s>>(shift-1)&1
}

// FromSigned writes src into dst as words modulo 2⁶⁴. dst must be as long as src.
func FromSigned(dst []uint64, src []int64) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = uint64(x)
	}
}

// ToSigned writes the representatives of src in [-2⁶³, 2⁶³) into dst, which has
// the same length.
func ToSigned(dst []int64, src []uint64) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = int64(x)
	}
}

// InverseOdd returns the inverse of an odd word modulo 2⁶⁴. The result for an
// even word is meaningless.
func InverseOdd(a uint64) uint64 {
	// a·a ≡ 1 modulo 8 for odd a, and each Newton step doubles the number of
	// correct bits: 3, 6, 12, 24, 48, 96.
	x := a
	for range 5 {
		x *= 2 - a*x
	}
	return x
}

type level int

const (
	plain level = iota
	withAVX2
	withAVX512
	withNEON
)

func (l level) String() string { return [...]string{"plain Go", "AVX2", "AVX-512", "NEON"}[l] }

// active is the level in use, the last that the processor supports.
var active = supported()[len(supported())-1]

// Kernels names the kernels in use for timing reports: "plain Go", "AVX2",
// "AVX-512" or "NEON".
func Kernels() string { return active.String() }

// AtEachLevel activates each set of kernels that the processor supports, and
// calls f with its name. Nothing else may use the package meanwhile.
func AtEachLevel(f func(kernels string)) {
	defer func(l level) { active = l }(active)
	for _, active = range supported() {
		f(active.String())
	}
}

// Dot returns Σ a[i]·b[i] modulo 2⁶⁴ over the length of a. Slice b may be
// longer.
func Dot(a, b []uint64) uint64 { return dot(a, b[:len(a)]) }

// Axpy adds alpha·x to y modulo 2⁶⁴, over the length of x. Slice y may be
// longer. x and y may be the same slice but must not overlap otherwise.
func Axpy(alpha uint64, x, y []uint64) { axpy(alpha, x, y[:len(x)]) }

// AxpyRows adds Σ alpha[q]·rows[q] to y, of equal lengths. It prefetches
// `ahead`, which will be read next and may be empty.
func AxpyRows(alpha *[TileRows]uint64, rows *[TileRows][]uint64, y, ahead []uint64) {
	for _, r := range rows {
		if len(r) != len(y) {
			panic("modq: rows and sum differ in length")
		}
	}
	axpyRows(alpha, rows, y, ahead)
}

// axpyEach implements axpyRows where there is no kernel for four rows.
func axpyEach(alpha *[TileRows]uint64, rows *[TileRows][]uint64, y []uint64) {
	for q, r := range rows {
		axpy(alpha[q], r, y)
	}
}

// Sum returns Σ x[i] modulo 2⁶⁴. Its time is the time to read x from memory, a
// reference for other kernels.
func Sum(x []uint64) uint64 { return sum(x) }

// SumFour returns the same as Sum. With AVX-512 it reads the four quarters of x
// at once, like Rows.
func SumFour(x []uint64) uint64 { return sumFour(x) }

// DotLanes adds to sum[l] the inner product of `row` and lane l of x. x holds
// Lanes interleaved vectors: element k of vector l is x[k·Lanes+l].
func DotLanes(sum *[Lanes]uint64, row, x []uint64) { dotLanes(sum, row, x[:len(row)*Lanes]) }

// Rows sets dst[i] = ⟨row i of matrix, x⟩ for len(dst) contiguous rows of
// len(x) words.
func Rows(dst, matrix, x []uint64) { rows(dst, matrix[:len(dst)*len(x)], x) }

// Gather sets dst[i] = ⟨rows[i], x⟩ over the length of x. Rows may be longer,
// in any order, and repeated. Gather prefetches them.
func Gather(dst []uint64, rows [][]uint64, x []uint64) {
	for _, row := range rows {
		_ = row[:len(x)] // assembly checks no bounds
	}
	gather(dst[:len(rows)], rows, x)
}
