//go:build !purego

package f32

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

const (
	withAVX2 level = 1 + iota
	withAVX512
)

var windowsAVX2 = map[windowShape]windowKernel{
	{false, 3, 1}: products3x1AVX2, {false, 3, 2}: products3x2AVX2, {false, 5, 1}: products5x1AVX2, {false, 5, 2}: products5x2AVX2,
	{false, 2, 2}: products2x2AVX2, {false, 7, 1}: products7x1AVX2, {true, 3, 1}: maxima3x1AVX2, {true, 3, 2}: maxima3x2AVX2,
}

var windowsAVX512 = map[windowShape]windowKernel{
	{false, 3, 1}: products3x1AVX512, {false, 3, 2}: products3x2AVX512, {false, 5, 1}: products5x1AVX512, {false, 5, 2}: products5x2AVX512,
	{false, 2, 2}: products2x2AVX512, {false, 7, 1}: products7x1AVX512, {true, 3, 1}: maxima3x1AVX512, {true, 3, 2}: maxima3x2AVX512,
}

var levels = [...]kernels{
	plain: plainKernels,
	withAVX2: {
		name: "AVX2", tiling: tiling{6, 8, 256, 1, 4, 12}, tiles: tilesAVX2, wides: widesAVX2,
		vectors:   assembly{dotAVX2, axpyAVX2, lineAVX2, timesAVX2, largerAVX2, largestAVX2, widenAVX2, centreAVX2}.vectors(8),
		functions: [...]func(out, in *float32, registers int){expAVX2, erfAVX2, tanhAVX2, sigmoidAVX2, geluAVX2},
		winograd:  transforms{foursAVX2, winogradWeightsAVX2, winogradInAVX2, winogradOutAVX2, halvesAVX2, copyRowsAVX2},
		windows:   windowsAVX2,
		column:    columnAVX2,
		across:    acrossAVX2,
	},
	withAVX512: {
		name: "AVX-512", tiling: tiling{12, 16, 192, 4, 8, 24}, tiles: tilesAVX512, corners: cornersAVX512, wides: widesAVX512,
		vectors:   assembly{dotAVX512, axpyAVX512, lineAVX512, timesAVX512, largerAVX512, largestAVX512, widenAVX512, centreAVX512}.vectors(16),
		functions: [...]func(out, in *float32, registers int){expAVX512, erfAVX512, tanhAVX512, sigmoidAVX512, geluAVX512},
		winograd:  transforms{foursAVX512, winogradWeightsAVX512, winogradInAVX512, winogradOutAVX512, halvesAVX512, copyRowsAVX512},
		windows:   windowsAVX512,
		narrow:    windowsAVX2,
		across:    acrossAVX2,
	},
}

// best returns the highest supported level.
func best() level {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX2 && x.HasFMA:
		return withAVX512
	case x.HasAVX2 && x.HasFMA:
		return withAVX2
	}
	return plain
}

// pack calls the kernels directly. Through a table, `offsets` would escape to
// the heap.
func (l level) pack(dst, b []float32, offsets []int, wide int) {
	to, from, at, rows := unsafe.SliceData(dst), unsafe.SliceData(b), unsafe.SliceData(offsets), len(offsets)
	switch {
	case l == withAVX512 && wide == 32:
		pack32AVX512(to, from, at, rows)
	case l == withAVX512:
		pack16AVX512(to, from, at, rows)
	case l == withAVX2 && wide == 16:
		pack16AVX2(to, from, at, rows)
	case l == withAVX2:
		pack8AVX2(to, from, at, rows)
	default:
		packPlain(dst, b, offsets, wide)
	}
}
