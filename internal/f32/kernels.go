package f32

import (
	"math/bits"
	"unsafe"
)

//go:generate go run ./gen
//go:generate go run ./gen/neon

// A kernels value holds the implementation of one level. Plain Go has neither
// tiles nor functions here.
type kernels struct {
	name string
	tiling
	vectors   vectorFunctions
	tiles     [2][]tileKernel   // by registers per row and by rows, both minus one
	corners   [2][]cornerKernel // in the same order, for one or four further columns
	wides     []wideKernel      // by rows minus one
	functions [numFunctions]func(out, in *float32, registers int)
	// A level may lack any of the following kernels and the corners.
	winograd transforms
	windows  map[windowShape]windowKernel
	narrow   map[windowShape]windowKernel // for at most eight columns
	column   func(k int, a *float32, apart, step int, x, sums *float32)
	across   func(dst, x *float32, ld, step, blocks int)
	taps     tapsKernel
}

var plainKernels = kernels{name: "plain Go", tiling: tiling{4, 2, 256, 0, 4, 12}, vectors: plainVectors}

// A tileKernel sets a tile at c to the values at `from` plus aᵀ·b, within lo
// and hi. Rows of c, b and `from` are ldc, ldb and step apart. If step is −1,
// `from` has one value for each row. The kernel also fetches values of b into
// the cache, the first `ahead` of b and the others `pace` apart. Distances are
// in bytes.
type tileKernel func(k int, a, b *float32, ldb, ahead, pace int, c *float32, ldc int, from *float32, step int, lo, hi float32)

// A cornerKernel also multiplies further columns, which the bits of `columns`
// select. In each row of x, moreC and moreFrom, their values are adjacent.
type cornerKernel func(k int, a, b *float32, ldb, ahead, pace int, c *float32, ldc int, from *float32, step int, lo, hi float32,
	x, moreC, moreFrom *float32, columns int)

// A tapsKernel computes Taps for whole registers.
type tapsKernel func(out, x *float32, offsets *int, weights *float32, taps, registers int, bias, lo, hi float32)

// A wideKernel adds aᵀ·b to a tile of float64 at c, rows ldc bytes apart.
type wideKernel func(k int, a, b, c *float64, ldc int)

// Callers of the functions below have checked the lengths of slices.

func (l level) tile(t *tile) {
	if l == plain {
		tilePlain(t, l.tiling().lanes)
		return
	}
	step := t.step
	if step != oneEach {
		step *= 4
	}
	if t.columns > 0 {
		levels[l].corners[t.vectors-1][t.rows-1](t.k, data(t.a), data(t.b), 4*t.ldb, t.ahead, t.pace, data(t.c), 4*t.ldc,
			data(t.from), step, t.lo, t.hi, data(t.x), data(t.moreC), data(t.moreFrom), 1<<t.columns-1)
		return
	}
	levels[l].tiles[t.vectors-1][t.rows-1](t.k, data(t.a), data(t.b), 4*t.ldb, t.ahead, t.pace,
		data(t.c), 4*t.ldc, data(t.from), step, t.lo, t.hi)
}

func (l level) wide(rows, k int, a, b, c []float64, ldc int) {
	if l == plain {
		widePlain(rows, k, a, b, c, ldc)
		return
	}
	levels[l].wides[rows-1](k, unsafe.SliceData(a), unsafe.SliceData(b), unsafe.SliceData(c), 8*ldc)
}

func (l level) apply(f function, out, in []float32) {
	if l == plain {
		applyPlain(f, out, in)
		return
	}
	k := &levels[l]
	k.functions[f](data(out), data(in), len(in)/k.lanes)
}

// An assembly holds the kernels of vectorFunctions, which count in registers.
type assembly struct {
	dot           func(x, y *float32, registers int) float32
	axpy          func(a float32, x, y *float32, registers int)
	line          func(out, in *float32, by, plus, lo, hi float32, registers int)
	times, larger func(out, x, y *float32, registers int)
	largest       func(x *float32, registers int) float32
	widen         func(sum *float64, x *float32, registers int)
	centre        func(out, x *float32, mean *float64, scale float64, registers int)
}

// vectors adapts the kernels to slices of registers with `lanes` values.
func (a assembly) vectors(lanes int) vectorFunctions {
	shift := bits.TrailingZeros(uint(lanes))
	return vectorFunctions{
		dot:  func(x, y []float32) float32 { return a.dot(data(x), data(y), len(x)>>shift) },
		axpy: func(by float32, x, y []float32) { a.axpy(by, data(x), data(y), len(x)>>shift) },
		line: func(out, in []float32, by, plus, lo, hi float32) {
			a.line(data(out), data(in), by, plus, lo, hi, len(in)>>shift)
		},
		times:   func(out, x, y []float32) { a.times(data(out), data(x), data(y), len(x)>>shift) },
		larger:  func(out, x, y []float32) { a.larger(data(out), data(x), data(y), len(x)>>shift) },
		largest: func(x []float32) float32 { return a.largest(data(x), len(x)>>shift) },
		widen:   func(sum []float64, x []float32) { a.widen(unsafe.SliceData(sum), data(x), len(x)>>shift) },
		centre: func(out, x []float32, mean []float64, scale float64) {
			a.centre(data(out), data(x), unsafe.SliceData(mean), scale, len(x)>>shift)
		},
	}
}

func data(x []float32) *float32 { return unsafe.SliceData(x) }
