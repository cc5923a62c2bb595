package engine

import (
	"errors"
	"fmt"
	"math"

	"cpar/user/network/onnx"
)

// compileGemm computes y = alpha·x·w + beta·b for one row x.
func compileGemm(c *call) error {
	x, err := c.input(0)
	if err != nil {
		return err
	}
	alpha, err := c.floatAttribute("alpha", 1)
	if err != nil {
		return err
	}
	beta, err := c.floatAttribute("beta", 1)
	if err != nil {
		return err
	}
	transA, err := c.intAttribute("transA", 0)
	if err != nil {
		return err
	}
	transB, err := c.intAttribute("transB", 0)
	if err != nil {
		return err
	}
	if transA != 0 || !finite([]float32{alpha, beta}) {
		return onnx.Unsupported("transA, or a factor that is not finite, is not supported")
	}
	return c.rowProduct(x, transB != 0, alpha, beta)
}

// compileMatMul is compileGemm without a bias.
func compileMatMul(c *call) error {
	x, err := c.input(0)
	if err != nil {
		return err
	}
	if len(c.in) > 2 {
		return fmt.Errorf("it has %d inputs", len(c.in))
	}
	return c.rowProduct(x, false, 1, 0)
}

func (c *call) rowProduct(x *value, transposed bool, alpha, beta float32) error {
	if len(x.shape) != 2 || x.shape[0] != 1 {
		return onnx.Unsupported("its input has shape %v; one row, 1×n, is supported", x.shape)
	}
	k := x.shape[1]
	want := []int{k, -1}
	if transposed {
		want = []int{-1, k}
	}
	w, err := c.weights(1, want...)
	if err != nil {
		return err
	}
	n := count(w.shape) / k
	bias := make([]float32, n)
	if c.has(2) {
		if err := c.rowBias(bias, beta); err != nil {
			return err
		}
	}
	var weights []float32 // n × k
	s := &step{in: []*value{x}}
	s.pack = func() error {
		var err error
		if weights, err = c.finiteCopy(w); err != nil {
			return err
		}
		if !transposed {
			if err := c.allocate(4 * int64(len(weights))); err != nil {
				return err
			}
			turned := make([]float32, len(weights))
			transpose(turned, weights, k, n)
			weights = turned
			c.bytes -= 4 * int64(len(weights)) // the copy is garbage now
		}
		for i := range weights {
			weights[i] *= alpha
		}
		return nil
	}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		for i := range out {
			out[i] = bias[i] + dot(in[0], weights[i*k:][:k])
		}
	}
	return c.emit(s, []int{1, n}, int64(count(w.shape)))
}

// rowBias reads input 2: n, 1×n, or one value for all.
func (c *call) rowBias(bias []float32, beta float32) error {
	v, err := c.input(2)
	if err != nil {
		return err
	}
	if !v.constant() {
		return onnx.Unsupported("a bias that is not a constant is not supported")
	}
	data, err := c.finiteCopy(v)
	if err != nil {
		return err
	}
	if len(data) == 1 {
		fill(bias, beta*data[0])
		return nil
	}
	if b := v.shape; len(data) != len(bias) || b[len(b)-1] != len(bias) {
		return fmt.Errorf("a bias of shape %v for a row of %d", b, len(bias))
	}
	for i, f := range data {
		bias[i] = beta * f
	}
	return nil
}

// compileBatchNorm computes (x − mean)/√(variance + epsilon)·scale + bias, folded into a
// preceding convolution if there is one.
func compileBatchNorm(c *call) error {
	x, err := c.images()
	if err != nil {
		return err
	}
	epsilon, err := c.floatAttribute("epsilon", 1e-5)
	if err != nil {
		return err
	}
	if _, err := c.floatAttribute("momentum", 0); err != nil { // only used in training
		return err
	}
	for _, name := range []string{"training_mode", "spatial"} {
		standard := map[string]int64{"spatial": 1}[name]
		if v, err := c.intAttribute(name, standard); err != nil || v != standard {
			return onnx.Unsupported("%s = %d is not supported", name, v)
		}
	}
	channels := x.shape[1]
	var parts [4][]float32 // scale, bias, mean, variance
	for i := range parts {
		v, err := c.weights(i+1, channels)
		if err != nil {
			return err
		}
		if parts[i], err = c.finiteCopy(v); err != nil {
			return err
		}
	}
	by, plus := parts[0], parts[1]
	for i := range by {
		by[i] = float32(float64(by[i]) / math.Sqrt(float64(parts[3][i])+float64(epsilon)))
		plus[i] -= by[i] * parts[2][i]
	}
	if !finite(by) || !finite(plus) {
		return errors.New("its variance is negative or zero")
	}
	n := x.shape[2] * x.shape[3]
	s := &step{in: []*value{x}, inPlace: true, affine: &affine{by, plus}}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		for ch := range by {
			to := out[ch*n:][:n]
			for i, f := range in[0][ch*n:][:n] {
				to[i] = f*by[ch] + plus[ch]
			}
		}
	}
	return c.emit(s, x.shape, 0)
}
