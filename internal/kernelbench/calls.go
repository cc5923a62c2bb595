package kernelbench

import (
	"math/rand/v2"

	"cpar/internal/f32"
	"cpar/internal/fourier"
	"cpar/internal/mod48"
	"cpar/internal/modq"
)

// The sizes are those of profile paper: records of 1,347 words for capia and of
// 1,344 for sealed, and rings of 2,048 coefficients.
const (
	rows, dim = 16, 1344
	ring      = 2048
	points    = 64
)

var Calls = []Call{
	{"modq", "Dot, 1,344 words", func() func() {
		a, b := words(64, dim), words(64, dim)
		return func() { modq.Dot(a, b) }
	}},
	{"modq", "Rows, 16 rows of 1,344 words by a request", func() func() {
		dst, m, x := make([]uint64, rows), words(64, rows*dim), words(64, dim)
		return func() { modq.Rows(dst, m, x) }
	}},
	{"modq", "Tile, 4 rows of 1,344 words by 16 requests", func() func() {
		m, out := words(64, modq.TileRows*dim), new(modq.Block)
		r := [modq.TileRows][]uint64{m[:dim], m[dim : 2*dim], m[2*dim : 3*dim], m[3*dim:]}
		groups := []modq.Group{{X: words(64, modq.Lanes*dim)}, {X: words(64, modq.Lanes*dim)}}
		return func() { modq.Tile(out, &r, groups, nil) }
	}},
	{"modq", "AxpyRows, 4 rows of 1,344 words", func() func() {
		m, y := words(64, modq.TileRows*dim), words(64, dim)
		r := [modq.TileRows][]uint64{m[:dim], m[dim : 2*dim], m[2*dim : 3*dim], m[3*dim:]}
		return func() { modq.AxpyRows(&[modq.TileRows]uint64{1, 3, 5, 7}, &r, y, nil) }
	}},
	{"mod48", "Rows, 64 rows of 1,344 words by a request", func() func() {
		var matrices [mod48.Streams][]byte
		for s := range matrices {
			matrices[s] = make([]byte, mod48.WordBytes*rows*dim)
		}
		o, dst := modulus.Prepare(words(46, rows*dim), rows), make([][mod48.Streams]uint64, rows)
		return func() { o.Rows(dst, &matrices) }
	}},
	{"mod48", "Tile, 12 rows of 1,344 words by 16 requests", func() func() {
		requests, r := make([][]byte, mod48.MaxRequests), make([][]byte, mod48.TileRows)
		for _, packed := range [][][]byte{requests, r} {
			for i := range packed {
				packed[i] = make([]byte, mod48.WordBytes*dim)
			}
		}
		if !mod48.Tiles() { // the server multiplies request by request, four rows at a time
			o, dst := modulus.Prepare(make([]uint64, dim), 1), make([][mod48.Streams]uint64, 1)
			return func() {
				for i := range len(requests) * len(r) / mod48.Streams {
					o.Rows(dst, (*[mod48.Streams][]byte)(r[i*mod48.Streams%len(r):]))
				}
			}
		}
		t, dst := new(mod48.Tile), make([][mod48.MaxRequests]uint64, mod48.TileRows)
		t.Set(modulus, requests)
		return func() { t.Times(dst, r, nil) }
	}},
	{"mod48", "Evaluate, 32 polynomials at 64 points", func() func() {
		t, p := modulus.NewTransform(words(46, points)), words(46, ring)
		return func() { t.Evaluate(p, points) }
	}},
	{"mod48", "Products, 64 rows of 32 words", func() func() {
		a, b, dst := words(46, ring), words(46, ring), make([]uint64, points)
		return func() { modulus.Products(dst, a, b) }
	}},
	{"mod48", "Fields, 2,048 numbers", func() func() {
		dst, b := make([]uint64, ring), make([]byte, ring*mod48.FieldBits/8)
		return func() { modulus.Fields(dst, b, 21) }
	}},
	{"mod48", "Cut, 2,048 words", func() func() {
		dst, b := make([]uint64, ring), make([]byte, 8*ring)
		return func() { modulus.Cut(dst, b) }
	}},
	{"fourier", "ScaleLanes and Run, 4 transforms of 192 values", func() func() {
		const n = 192
		f, src, by := fourier.New(4, 4, 4, 3), make([]complex128, n*fourier.Lanes), make([]float64, n*fourier.Lanes)
		for i, w := range words(64, len(src)) {
			src[i], by[i] = complex(float64(w), 1), 0.5
		}
		return func() {
			fourier.ScaleLanes(f.Input(), src, by, fourier.Lanes)
			f.Run()
		}
	}},
	{"f32", "Mul, 50×768 by 768×768", func() func() {
		const m, n = 50, 768
		right, a, c := f32.PackRight(floats(n*n), n, n, n, false), floats(m*n), make([]float32, m*n)
		scratch := make([]float32, right.Scratch(m))
		return func() { right.Mul(c, n, a, n, m, nil, scratch) }
	}},
	{"f32", "Taps, 9 for each of 3,136 values", func() func() {
		out, x, w, e := make([]float32, plane), floats(plane+200), floats(9), &f32.Epilogue{Clip: true, Hi: 6}
		if k := f32.NewWindows(f32.Plane{InH: 56, InW: 56, Top: 1, Left: 1, OutH: 56, OutW: 56}, false, 3, 1); k != nil {
			return func() { k.Compute(out, x, w, e, nil) }
		}
		offsets := []int{0, 1, 2, 57, 58, 59, 114, 115, 116}
		return func() { f32.Taps(out, x, offsets, w, 1, e) }
	}},
	{"f32", "Exp, 3,136 values", func() func() {
		out, x := make([]float32, plane), floats(plane)
		return func() { f32.Exp(out, x) }
	}},
}

const plane = 56 * 56

// modulus is the smaller modulus of scheme sealed.
var modulus = mod48.New(1<<47 - 80<<10 + 1)

func words(bits uint, n int) []uint64 {
	r, x := rand.New(rand.NewPCG(1, 2)), make([]uint64, n)
	for i := range x {
		x[i] = r.Uint64() >> (64 - bits)
	}
	return x
}

func floats(n int) []float32 {
	r, x := rand.New(rand.NewPCG(3, 4)), make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}
