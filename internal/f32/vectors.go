package f32

import "unsafe"

// vectorFunctions holds the kernels of one level, for whole registers.
type vectorFunctions struct {
	dot           func(x, y []float32) float32
	axpy          func(a float32, x, y []float32)
	line          func(out, in []float32, by, plus, lo, hi float32)
	times, larger func(out, x, y []float32)
	largest       func(x []float32) float32
	widen         func(sum []float64, x []float32)
	centre        func(out, x []float32, mean []float64, scale float64)
}

var plainVectors = vectorFunctions{dotPlain, axpyPlain, linePlain, timesPlain, largerPlain, largestPlain, widenPlain, centrePlain}

// Dot returns Σ x[i]·y[i] over the length of x. Slice y may be longer.
func Dot(x, y []float32) float32 {
	y = y[:len(x)]
	whole := len(x) &^ (active.tiling().lanes - 1)
	return levels[active].vectors.dot(x[:whole], y[:whole]) + dotPlain(x[whole:], y[whole:])
}

// Axpy adds a·x to y over the length of x. Slice y may be longer.
func Axpy(a float32, x, y []float32) {
	y = y[:len(x)]
	whole := len(x) &^ (active.tiling().lanes - 1)
	levels[active].vectors.axpy(a, x[:whole], y[:whole])
	axpyPlain(a, x[whole:], y[whole:])
}

// Line sets out[i] = in[i]·by + plus, within lo … hi. NaN stays NaN. `out` must
// not be shorter than `in`, and may be the same slice.
func Line(out, in []float32, by, plus, lo, hi float32) {
	out = out[:len(in)]
	whole := len(in) &^ (active.tiling().lanes - 1)
	levels[active].vectors.line(out[:whole], in[:whole], by, plus, lo, hi)
	linePlain(out[whole:], in[whole:], by, plus, lo, hi)
}

// Times sets out[i] = x[i]·y[i]. `out` and y must not be shorter than x. `out`
// may be x or y.
func Times(out, x, y []float32) {
	out, y = out[:len(x)], y[:len(x)]
	whole := len(x) &^ (active.tiling().lanes - 1)
	levels[active].vectors.times(out[:whole], x[:whole], y[:whole])
	timesPlain(out[whole:], x[whole:], y[whole:])
}

// Larger sets out[i] to the larger of x[i] and y[i], or to NaN if either is
// NaN. `out` and y must not be shorter than x. `out` may be x or y.
func Larger(out, x, y []float32) {
	out, y = out[:len(x)], y[:len(x)]
	whole := len(x) &^ (active.tiling().lanes - 1)
	levels[active].vectors.larger(out[:whole], x[:whole], y[:whole])
	largerPlain(out[whole:], x[whole:], y[whole:])
}

// Largest returns the largest value of x, ignoring NaN, or −∞ if x is empty.
func Largest(x []float32) float32 {
	whole := len(x) &^ (active.tiling().lanes - 1)
	return max(levels[active].vectors.largest(x[:whole]), largestPlain(x[whole:]))
}

// len(ones) is the length of the pieces that Sum adds in float32.
var ones = func() (x [256]float32) {
	for i := range x {
		x[i] = 1
	}
	return x
}()

// Sum returns Σ x, adding pieces in float32 and the pieces' sums in float64.
func Sum(x []float32) float64 {
	sum := 0.0
	for len(x) > 0 {
		n := min(len(x), len(ones))
		sum += float64(Dot(x[:n], ones[:]))
		x = x[n:]
	}
	return sum
}

// AddTo64 adds x to `sum`, which must not be shorter.
func AddTo64(sum []float64, x []float32) {
	sum = sum[:len(x)]
	whole := len(x) &^ (active.tiling().lanes - 1)
	levels[active].vectors.widen(sum[:whole], x[:whole])
	widenPlain(sum[whole:], x[whole:])
}

// Centre sets out[i] = (x[i] − mean[i])·scale, computed in float64. `out` and
// `mean` must not be shorter than x.
func Centre(out, x []float32, mean []float64, scale float64) {
	out, mean = out[:len(x)], mean[:len(x)]
	whole := len(x) &^ (active.tiling().lanes - 1)
	levels[active].vectors.centre(out[:whole], x[:whole], mean[:whole], scale)
	centrePlain(out[whole:], x[whole:], mean[whole:], scale)
}

// CopyRows copies rows of n values, whose distances are toStep and step. It may
// set the values between rows, and some after the last, to pad.
func CopyRows(to, from []float32, toStep, step, n, rows int, pad float32) {
	lanes, row := active.tiling().lanes, 0
	whole, kernel := roundUp(n, lanes), levels[active].winograd.copyRows
	if spare := min((len(to)-n-lanes)/toStep, (len(from)-whole)/step); kernel != nil && len(to) >= n+lanes && len(from) >= whole {
		row = max(0, min(rows, spare+1))
		kernel(data(to), data(from), 4*toStep, 4*step, 4*n, row, whole/lanes, pad)
	}
	for ; row < rows; row++ {
		copy(to[row*toStep:][:n], from[row*step:])
	}
}

// Halves sets even[i] = x[2·i] and odd[i] = x[2·i + 1] over the length of odd.
// `even` has the same length or is longer by one, and x has the length of both.
func Halves(even, odd, x []float32) {
	n := len(odd)
	x = x[:len(even)+n]
	lanes, split := active.tiling().lanes, levels[active].winograd.halves
	i := 0
	if split != nil && n >= lanes {
		split(data(even), data(odd), data(x), n/lanes)
		last := n - lanes // the last registers may overlap those before
		split(&even[last], &odd[last], &x[2*last], 1)
		i = n
	}
	for ; i < n; i++ {
		even[i], odd[i] = x[2*i], x[2*i+1]
	}
	if n < len(even) {
		even[n] = x[2*n]
	}
}

// Taps sets out[i] = bias + Σ weights[t]·x[offsets[t]+i] clipped as e demands,
// ignoring e.Bias. It is a depthwise convolution of one channel laid out so
// that each tap reads a contiguous run.
func Taps(out, x []float32, offsets []int, weights []float32, bias float32, e *Epilogue) {
	lo, hi := -infinity, infinity
	if e != nil && e.Clip {
		lo, hi = e.Lo, e.Hi
	}
	furthest := 0
	for _, o := range offsets {
		furthest = max(furthest, o)
	}
	weights = weights[:len(offsets)]
	x = x[:max(len(x), furthest+len(out))] // panics if x is too short
	if kernel := levels[active].taps; kernel != nil {
		registers := len(out) / active.tiling().lanes
		kernel(data(out), data(x), unsafe.SliceData(offsets), data(weights), len(offsets), registers, bias, lo, hi)
		whole := registers * active.tiling().lanes
		out, x = out[whole:], x[whole:]
	}
	for i := range out {
		out[i] = bias
	}
	for t, o := range offsets {
		Axpy(weights[t], x[o:][:len(out)], out)
	}
	Line(out, out, 1, 0, lo, hi)
}
