package engine

import (
	"fmt"

	"cpar/encoder/onnx"
)

// compileDequantize computes weights that a file stores as integers with a
// scale, y = (x − zero)·scale, once when the network is compiled. The
// arithmetic of such networks is in floating point. Integers that are computed
// from the image belong to networks whose arithmetic is in integers, which the
// engine does not have.
func compileDequantize(c *call) error {
	if err := c.inputs(2, 3); err != nil {
		return err
	}
	x, err := c.any(0)
	if err != nil {
		return err
	}
	if !x.constant() {
		return onnx.Unsupported("it computes with integers of 8 bits, which only ONNX Runtime does; the same network in float32 or float16 runs here")
	}
	if x.kind != ints {
		return fmt.Errorf("input 0 holds %s, not integers", x.kind)
	}
	if block, err := c.intAttribute("block_size", 0); err != nil || block != 0 {
		return onnx.Unsupported("scales for blocks of an axis are not supported")
	}
	delete(c.attributes, "output_dtype") // every floating type becomes float32
	along, scale, zero, err := c.quantisation(x)
	if err != nil {
		return err
	}
	data, err := c.copyOf(x)
	if err != nil {
		return err
	}
	s := &step{run: func(out []float32, _ [][]float32, _ []float32) {
		for i, v := range data {
			channel := i / along % len(scale)
			out[i] = (v - zero[channel]) * scale[channel]
		}
	}}
	return c.emit(s, x.shape, int64(len(data)))
}

// quantisation returns the scales and zero points of x, one for each index of an
// axis or one for all. Element i of x has the scale with index i/along modulo
// their number.
func (c *call) quantisation(x *value) (along int, scale, zero []float32, err error) {
	one, err := c.given(1)
	if err != nil {
		return 0, nil, nil, err
	}
	along = count(x.shape)
	channels := 1
	if len(one.shape) == 0 || count(one.shape) == 1 {
		delete(c.attributes, "axis") // without effect
	} else {
		axis, err := c.axisAttribute(1, len(x.shape))
		if err != nil {
			return 0, nil, nil, err
		}
		along, channels = rowMajor(x.shape)[axis], x.shape[axis]
	}
	constants := func(i int) ([]float32, error) {
		v, err := c.any(i)
		if err != nil {
			return nil, err
		}
		if !v.constant() || len(v.shape) > 1 || count(v.shape) != channels {
			return nil, fmt.Errorf("input %d of shape %v is not a constant of %d values", i, v.shape, channels)
		}
		return c.finiteCopy(v)
	}
	if scale, err = constants(1); err != nil {
		return 0, nil, nil, err
	}
	zero = make([]float32, channels)
	if c.has(2) {
		zero, err = constants(2)
	}
	return along, scale, zero, err
}
