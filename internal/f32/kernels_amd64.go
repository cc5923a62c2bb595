//go:build !purego

package f32

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./gen

// best returns the highest supported level.
func best() level {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX2 && x.HasFMA:
		return withAVX512
	case x.HasAVX2 && x.HasFMA:
		return withAVX2
	}
	return plain
}

// A tileKernel multiplies one tile. ldc and step are in bytes.
type tileKernel func(k int, a, b, c *float32, ldc int, from *float32, step int, lo, hi float32)

// Callers of the functions below have checked the lengths of slices.

func (l level) tile(t *tile) {
	var f tileKernel
	switch l {
	case withAVX512:
		f = tilesAVX512[t.vectors-1][t.rows-1]
	case withAVX2:
		f = tilesAVX2[t.vectors-1][t.rows-1]
	default:
		tilePlain(t, l.tiling().lanes)
		return
	}
	step := t.step
	if step != oneEach {
		step *= 4
	}
	f(t.k, unsafe.SliceData(t.a), unsafe.SliceData(t.b), unsafe.SliceData(t.c), 4*t.ldc, unsafe.SliceData(t.from), step, t.lo, t.hi)
}

// A wideKernel adds one float64 tile. ldc is in bytes.
type wideKernel func(k int, a, b, c *float64, ldc int)

func (l level) wide(rows, k int, a, b, c []float64, ldc int) {
	var f wideKernel
	switch l {
	case withAVX512:
		f = widesAVX512[rows-1]
	case withAVX2:
		f = widesAVX2[rows-1]
	default:
		widePlain(rows, k, a, b, c, ldc)
		return
	}
	f(k, unsafe.SliceData(a), unsafe.SliceData(b), unsafe.SliceData(c), 8*ldc)
}

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

// Kernels count in registers of eight or sixteen values.
var vectorKernels = [...]vectorFunctions{
	plain: plainVectors,
	withAVX2: {
		dot:  func(x, y []float32) float32 { return dotAVX2(unsafe.SliceData(x), unsafe.SliceData(y), len(x)/8) },
		axpy: func(a float32, x, y []float32) { axpyAVX2(a, unsafe.SliceData(x), unsafe.SliceData(y), len(x)/8) },
		line: func(out, in []float32, by, plus, lo, hi float32) {
			lineAVX2(unsafe.SliceData(out), unsafe.SliceData(in), by, plus, lo, hi, len(in)/8)
		},
		times: func(out, x, y []float32) {
			timesAVX2(unsafe.SliceData(out), unsafe.SliceData(x), unsafe.SliceData(y), len(x)/8)
		},
		larger: func(out, x, y []float32) {
			largerAVX2(unsafe.SliceData(out), unsafe.SliceData(x), unsafe.SliceData(y), len(x)/8)
		},
		largest: func(x []float32) float32 { return largestAVX2(unsafe.SliceData(x), len(x)/8) },
		widen:   func(sum []float64, x []float32) { widenAVX2(unsafe.SliceData(sum), unsafe.SliceData(x), len(x)/8) },
		centre: func(out, x []float32, mean []float64, scale float64) {
			centreAVX2(unsafe.SliceData(out), unsafe.SliceData(x), unsafe.SliceData(mean), scale, len(x)/8)
		},
		taps: func(out, x []float32, offsets []int, weights []float32, bias, lo, hi float32) {
			tapsAVX2(unsafe.SliceData(out), unsafe.SliceData(x), unsafe.SliceData(offsets), unsafe.SliceData(weights), len(offsets), len(out)/8, bias, lo, hi)
		},
	},
	withAVX512: {
		dot:  func(x, y []float32) float32 { return dotAVX512(unsafe.SliceData(x), unsafe.SliceData(y), len(x)/16) },
		axpy: func(a float32, x, y []float32) { axpyAVX512(a, unsafe.SliceData(x), unsafe.SliceData(y), len(x)/16) },
		line: func(out, in []float32, by, plus, lo, hi float32) {
			lineAVX512(unsafe.SliceData(out), unsafe.SliceData(in), by, plus, lo, hi, len(in)/16)
		},
		times: func(out, x, y []float32) {
			timesAVX512(unsafe.SliceData(out), unsafe.SliceData(x), unsafe.SliceData(y), len(x)/16)
		},
		larger: func(out, x, y []float32) {
			largerAVX512(unsafe.SliceData(out), unsafe.SliceData(x), unsafe.SliceData(y), len(x)/16)
		},
		largest: func(x []float32) float32 { return largestAVX512(unsafe.SliceData(x), len(x)/16) },
		widen:   func(sum []float64, x []float32) { widenAVX512(unsafe.SliceData(sum), unsafe.SliceData(x), len(x)/16) },
		centre: func(out, x []float32, mean []float64, scale float64) {
			centreAVX512(unsafe.SliceData(out), unsafe.SliceData(x), unsafe.SliceData(mean), scale, len(x)/16)
		},
		taps: func(out, x []float32, offsets []int, weights []float32, bias, lo, hi float32) {
			tapsAVX512(unsafe.SliceData(out), unsafe.SliceData(x), unsafe.SliceData(offsets), unsafe.SliceData(weights), len(offsets), len(out)/16, bias, lo, hi)
		},
	},
}

func (l level) apply(f function, out, in []float32) {
	to, from := unsafe.SliceData(out), unsafe.SliceData(in)
	switch l {
	case withAVX512:
		f.avx512(to, from, len(in)/16)
	case withAVX2:
		f.avx2(to, from, len(in)/8)
	default:
		f.plain(out, in)
	}
}

// A function holds the implementations of one function of functions.go.
type function struct {
	plain        func(out, in []float32)
	avx2, avx512 func(out, in *float32, vectors int)
}

var (
	expOf     = function{each(exp), expAVX2, expAVX512}
	erfOf     = function{each(erf), erfAVX2, erfAVX512}
	tanhOf    = function{each(tanh), tanhAVX2, tanhAVX512}
	sigmoidOf = function{each(sigmoid), sigmoidAVX2, sigmoidAVX512}
	geluOf    = function{each(gelu), geluAVX2, geluAVX512}
)
