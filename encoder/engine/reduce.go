package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"cpar/internal/f32"
)

// A reduction is an operator that reduces axes to one value, such as a sum.
type reduction struct {
	start      float64                              // result for no values
	add        func(sum float64, x float32) float64 // adds a value to a result
	finish     func(sum float64, n int) float64     // converts the result for n values, may be nil
	exactStart int64                                // like `start`, for integers
	exact      func(sum, x int64) int64             // like `add`, for integers, may be nil
	// run, if not nil, sums contiguous values faster than calls of `add`.
	run func(x []float32) float64
	// since is the first opset in which the axes are an input. In earlier
	// opsets they are an attribute.
	since int64
}

func plus(sum float64, x float32) float64    { return sum + float64(x) }
func squared(sum float64, x float32) float64 { return sum + float64(x)*float64(x) }

var reductions = map[string]reduction{
	"ReduceSum":       {add: plus, run: f32.Sum, exact: func(s, x int64) int64 { return s + x }, since: 13},
	"ReduceMean":      {add: plus, run: f32.Sum, finish: func(s float64, n int) float64 { return s / float64(n) }, since: 18},
	"ReduceSumSquare": {add: squared, exact: func(s, x int64) int64 { return s + x*x }, since: 18},
	"ReduceL2":        {add: squared, finish: func(s float64, _ int) float64 { return math.Sqrt(s) }, since: 18},
	"ReduceL1": {add: func(s float64, x float32) float64 { return s + math.Abs(float64(x)) },
		exact: func(s, x int64) int64 { return s + max(x, -x) }, since: 18},
	"ReduceLogSum": {add: plus, finish: func(s float64, _ int) float64 { return math.Log(s) }, since: 18},
	"ReduceMax": {start: math.Inf(-1), add: func(s float64, x float32) float64 { return max(s, float64(x)) },
		exactStart: math.MinInt64, exact: func(s, x int64) int64 { return max(s, x) }, since: 18},
	"ReduceMin": {start: math.Inf(1), add: func(s float64, x float32) float64 { return min(s, float64(x)) },
		exactStart: math.MaxInt64, exact: func(s, x int64) int64 { return min(s, x) }, since: 18},
	"ReduceProd": {start: 1, add: func(s float64, x float32) float64 { return s * float64(x) },
		exactStart: 1, exact: func(s, x int64) int64 { return s * x }, since: 18},
}

func compileReduce(c *call) error {
	x := c.any(0)
	r := reductions[c.node.Op]
	if x.kind == bools || x.kind == ints && r.exact == nil && c.node.Op != "ReduceMean" {
		return fmt.Errorf("input 0 holds %s", x.kind)
	}
	axes := c.axesOf(c.listBefore(r.since, "axes", 1), len(x.shape))
	keep := c.flagAttribute("keepdims", true)
	noop := c.opset >= r.since && c.flagAttribute("noop_with_empty_axes", false)
	if len(axes) == 0 {
		if noop {
			return c.setOutput(x)
		}
		axes = allAxes(len(x.shape))
	}
	v := c.reduced(r, x, axes)
	if v.producer != nil && c.node.Op == "ReduceMean" && keep {
		v.producer.meanOfRows = slices.Equal(axes, []int{len(x.shape) - 1})
	}
	return c.setOutput(c.reshaped(v, withoutAxes(x.shape, axes, keep)))
}

func allAxes(rank int) []int {
	axes := make([]int, rank)
	for k := range axes {
		axes[k] = k
	}
	return axes
}

func withoutAxes(shape, axes []int, keep bool) (left []int) {
	left = []int{}
	for k, n := range shape {
		switch {
		case !slices.Contains(axes, k):
			left = append(left, n)
		case keep:
			left = append(left, 1)
		}
	}
	return left
}

func (c *call) reduced(r reduction, x *value, axes []int) *value {
	outer, inner := reductionViews(x.shape, axes)
	n := count(inner.shape)
	s := &step{in: []*value{x}, op: "Reduce"}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		finish := r.finish
		if finish == nil {
			finish = func(sum float64, _ int) float64 { return sum }
		}
		reduce(outer, inner, out, in[0], r.start, r.run, r.add, func(sum float64) float32 { return float32(finish(sum, n)) })
	}
	if r.exact != nil {
		s.exact = func(out []int64, in [][]int64) error {
			reduce(outer, inner, out, in[0], r.exactStart, nil, r.exact, func(sum int64) int64 { return sum })
			return nil
		}
	}
	if x.kind == ints && r.exact == nil && x.constant() {
		return c.fail(errors.New("the mean of integers is not supported"))
	}
	return c.step(x.kind, s, withoutAxes(x.shape, axes, true), int64(count(x.shape)))
}

func reductionViews(shape, axes []int) (outer, inner view) {
	for k, step := range rowMajor(shape) {
		if slices.Contains(axes, k) {
			inner.shape, inner.steps = append(inner.shape, shape[k]), append(inner.steps, step)
		} else {
			outer.shape, outer.steps = append(outer.shape, shape[k]), append(outer.steps, step)
		}
	}
	return outer.merged(), inner.merged()
}

// reduce combines `start` with the values of view `inner`, for each
// position of view `outer`. `row`, if not nil, sums contiguous values.
func reduce[T float32 | int64, S float64 | int64](outer, inner view, out, in []T, start S, row func([]T) S, add func(S, T) S, finish func(S) T) {
	var index, each [maxRank]int
	last := len(inner.shape) - 1
	run, step, n := inner.shape[last], inner.steps[last], count(inner.shape)
	at := 0
	for i := range out {
		sum := start
		clear(each[:])
		for from, k := at, 0; k < n; k += run {
			if step == 1 && row != nil {
				sum += row(in[from:][:run])
			} else {
				for p := range run {
					sum = add(sum, in[from+p*step])
				}
			}
			from = inner.next(each[:], from, last)
		}
		out[i] = finish(sum)
		at = outer.next(index[:], at, len(outer.shape))
	}
}

// compileGlobalPool implements GlobalAveragePool and GlobalMaxPool, which
// reduce all axes after the channels.
func compileGlobalPool(c *call) error {
	x := c.input(0)
	if len(x.shape) < 3 {
		return fmt.Errorf("its input has shape %v; N×C×… is needed", x.shape)
	}
	r := reductions["ReduceMean"]
	if c.node.Op == "GlobalMaxPool" {
		r = reductions["ReduceMax"]
	}
	return c.setOutput(c.reduced(r, x, allAxes(len(x.shape))[2:]))
}

func compileArg(c *call) error {
	x := c.any(0)
	k := c.axisAttribute(0, len(x.shape))
	keep := c.flagAttribute("keepdims", true)
	later := c.flagAttribute("select_last_index", false)
	if c.err != nil {
		return c.err
	}
	outer, inner := reductionViews(x.shape, []int{k})
	n, pitch := x.shape[k], inner.steps[0]
	isMin := c.node.Op == "ArgMin"
	run := func(out []float32, in [][]float32, _ []float32) {
		index := make([]int, len(outer.shape))
		at := 0
		for i := range out {
			best := 0
			for j := 1; j < n; j++ {
				v, w := in[0][at+j*pitch], in[0][at+best*pitch]
				if isMin {
					v, w = -v, -w
				}
				if v > w || later && v == w {
					best = j
				}
			}
			out[i] = float32(best)
			at = outer.next(index, at, len(outer.shape))
		}
	}
	s := &step{in: []*value{x}, run: run}
	return c.setOutput(c.step(ints, s, withoutAxes(x.shape, []int{k}, keep), int64(count(x.shape))))
}

func compileCumSum(c *call) error {
	x := c.any(0)
	k := c.axis(c.oneInt(1, "axes"), len(x.shape))
	a := accumulation{exclusive: c.flagAttribute("exclusive", false), reverse: c.flagAttribute("reverse", false)}
	if c.err != nil {
		return c.err
	}
	outer, inner := reductionViews(x.shape, []int{k})
	a.outer, a.n, a.step = outer, x.shape[k], inner.steps[0]
	return c.setOutput(c.moving(&step{in: []*value{x}}, x.kind, x.shape, accumulate[float32](a), accumulate[int64](a)))
}

// An accumulation computes running sums. At each position of view `outer`, it
// sums n values that lie `step` elements apart.
type accumulation struct {
	outer              view
	n, step            int
	exclusive, reverse bool
}

func accumulate[T float32 | int64](a accumulation) mover[T] {
	return func(out []T, in [][]T) {
		index := make([]int, len(a.outer.shape))
		at := 0
		for range count(a.outer.shape) {
			from, move := at, a.step
			if a.reverse {
				from, move = at+(a.n-1)*a.step, -a.step
			}
			var sum T
			for range a.n {
				x := in[0][from]
				if a.exclusive {
					out[from] = sum
				}
				if sum += x; !a.exclusive {
					out[from] = sum
				}
				from += move
			}
			at = a.outer.next(index, at, len(a.outer.shape))
		}
	}
}
