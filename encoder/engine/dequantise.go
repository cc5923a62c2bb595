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
	x, scales := c.any(0), c.any(1)
	block := c.intAttribute("block_size", 0)
	delete(c.attributes, "output_dtype") // every floating type becomes float32
	switch {
	case c.err != nil:
		return c.err
	case !x.constant():
		return onnx.Unsupported("it computes with integers of 8 bits, which only ONNX Runtime does; the same network in float32 or float16 runs here")
	case x.kind != ints:
		return fmt.Errorf("input 0 holds %s, not integers", x.kind)
	case block != 0:
		return onnx.Unsupported("scales for blocks of an axis are not supported")
	}
	// Element i has the scale with index i/along modulo their number.
	along, channels := count(x.shape), 1
	if count(scales.shape) == 1 {
		delete(c.attributes, "axis") // without effect
	} else {
		axis := c.axisAttribute(1, len(x.shape))
		if c.err != nil {
			return c.err
		}
		along, channels = rowMajor(x.shape)[axis], x.shape[axis]
	}
	scale := c.perChannel(1, channels)
	zero := make([]float32, channels)
	if c.has(2) {
		zero = c.perChannel(2, channels)
	}
	data, err := c.copyOf(x)
	if c.fail(err); c.err != nil {
		return c.err
	}
	s := &step{run: func(out []float32, _ [][]float32, _ []float32) {
		for i, v := range data {
			channel := i / along % channels
			out[i] = (v - zero[channel]) * scale[channel]
		}
	}}
	return c.emit(s, x.shape, int64(len(data)))
}

// perChannel returns the i-th input, a constant with one value per channel.
func (c *call) perChannel(i, channels int) []float32 {
	v := c.any(i)
	if !v.constant() || len(v.shape) > 1 || count(v.shape) != channels {
		c.fail(fmt.Errorf("input %d of shape %v is not a constant of %d values", i, v.shape, channels))
		return nil
	}
	data, err := c.finiteCopy(v)
	c.fail(err)
	return data
}
