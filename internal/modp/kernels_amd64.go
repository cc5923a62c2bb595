//go:build !purego

package modp

import (
	"math/bits"
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./gen

// best returns the best level that the processor has and whose registers the system saves
// (package cpu checks both).
func best() level {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512VL && x.HasAVX512IFMA && x.HasAVX2:
		return withIFMA
	case x.HasAVX2:
		return withAVX2
	}
	return plain
}

// The functions below take slices whose lengths have been checked, and pass on only their
// addresses.

// dot is Dot for at most limit words, whole steps.
func dot(a, b []uint64) uint64 {
	if active < withIFMA {
		return dotPlain(a, b)
	}
	var sums [4]uint64
	dotIFMA(&sums, unsafe.SliceData(a), unsafe.SliceData(b), len(a))
	// Weights 1, 2⁵², 2⁴⁴ and 2⁸⁰. The last is brought below 2⁶⁴ modulo Q, or 128 bits would be
	// too few.
	hi, lo := bits.Mul64(sums[3], 1<<20*excess)
	for _, s := range [...]struct {
		sum   uint64
		shift uint
	}{{sums[0], 0}, {sums[1], 52}, {sums[2], 44}} {
		var carry uint64
		lo, carry = bits.Add64(lo, s.sum<<s.shift, 0)
		hi += s.sum>>(64-s.shift) + carry
	}
	return reduce(hi, lo)
}

// rows is Rows for rows of n words, whole steps and at most limit.
func rows(dst [][Streams]uint64, matrices *[Streams][]uint64, x []uint64, n int) {
	to, b := unsafe.SliceData(dst), unsafe.SliceData(x)
	var r [Streams]*uint64
	for q, m := range matrices {
		r[q] = unsafe.SliceData(m)
	}
	switch active {
	case withIFMA:
		foursIFMA((*[4]uint64)(to), len(dst), r[0], r[1], r[2], r[3], b, n)
	case withAVX2:
		var room [112]uint64
		foursAVX2((*[4]uint64)(to), len(dst), r[0], r[1], r[2], r[3], b, n, &room)
	default:
		rowsPlain(dst, matrices, x, n)
	}
}

// tileRows is the number of rows that the kernels multiply at once.
const tileRows = 3

// times is Times for the requests' whole steps.
func (o *Operand) times(dst [][Most]uint64, rows, ahead [][]uint64) {
	whole := len(o.requests[0]) / step * step
	for first := 0; first < len(rows); first += tileRows {
		var r, next [tileRows]*uint64
		for q := range r {
			i := min(first+q, len(rows)-1) // the last tile repeats the last row
			r[q], next[q] = unsafe.SliceData(rows[i]), unsafe.SliceData(ahead[i])
		}
		to := dst[first:min(first+tileRows, len(rows))]
		clear(to)
		for at := 0; at < whole; at += limit {
			var out [tileRows][Most]uint64
			o.tile(&out, &r, &next, at, min(limit, whole-at))
			for q := range to {
				for j, p := range out[q] {
					to[q][j] = Add(to[q][j], p)
				}
			}
		}
	}
}

// tile multiplies n words from at on.
func (o *Operand) tile(dst *[tileRows][Most]uint64, rows, ahead *[tileRows]*uint64, at, n int) {
	var room [9][8]uint64
	x := &o.packed[2*lanes*o.groups*at]
	var r [tileRows]*uint64
	var a [tileRows]uintptr
	for q := range r {
		r[q] = (*uint64)(unsafe.Add(unsafe.Pointer(rows[q]), 8*at))
		a[q] = uintptr(unsafe.Pointer(ahead[q])) + uintptr(8*at)
	}
	if o.groups == 2 {
		tile16IFMA(dst, &room, r[0], r[1], r[2], x, n, a[0], a[1], a[2])
		return
	}
	var out [tileRows][lanes]uint64
	tile8IFMA(&out, &room, r[0], r[1], r[2], x, n, a[0], a[1], a[2])
	for q := range out {
		copy(dst[q][:], out[q][:])
	}
}
