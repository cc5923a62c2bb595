package engine

import (
	"errors"
	"fmt"
	"math"

	"cpar/encoder/onnx"
	"cpar/internal/f32"
)

// A binary is an elementwise operator of two tensors.
type binary struct {
	// row computes a row of float32 results. Per result, it advances by dx
	// elements in x and by dy elements in y. Both are 0 or 1, where 0 repeats
	// the first element.
	row func(out, x, y []float32, dx, dy int)
	// exact computes a result for integer constants exactly. It may be nil.
	exact func(x, y int64) (int64, error)
	truth bool // whether the result is boolean
	whole bool // whether the operator also accepts booleans
}

// total converts an operator that cannot fail to the type of binary.exact.
func total(f func(x, y int64) int64) func(x, y int64) (int64, error) {
	return func(x, y int64) (int64, error) { return f(x, y), nil }
}

func each(f func(x, y float32) float32) func(out, x, y []float32, dx, dy int) {
	return func(out, x, y []float32, dx, dy int) {
		for i := range out {
			out[i] = f(x[i*dx], y[i*dy])
		}
	}
}

func comparison(f func(x, y float32) bool, exact func(x, y int64) bool) binary {
	return binary{truth: true, whole: true,
		row: each(func(x, y float32) float32 { return truth(f(x, y)) }),
		exact: total(func(x, y int64) int64 {
			if exact(x, y) {
				return 1
			}
			return 0
		})}
}

func logical(f func(x, y bool) bool) binary {
	return comparison(func(x, y float32) bool { return f(x != 0, y != 0) }, func(x, y int64) bool { return f(x != 0, y != 0) })
}

var errByZero = errors.New("a division by zero")

var binaries = map[string]binary{
	"Add": {row: sumRow(1), exact: total(func(x, y int64) int64 { return x + y })},
	"Sub": {row: sumRow(-1), exact: total(func(x, y int64) int64 { return x - y })},
	"Mul": {row: mulRow, exact: total(func(x, y int64) int64 { return x * y })},
	"Div": {row: divRow, exact: func(x, y int64) (int64, error) {
		if y == 0 {
			return 0, errByZero
		}
		return x / y, nil
	}},
	"Min":            {row: each(func(x, y float32) float32 { return min(x, y) }), exact: total(func(x, y int64) int64 { return min(x, y) })},
	"Max":            {row: maxRow, exact: total(func(x, y int64) int64 { return max(x, y) })},
	"Pow":            {row: powRow, exact: power},
	"PRelu":          {row: each(func(x, y float32) float32 { return max(x, 0) + y*min(x, 0) })},
	"Equal":          comparison(func(x, y float32) bool { return x == y }, func(x, y int64) bool { return x == y }),
	"Less":           comparison(func(x, y float32) bool { return x < y }, func(x, y int64) bool { return x < y }),
	"LessOrEqual":    comparison(func(x, y float32) bool { return x <= y }, func(x, y int64) bool { return x <= y }),
	"Greater":        comparison(func(x, y float32) bool { return x > y }, func(x, y int64) bool { return x > y }),
	"GreaterOrEqual": comparison(func(x, y float32) bool { return x >= y }, func(x, y int64) bool { return x >= y }),
	"And":            logical(func(x, y bool) bool { return x && y }),
	"Or":             logical(func(x, y bool) bool { return x || y }),
	"Xor":            logical(func(x, y bool) bool { return x != y }),
	// The result of Mod has the sign of the divisor, as in Python. With
	// attribute fmod ("fmod" here), it has the sign of the dividend.
	"Mod":  {exact: modulo},
	"fmod": {row: each(func(x, y float32) float32 { return float32(math.Mod(float64(x), float64(y))) }), exact: remainder},
}

func sumRow(sign float32) func(out, x, y []float32, dx, dy int) {
	return func(out, x, y []float32, dx, dy int) {
		switch {
		case dx == 1 && dy == 1:
			x = x[:len(out)]
			if &out[0] != &x[0] {
				copy(out, x)
			}
			f32.Axpy(sign, y[:len(out)], out)
		case dx == 1:
			f32.Line(out, x[:len(out)], 1, sign*y[0], -infinity, infinity)
		case dy == 1:
			f32.Line(out, y[:len(out)], sign, x[0], -infinity, infinity)
		default:
			fill(out, x[0]+sign*y[0])
		}
	}
}

// clippedSum clips sums while they are in the first-level cache.
func clippedSum(by *bounds) func(out, x, y []float32, dx, dy int) {
	return func(out, x, y []float32, dx, dy int) {
		for i := 0; i < len(out); i += 2048 {
			part := out[i:min(i+2048, len(out))]
			if sumRow(1)(part, x[i*dx:], y[i*dy:], dx, dy); !by.unbounded() {
				f32.Line(part, part, 1, 0, by.lo, by.hi)
			}
		}
	}
}

func maxRow(out, x, y []float32, dx, dy int) {
	if dx == 1 && dy == 1 {
		f32.Larger(out, x[:len(out)], y)
		return
	}
	for i := range out {
		out[i] = max(x[i*dx], y[i*dy])
	}
}

func mulRow(out, x, y []float32, dx, dy int) {
	switch {
	case dx == 1 && dy == 1:
		f32.Times(out, x[:len(out)], y)
	case dx == 0 && dy == 1:
		mulRow(out, y, x, dy, dx)
	case dx == 1:
		f32.Line(out, x[:len(out)], y[0], 0, -infinity, infinity)
	default:
		fill(out, x[0]*y[0])
	}
}

func divRow(out, x, y []float32, dx, dy int) {
	for i := range out {
		out[i] = x[i*dx] / y[i*dy]
	}
}

func powRow(out, x, y []float32, dx, dy int) {
	for i := range out {
		v, p := x[i*dx], y[i*dy]
		switch p {
		case 2:
			out[i] = v * v
		case 3:
			out[i] = v * v * v
		case 1:
			out[i] = v
		case 0.5:
			out[i] = float32(math.Sqrt(float64(v)))
		default:
			out[i] = float32(math.Pow(float64(v), float64(p)))
		}
	}
}

func power(x, y int64) (int64, error) {
	if y < 0 {
		return 0, fmt.Errorf("the integer %d has a negative exponent, %d", x, y)
	}
	result := int64(1)
	for ; y > 0; y >>= 1 {
		if y&1 != 0 {
			result *= x
		}
		x *= x
	}
	return result, nil
}

func modulo(x, y int64) (int64, error) {
	if y == 0 {
		return 0, errByZero
	}
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r, nil
}

func remainder(x, y int64) (int64, error) {
	if y == 0 {
		return 0, errByZero
	}
	return x % y, nil
}

// compileBinary implements the table binaries, with numpy's broadcasting.
func compileBinary(c *call) error {
	op := c.node.Op
	if op == "Mod" && c.flagAttribute("fmod", false) {
		op = "fmod"
	}
	return c.setOutput(c.binary(op, c.given(0), c.given(1)))
}

func (c *call) binary(op string, x, y *value) *value {
	o, result := binaries[op], x.kind
	if x.kind != y.kind && op != "Pow" || x.kind == bools && !o.whole {
		return c.fail(fmt.Errorf("its inputs hold %s and %s", x.kind, y.kind))
	}
	if o.truth {
		result = bools
	}
	b, err := newBroadcast(x.shape, y.shape)
	if err != nil {
		return c.fail(err)
	}
	if v := c.clipByConstant(op, x, y); v != nil {
		return v
	}
	if op == "PRelu" && count(b.shape) != count(x.shape) {
		return c.fail(fmt.Errorf("tensors of shapes %v and %v do not fit", x.shape, y.shape))
	}
	m, row := b.merged(), o.row
	if result == ints && (op == "Div" || op == "Mod") {
		row = each(func(x, y float32) float32 {
			r, err := o.exact(int64(x), int64(y))
			if err != nil {
				return float32(math.NaN()) // which checkIntegers (run.go) refuses
			}
			return float32(r)
		})
	}
	if row == nil {
		return c.fail(onnx.Unsupported("it is not supported for floats"))
	}
	// Overwriting input x is safe only if each of its elements is read once.
	s := &step{in: []*value{x, y}, inPlace: count(x.shape) == count(b.shape), op: op}
	if op == "Add" {
		s.clip = &bounds{-infinity, infinity}
		row = clippedSum(s.clip)
	}
	s.run = func(out []float32, in [][]float32, _ []float32) { pairs(m, out, in[0], in[1], row) }
	if o.exact != nil {
		s.exact = func(out []int64, in [][]int64) (err error) {
			pairs(m, out, in[0], in[1], func(out, x, y []int64, dx, dy int) {
				for i := range out {
					r, failed := o.exact(x[i*dx], y[i*dy])
					if out[i] = r; failed != nil {
						err = failed
					}
				}
			})
			return err
		}
	}
	return c.step(result, s, b.shape, 0)
}

// clipByConstant emits Max or Min with a constant number as a clip, which a
// convolution can absorb (fuse.go). Otherwise it returns nil.
func (c *call) clipByConstant(op string, x, y *value) *value {
	if op != "Max" && op != "Min" || x.kind != floats {
		return nil
	}
	if x.constant() {
		x, y = y, x
	}
	if x.constant() || !y.constant() || count(y.shape) != 1 || len(y.shape) > len(x.shape) {
		return nil
	}
	data, err := c.finiteCopy(y)
	switch {
	case err != nil || c.err != nil:
		return nil
	case op == "Max":
		return c.bounded(x, data[0], infinity)
	}
	return c.bounded(x, -infinity, data[0])
}

func compileMany(c *call) error {
	sum := c.any(0)
	op := c.node.Op
	if op == "Sum" || op == "Mean" {
		op = "Add"
	}
	for i := 1; i < len(c.in); i++ {
		sum = c.binary(op, sum, c.any(i))
	}
	if c.node.Op == "Mean" {
		sum = c.binary("Div", sum, number(float32(len(c.in))))
	}
	return c.setOutput(sum)
}

func number(v float32) *value { return &value{shape: []int{}, floats: []float32{v}} }

func compileWhere(c *call) error {
	return c.setOutput(c.selectElements(c.given(0), c.given(1), c.given(2)))
}

func (c *call) selectElements(choice, x, y *value) *value {
	if choice.kind != bools || x.kind != y.kind {
		return c.fail(fmt.Errorf("its inputs hold %s, %s and %s", choice.kind, x.kind, y.kind))
	}
	b, err := newBroadcast(choice.shape, x.shape, y.shape)
	if err != nil {
		return c.fail(err)
	}
	m := b.merged()
	return c.moving(&step{in: []*value{choice, x, y}}, x.kind, b.shape, where[float32](m), where[int64](m))
}

func where[T float32 | int64](b broadcast) mover[T] {
	last := len(b.shape) - 1
	dc, dx, dy := b.steps[0][last], b.steps[1][last], b.steps[2][last]
	return func(out []T, in [][]T) {
		b.rows(func(at int, from []int) {
			c, x, y := in[0][from[0]:], in[1][from[1]:], in[2][from[2]:]
			for i := range b.shape[last] {
				if c[i*dc] != 0 {
					out[at+i] = x[i*dx]
				} else {
					out[at+i] = y[i*dy]
				}
			}
		})
	}
}
