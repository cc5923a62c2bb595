package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"cpar/user/network/onnx"
)

// compileClip bounds its input. The bounds are attributes up to opset 10 and inputs from
// 11. A file with bounds in the wrong place is refused, because readers that overlook
// them compute values without bounds.
func compileClip(c *call) error {
	lowest, highest := float32(-math.MaxFloat32), float32(math.MaxFloat32)
	var lo, hi float32
	var err error
	if c.opset < 11 {
		if len(c.in) > 1 {
			return fmt.Errorf("its bounds are inputs, which opset %d does not know", c.opset)
		}
		if lo, err = c.floatAttribute("min", lowest); err == nil {
			hi, err = c.floatAttribute("max", highest)
		}
	} else {
		if lo, err = c.scalar(1, lowest); err == nil {
			hi, err = c.scalar(2, highest)
		}
	}
	if err != nil {
		return err
	}
	return c.clip(lo, hi)
}

func compileRelu(c *call) error { return c.clip(0, float32(math.Inf(1))) }

func (c *call) clip(lo, hi float32) error {
	x, err := c.input(0)
	if err != nil {
		return err
	}
	if !(lo <= hi) {
		return fmt.Errorf("bounds of %g to %g", lo, hi)
	}
	s := &step{in: []*value{x}, inPlace: true, bounds: &bounds{lo, hi}}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		copy(out, in[0])
		clamp(out, lo, hi)
	}
	return c.emit(s, x.shape, 0)
}

func (c *call) elementwise(f func(float32) float32) error {
	x, err := c.input(0)
	if err != nil {
		return err
	}
	s := &step{in: []*value{x}, inPlace: true}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		for i, v := range in[0] {
			out[i] = f(v)
		}
	}
	return c.emit(s, x.shape, 0)
}

func compileLeakyRelu(c *call) error {
	alpha, err := c.floatAttribute("alpha", 0.01)
	if err != nil {
		return err
	}
	return c.elementwise(func(v float32) float32 {
		if v < 0 {
			return alpha * v
		}
		return v
	})
}

func compileSigmoid(c *call) error {
	return c.elementwise(func(v float32) float32 { return float32(1 / (1 + math.Exp(-float64(v)))) })
}

func compileTanh(c *call) error {
	return c.elementwise(func(v float32) float32 { return float32(math.Tanh(float64(v))) })
}

func compileHardSigmoid(c *call) error {
	alpha, err := c.floatAttribute("alpha", 0.2)
	if err != nil {
		return err
	}
	beta, err := c.floatAttribute("beta", 0.5)
	if err != nil {
		return err
	}
	return c.elementwise(func(v float32) float32 { return max(0, min(1, alpha*v+beta)) })
}

func compileHardSwish(c *call) error {
	return c.elementwise(func(v float32) float32 { return v * max(0, min(1, v/6+0.5)) })
}

// compileSoftmax supports only the last axis, for which the operator's two definitions
// (up to opset 12, from 13) agree.
func compileSoftmax(c *call) error {
	x, err := c.input(0)
	if err != nil {
		return err
	}
	otherwise := -1
	if c.opset < 13 {
		otherwise = 1
	}
	axis, err := c.axisAttribute(otherwise, len(x.shape))
	if err != nil {
		return err
	}
	if len(x.shape) == 0 || axis != len(x.shape)-1 {
		return onnx.Unsupported("axis %d of a tensor of %d dimensions is not supported, the last one is", axis, len(x.shape))
	}
	n := x.shape[axis]
	s := &step{in: []*value{x}, inPlace: true}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		for at := 0; at < len(out); at += n {
			softmax(out[at:][:n], in[0][at:][:n])
		}
	}
	return c.emit(s, x.shape, 0)
}

func softmax(out, in []float32) {
	top, sum := in[0], 0.0
	for _, v := range in {
		top = max(top, v)
	}
	for i, v := range in {
		e := math.Exp(float64(v - top))
		out[i] = float32(e)
		sum += e
	}
	for i := range out {
		out[i] = float32(float64(out[i]) / sum)
	}
}

// compileBinary implements Add, Sub, Mul and Div with numpy's broadcasting.
func compileBinary(c *call) error {
	if len(c.in) != 2 {
		return fmt.Errorf("it has %d inputs", len(c.in))
	}
	a, err := c.input(0)
	if err != nil {
		return err
	}
	b, err := c.input(1)
	if err != nil {
		return err
	}
	shape, aSteps, bSteps, err := broadcast(a.shape, b.shape)
	if err != nil {
		return err
	}
	n := 1 // length of the innermost axis
	if len(shape) > 0 {
		n = shape[len(shape)-1]
	}
	row := map[string]func(out, a, b []float32, da, db int){
		"Add": func(out, a, b []float32, da, db int) {
			for i := range out {
				out[i] = a[i*da] + b[i*db]
			}
		},
		"Sub": func(out, a, b []float32, da, db int) {
			for i := range out {
				out[i] = a[i*da] - b[i*db]
			}
		},
		"Mul": func(out, a, b []float32, da, db int) {
			for i := range out {
				out[i] = a[i*da] * b[i*db]
			}
		},
		"Div": func(out, a, b []float32, da, db int) {
			for i := range out {
				out[i] = a[i*da] / b[i*db]
			}
		},
	}[c.node.Op]
	// In place only over an input that is read once.
	s := &step{in: []*value{a, b}, inPlace: slices.Equal(a.shape, shape)}
	if slices.Equal(a.shape, b.shape) {
		s.run = func(out []float32, in [][]float32, _ []float32) { row(out, in[0], in[1], 1, 1) }
		return c.emit(s, shape, 0)
	}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		index := make([]int, len(shape))
		atA, atB, last := 0, 0, len(shape)-1
		for at := 0; at < len(out); at += n {
			row(out[at:][:n], in[0][atA:], in[1][atB:], aSteps[last], bSteps[last])
			// Count up like an odometer, without the innermost axis.
			for k := last - 1; k >= 0; k-- {
				index[k]++
				atA, atB = atA+aSteps[k], atB+bSteps[k]
				if index[k] < shape[k] {
					break
				}
				atA, atB = atA-shape[k]*aSteps[k], atB-shape[k]*bSteps[k]
				index[k] = 0
			}
		}
	}
	return c.emit(s, shape, 0)
}

// broadcast returns the common shape, and the distance in each tensor between neighbours
// along each axis: 0 if it is repeated.
func broadcast(a, b []int) (shape, aSteps, bSteps []int, err error) {
	rank := max(len(a), len(b))
	shape, aSteps, bSteps = make([]int, rank), make([]int, rank), make([]int, rank)
	aNext, bNext := 1, 1
	for k := rank - 1; k >= 0; k-- {
		at := func(s []int) int {
			if i := k - rank + len(s); i >= 0 {
				return s[i]
			}
			return 1
		}
		da, db := at(a), at(b)
		if da != db && da != 1 && db != 1 {
			return nil, nil, nil, fmt.Errorf("tensors of shapes %v and %v do not fit", a, b)
		}
		shape[k] = max(da, db)
		if da == 0 || db == 0 {
			return nil, nil, nil, errors.New("an empty tensor")
		}
		if da > 1 {
			aSteps[k] = aNext
		}
		if db > 1 {
			bSteps[k] = bNext
		}
		aNext, bNext = aNext*da, bNext*db
	}
	return shape, aSteps, bSteps, nil
}
