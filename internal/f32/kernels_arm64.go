//go:build !purego

package f32

import "unsafe"

const withNEON level = 1

// Every arm64 processor has NEON.
func best() level { return withNEON }

var levels = [...]kernels{
	plain: plainKernels,
	withNEON: {
		name: "NEON", tiling: tiling{6, 8, 256, 0, 4, 12}, tiles: tilesNEON, wides: widesNEON,
		vectors:   assembly{dotNEON, axpyNEON, lineNEON, timesNEON, largerNEON, largestNEON, widenNEON, centreNEON}.vectors(8),
		functions: [...]func(out, in *float32, registers int){expNEON, erfNEON, tanhNEON, sigmoidNEON, geluNEON},
		taps:      tapsNEON,
	},
}

func (l level) pack(dst, b []float32, offsets []int, wide int) {
	to, from, at, rows := data(dst), data(b), unsafe.SliceData(offsets), len(offsets)
	switch {
	case l == withNEON && wide == 16:
		pack16NEON(to, from, at, rows)
	case l == withNEON:
		pack8NEON(to, from, at, rows)
	default:
		packPlain(dst, b, offsets, wide)
	}
}
