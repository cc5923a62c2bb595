//go:build !amd64 || purego

package f32

func best() level { return plain }

func (l level) tile(t *tile) { tilePlain(t, l.tiling().lanes) }

func (level) wide(rows, k int, a, b, c []float64, ldc int) { widePlain(rows, k, a, b, c, ldc) }

func (level) pack(dst, b []float32, offsets []int, wide int) { packPlain(dst, b, offsets, wide) }

func (level) taps(out, x []float32, offsets []int, weights []float32, bias, lo, hi float32) {
	tapsPlain(out, x, offsets, weights, bias, lo, hi)
}

func (level) dot(x, y []float32) float32     { return dotPlain(x, y) }
func (level) axpy(a float32, x, y []float32) { axpyPlain(a, x, y) }
func (level) line(out, in []float32, by, plus, lo, hi float32) {
	linePlain(out, in, by, plus, lo, hi)
}
func (level) times(out, x, y []float32)        { timesPlain(out, x, y) }
func (level) larger(out, x, y []float32)       { largerPlain(out, x, y) }
func (level) largest(x []float32) float32      { return largestPlain(x) }
func (level) widen(sum []float64, x []float32) { widenPlain(sum, x) }
func (level) centre(out, x []float32, mean []float64, scale float64) {
	centrePlain(out, x, mean, scale)
}
func (level) apply(f function, out, in []float32) { f.plain(out, in) }

// A function holds the implementation of one function of functions.go.
type function struct{ plain func(out, in []float32) }

var (
	expOf     = function{each(exp)}
	erfOf     = function{each(erf)}
	tanhOf    = function{each(tanh)}
	sigmoidOf = function{each(sigmoid)}
	geluOf    = function{each(gelu)}
)
