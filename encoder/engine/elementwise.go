package engine

import (
	"fmt"
	"math"

	"cpar/encoder/onnx"
	"cpar/internal/f32"
)

// A unary is an elementwise operator of one tensor without attributes.
type unary struct {
	run   func(out, in []float32) // computes floats
	exact func(int64) int64       // computes an integer exactly, may be nil
	truth bool                    // whether the result is boolean
}

func eachFloat32(f func(float32) float32) func(out, in []float32) {
	return func(out, in []float32) {
		for i, v := range in {
			out[i] = f(v)
		}
	}
}

var infinity = float32(math.Inf(1))

// pieces returns a function that applies f to pieces that fit in the
// first-level cache. `own` is scratch memory as long as the piece.
func pieces(f func(out, in, own []float32)) func(out, in []float32) {
	return func(out, in []float32) {
		own := make([]float32, min(len(in), 1024))
		for len(in) > 0 {
			n := min(len(in), len(own))
			f(out[:n], in[:n], own[:n])
			in, out = in[n:], out[n:]
		}
	}
}

func eachFloat64(f func(float64) float64) func(out, in []float32) {
	return eachFloat32(func(v float32) float32 { return float32(f(float64(v))) })
}

var unaries = map[string]unary{
	"Neg": {run: eachFloat32(func(v float32) float32 { return -v }), exact: func(v int64) int64 { return -v }},
	"Abs": {run: eachFloat32(func(v float32) float32 { return max(v, -v) }), exact: func(v int64) int64 { return max(v, -v) }},
	"Sign": {run: eachFloat32(func(v float32) float32 { return truth(v > 0) - truth(v < 0) }), exact: func(v int64) int64 {
		return min(max(v, -1), 1)
	}},
	"Reciprocal": {run: eachFloat32(func(v float32) float32 { return 1 / v })},
	"Sqrt":       {run: eachFloat64(math.Sqrt)},
	"Exp":        {run: f32.Exp},
	"Log":        {run: eachFloat64(math.Log)},
	"Floor":      {run: eachFloat64(math.Floor)},
	"Ceil":       {run: eachFloat64(math.Ceil)},
	"Round":      {run: eachFloat64(math.RoundToEven)},
	"Sin":        {run: eachFloat64(math.Sin)},
	"Cos":        {run: eachFloat64(math.Cos)},
	"Erf":        {run: f32.Erf},
	"Tanh":       {run: f32.Tanh},
	"Sigmoid":    {run: f32.Sigmoid},
	"Softplus":   {run: eachFloat64(softplus)},
	"Softsign":   {run: eachFloat32(func(v float32) float32 { return v / (1 + max(v, -v)) })},
	"HardSwish": {run: pieces(func(out, in, own []float32) {
		f32.Line(own, in, 1./6, 0.5, 0, 1)
		f32.Times(out, in, own)
	})},
	"Mish":  {run: eachFloat64(func(v float64) float64 { return v * math.Tanh(softplus(v)) })},
	"IsNaN": {run: eachFloat32(func(v float32) float32 { return truth(v != v) }), truth: true},
}

func softplus(v float64) float64 { return max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) }

func compileUnary(c *call) error {
	return c.setOutput(c.unary(unaries[c.node.Op], c.given(0)))
}

func (c *call) unary(u unary, x *value) *value {
	result := x.kind
	if x.kind == bools || x.kind == ints && u.exact == nil {
		return c.fail(fmt.Errorf("input 0 holds %s", x.kind))
	}
	if u.truth {
		result = bools
	}
	s := &step{in: []*value{x}, inPlace: true, rows: pieceRows(count(x.shape))}
	s.run = func(out []float32, in [][]float32, _ []float32) { u.run(out, in[0]) }
	if u.exact != nil {
		s.exact = func(out []int64, in [][]int64) error {
			for i, v := range in[0] {
				out[i] = u.exact(v)
			}
			return nil
		}
	}
	return c.step(result, s, x.shape, 0)
}

func (c *call) factors(names []string, defaults ...float32) (of []float32) {
	for i, name := range names {
		of = append(of, c.floatAttribute(name, defaults[i]))
	}
	return of
}

// shaped holds activation functions with one or two attributes. The first
// attribute is alpha.
var shaped = map[string]struct {
	other    string    // name of the second attribute, or "" if there is only alpha
	defaults []float32 // default values of the attributes
	f        func(v, alpha, other float64) float64
}{
	"LeakyRelu":       {"", []float32{0.01}, func(v, a, _ float64) float64 { return max(v, 0) + a*min(v, 0) }},
	"Elu":             {"", []float32{1}, func(v, a, _ float64) float64 { return max(v, 0) + a*math.Expm1(min(v, 0)) }},
	"Celu":            {"", []float32{1}, func(v, a, _ float64) float64 { return max(v, 0) + min(0, a*math.Expm1(v/a)) }},
	"ThresholdedRelu": {"", []float32{1}, func(v, a, _ float64) float64 { return v * float64(truth(v > a)) }},
	"Swish":           {"", []float32{1}, func(v, a, _ float64) float64 { return v / (1 + math.Exp(-a*v)) }},
	"HardSigmoid":     {"beta", []float32{0.2, 0.5}, func(v, a, b float64) float64 { return max(0, min(1, a*v+b)) }},
	"Selu": {"gamma", []float32{1.67326319217681884765625, 1.05070102214813232421875},
		func(v, a, g float64) float64 { return g * (max(v, 0) + a*math.Expm1(min(v, 0))) }},
}

func compileShaped(c *call) error {
	s := shaped[c.node.Op]
	names := []string{"alpha", s.other}[:len(s.defaults)]
	of := append(c.factors(names, s.defaults...), 0)
	f := vectorised(c.node.Op, of[0], of[1])
	if f == nil {
		f = eachFloat64(func(v float64) float64 { return s.f(v, float64(of[0]), float64(of[1])) })
	}
	return c.setOutput(c.unary(unary{run: f}, c.input(0)))
}

func vectorised(op string, alpha, other float32) func(out, in []float32) {
	switch {
	case op == "HardSigmoid":
		return func(out, in []float32) { f32.Line(out, in, alpha, other, 0, 1) }
	case op == "LeakyRelu" && alpha > 0 && alpha <= 1:
		return pieces(func(out, in, own []float32) {
			f32.Line(own, in, alpha, 0, -infinity, infinity)
			f32.Larger(out, in, own)
		})
	case op == "Swish":
		return pieces(func(out, in, own []float32) {
			scaled := in
			if alpha != 1 {
				scaled = own
				f32.Line(own, in, alpha, 0, -infinity, infinity)
			}
			f32.Sigmoid(own, scaled)
			f32.Times(out, in, own)
		})
	case op == "Elu":
		return pieces(func(out, in, own []float32) {
			f32.Line(own, in, 1, 0, -infinity, 0)
			f32.Exp(own, own)
			f32.Line(own, own, alpha, -alpha, -infinity, infinity)
			f32.Line(out, in, 1, 0, 0, infinity)
			f32.Axpy(1, own, out)
		})
	}
	return nil
}

// compileGelu implements v·Φ(v), with the normal distribution function Φ, or
// its approximation by tanh.
func compileGelu(c *call) error {
	how := c.stringAttribute("approximate", "none")
	if f := map[string]func(out, in []float32){"none": f32.Gelu, "tanh": geluTanh}[how]; f != nil {
		return c.setOutput(c.unary(unary{run: f}, c.input(0)))
	}
	return onnx.Unsupported("the approximation %.20q is not supported", how)
}

// geluTanh computes v/2·(1 + tanh(√(2/π)·(v + 0.044715·v³))).
var geluTanh = pieces(func(out, in, own []float32) {
	const root = 0.7978845608028654
	f32.Times(own, in, in)
	f32.Line(own, own, 0.044715*root, root, -infinity, infinity)
	f32.Times(own, in, own)
	f32.Tanh(own, own)
	f32.Line(own, own, 0.5, 0.5, -infinity, infinity)
	f32.Times(out, in, own)
})

func compileNot(c *call) error {
	x := c.given(0)
	if x.kind != bools {
		return fmt.Errorf("input 0 holds %s", x.kind)
	}
	return c.setOutput(c.moving(&step{in: []*value{x}, inPlace: true}, bools, x.shape,
		mapped(func(v float32) float32 { return 1 - v }), mapped(func(v int64) int64 { return 1 - v })))
}

// compileClip implements Clip. Its bounds are attributes up to opset 10 and
// inputs from opset 11.
func compileClip(c *call) error {
	lowest, highest := float32(-math.MaxFloat32), float32(math.MaxFloat32)
	if c.opset < 11 {
		if len(c.in) > 1 {
			return fmt.Errorf("its bounds are inputs, which opset %d does not know", c.opset)
		}
		return c.clip(c.floatAttribute("min", lowest), c.floatAttribute("max", highest))
	}
	x := c.given(0)
	if x.kind == floats && c.isNumber(1) && c.isNumber(2) {
		return c.clip(c.scalar(1, lowest), c.scalar(2, highest))
	}
	for i, op := range []string{"", "Max", "Min"} {
		if i == 0 || !c.has(i) {
			continue
		}
		if count(c.in[i].shape) != 1 {
			return fmt.Errorf("input %d is not a number", i)
		}
		x = c.binary(op, x, c.in[i])
	}
	return c.setOutput(x)
}

func (c *call) isNumber(i int) bool { return !c.has(i) || c.in[i].constant() }

func compileRelu(c *call) error { return c.clip(0, infinity) }

func (c *call) clip(lo, hi float32) error {
	x := c.input(0)
	if !(lo <= hi) {
		return fmt.Errorf("the bounds %g and %g are not in order", lo, hi)
	}
	return c.setOutput(c.bounded(x, lo, hi))
}

func (c *call) bounded(x *value, lo, hi float32) *value {
	s := &step{in: []*value{x}, inPlace: true, bounds: &bounds{lo, hi}}
	s.run = func(out []float32, in [][]float32, _ []float32) { f32.Line(out, in[0], 1, 0, lo, hi) }
	return c.step(floats, s, x.shape, 0)
}
