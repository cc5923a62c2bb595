//go:build !purego

package modq

import "unsafe"

// Every arm64 processor has NEON.
func supported() []level { return []level{plain, withNEON} }

// neon_arm64.s was written by hand, because avo writes only amd64. Counts are
// instructions per product, of the inner loop in NEON and in plain Go:
//
//	dotNEON 1.75 and 3.6   fourNEON 1.4 and 3.6   tile8NEON 1.2 and 2.9   axpyRowsNEON 1.75 and 7
//
// Small cores, such as Cortex-A72, also take three cycles to multiply 64-bit
// words (MADD), but one or two for the same product by halves. Winograd's
// identity (see Tile) would need 1.5 instructions, so tile8NEON does without.
//
// Axpy and DotLanes remain plain Go, because calls have at most three words.

// dotNEON implements Dot for n words.
//
//go:noescape
func dotNEON(a *uint64, b *uint64, n int) uint64

// sumNEON implements Sum for n words.
//
//go:noescape
func sumNEON(x *uint64, n int) uint64

// fourNEON multiplies four rows of n words by x.
//
//go:noescape
func fourNEON(dst *[4]uint64, r0 *uint64, r1 *uint64, r2 *uint64, r3 *uint64, x *uint64, n int)

// axpyRowsNEON implements AxpyRows for n words.
//
//go:noescape
func axpyRowsNEON(alpha *[4]uint64, r0 *uint64, r1 *uint64, r2 *uint64, r3 *uint64, y *uint64, n int)

// tile8NEON multiplies four rows by eight interleaved vectors of n words.
//
//go:noescape
func tile8NEON(dst *[4][8]uint64, r0 *uint64, r1 *uint64, r2 *uint64, r3 *uint64, x *uint64, n int)

// Callers of the functions below have checked the lengths of slices.

func dot(a, b []uint64) uint64 {
	if active == plain {
		return DotGeneric(a, b)
	}
	return dotNEON(unsafe.SliceData(a), unsafe.SliceData(b), len(a))
}

func axpy(alpha uint64, x, y []uint64) { axpyPlain(alpha, x, y) }

func axpyRows(alpha *[TileRows]uint64, rows *[TileRows][]uint64, y, _ []uint64) {
	if active == plain {
		axpyEach(alpha, rows, y)
		return
	}
	r := starts(rows)
	axpyRowsNEON(alpha, r[0], r[1], r[2], r[3], unsafe.SliceData(y), len(y))
}

func sum(x []uint64) uint64 {
	if active == plain {
		return sumPlain(x)
	}
	return sumNEON(unsafe.SliceData(x), len(x))
}

func sumFour(x []uint64) uint64 { return sum(x) }

func dotLanes(sum *[Lanes]uint64, row, x []uint64) { dotLanesPlain(sum, row, x) }

func rows(dst, matrix, x []uint64) {
	if active == plain {
		rowsPlain(dst, matrix, x)
		return
	}
	n, at := len(x), unsafe.SliceData(x)
	for ; len(dst) >= 4; dst, matrix = dst[4:], matrix[4*n:] {
		row := func(i int) *uint64 { return unsafe.SliceData(matrix[i*n:]) }
		fourNEON((*[4]uint64)(dst), row(0), row(1), row(2), row(3), at, n)
	}
	for i := range dst {
		dst[i] = dotNEON(unsafe.SliceData(matrix[i*n:]), at, n)
	}
}

func gather(dst []uint64, rows [][]uint64, x []uint64) {
	if active == plain {
		gatherPlain(dst, rows, x)
		return
	}
	n, at := len(x), unsafe.SliceData(x)
	row := func(i int) *uint64 { return unsafe.SliceData(rows[i]) }
	for ; len(rows) >= 4; dst, rows = dst[4:], rows[4:] {
		fourNEON((*[4]uint64)(dst), row(0), row(1), row(2), row(3), at, n)
	}
	for i := range rows {
		dst[i] = dotNEON(row(i), at, n)
	}
}

func tile(dst *Block, rows *[TileRows][]uint64, groups []Group, _ []uint64) {
	if active == plain {
		tilePlain(dst, rows, groups)
		return
	}
	r := starts(rows)
	for g := range groups {
		tile8NEON(&dst[g], r[0], r[1], r[2], r[3], unsafe.SliceData(groups[g].X), len(rows[0]))
	}
}
