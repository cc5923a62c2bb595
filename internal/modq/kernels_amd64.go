//go:build !purego

package modq

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./gen

func supported() []level {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX2 && x.HasBMI2:
		return []level{plain, withAVX2, withAVX512}
	case x.HasAVX2:
		return []level{plain, withAVX2}
	}
	return []level{plain}
}

// Callers of the functions below have checked the lengths of slices.

func dot(a, b []uint64) uint64 {
	switch active {
	case withAVX512:
		return dotAVX512(unsafe.SliceData(a), unsafe.SliceData(b), len(a))
	case withAVX2:
		return dotAVX2(unsafe.SliceData(a), unsafe.SliceData(b), len(a))
	}
	return DotGeneric(a, b)
}

func axpy(alpha uint64, x, y []uint64) {
	switch active {
	case withAVX512:
		axpyAVX512(alpha, unsafe.SliceData(x), unsafe.SliceData(y), len(x))
	case withAVX2:
		axpyAVX2(alpha, unsafe.SliceData(x), unsafe.SliceData(y), len(x))
	default:
		axpyPlain(alpha, x, y)
	}
}

func axpyRows(alpha *[TileRows]uint64, rows *[TileRows][]uint64, y, ahead []uint64) {
	if active < withAVX512 {
		axpyEach(alpha, rows, y)
		return
	}
	r := starts(rows)
	axpyRowsAVX512(alpha, r[0], r[1], r[2], r[3], unsafe.SliceData(y), len(y), fetch(ahead, r[0]))
}

// fetch returns the address to prefetch: the start of `ahead`, or `instead`
// (which is read anyway) if `ahead` is empty.
func fetch(ahead []uint64, instead *uint64) uintptr {
	if len(ahead) == 0 {
		return uintptr(unsafe.Pointer(instead))
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(ahead)))
}

func sum(x []uint64) uint64 {
	switch active {
	case withAVX512:
		return sumAVX512(unsafe.SliceData(x), len(x))
	case withAVX2:
		return sumAVX2(unsafe.SliceData(x), len(x))
	}
	return sumPlain(x)
}

func sumFour(x []uint64) uint64 {
	if active < withAVX512 {
		return sum(x)
	}
	n := len(x) / 64 * 16
	return sumFourAVX512(unsafe.SliceData(x), n) + sum(x[4*n:])
}

func dotLanes(sum *[Lanes]uint64, row, x []uint64) {
	switch active {
	case withAVX512:
		lanesAVX512(sum, unsafe.SliceData(row), unsafe.SliceData(x), len(row))
	case withAVX2:
		lanesAVX2(sum, unsafe.SliceData(row), unsafe.SliceData(x), len(row))
	default:
		dotLanesPlain(sum, row, x)
	}
}

func rows(dst, matrix, x []uint64) {
	switch active {
	case withAVX512:
		if quarter := len(dst) / 4; quarter > 0 {
			quartersAVX512(unsafe.SliceData(dst), quarter, unsafe.SliceData(matrix), unsafe.SliceData(x), len(x))
			dst, matrix = dst[4*quarter:], matrix[4*quarter*len(x):]
		}
		rowsAVX512(unsafe.SliceData(dst), len(dst), unsafe.SliceData(matrix), unsafe.SliceData(x), len(x))
	case withAVX2:
		rowsAVX2(unsafe.SliceData(dst), len(dst), unsafe.SliceData(matrix), unsafe.SliceData(x), len(x))
	default:
		rowsPlain(dst, matrix, x)
	}
}

// gatherAhead is the distance of prefetches in words (gatherAhead in package
// gen). The last words of a row prefetch the next row.
const gatherAhead = 256

func gather(dst []uint64, rows [][]uint64, x []uint64) {
	n, at := len(x), unsafe.SliceData(x)
	// The last rows are repeated. They are in the cache.
	start := func(i int) *uint64 { return unsafe.SliceData(rows[min(i, len(rows)-1)]) }
	ahead := func(i int) uintptr { return uintptr(unsafe.Pointer(start(i))) }
	switch active {
	case withAVX512:
		early := max(0, n-gatherAhead) &^ 15
		for i := 0; i < len(rows); i += 4 {
			var four [4]uint64
			fourAVX512(&four, start(i), start(i+1), start(i+2), start(i+3), at, n, early, ahead(i+4), ahead(i+5), ahead(i+6), ahead(i+7))
			copy(dst[i:], four[:])
		}
	case withAVX2:
		for i := range rows {
			dst[i] = gatherAVX2(start(i), at, n, ahead(i+1))
		}
	default:
		gatherPlain(dst, rows, x)
	}
}

func tile(dst *Block, rows *[TileRows][]uint64, groups []Group, ahead []uint64) {
	if active == plain {
		tilePlain(dst, rows, groups)
		return
	}
	n, r := len(rows[0]), starts(rows)
	next := fetch(ahead, r[0])
	if active == withAVX512 && len(groups) == 2 {
		tile16AVX512((*[2][4][8]uint64)(dst), r[0], r[1], r[2], r[3], unsafe.SliceData(groups[0].X), unsafe.SliceData(groups[1].X), n,
			&groups[0].Pairs, &groups[1].Pairs, next)
		return
	}
	for g := range groups {
		x, pairs := unsafe.SliceData(groups[g].X), &groups[g].Pairs
		if active == withAVX512 {
			tile8AVX512(&dst[g], r[0], r[1], r[2], r[3], x, n, pairs, next)
		} else {
			tile8AVX2(&dst[g], r[0], r[1], r[2], r[3], x, n, pairs, next)
		}
	}
}
