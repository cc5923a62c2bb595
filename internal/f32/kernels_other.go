//go:build !amd64 || purego

package f32

func best() level { return plain }

func (l level) tile(t *tile) { tilePlain(t, l.tiling().lanes) }

func (level) wide(rows, k int, a, b, c []float64, ldc int) { widePlain(rows, k, a, b, c, ldc) }

func (level) pack(dst, b []float32, offsets []int, wide int) { packPlain(dst, b, offsets, wide) }

var vectorKernels = [...]vectorFunctions{plain: plainVectors}

func (level) apply(f function, out, in []float32) { f.plain(out, in) }

type function struct{ plain func(out, in []float32) }

var (
	expOf     = function{each(exp)}
	erfOf     = function{each(erf)}
	tanhOf    = function{each(tanh)}
	sigmoidOf = function{each(sigmoid)}
	geluOf    = function{each(gelu)}
)
