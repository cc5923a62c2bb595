package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"cpar/encoder/onnx"
	"cpar/internal/f32"
)

// compileBatchNorm computes (x − mean)/√(variance + epsilon)·scale + bias. A
// preceding convolution can absorb the step (fuse.go).
func compileBatchNorm(c *call) error {
	x := c.input(0)
	if len(x.shape) < 2 {
		return fmt.Errorf("its input has shape %v; N×C×… is needed", x.shape)
	}
	epsilon := c.floatAttribute("epsilon", 1e-5)
	c.floatAttribute("momentum", 0) // only used in training
	for _, name := range []string{"training_mode", "spatial"} {
		standard := map[string]int64{"spatial": 1}[name]
		if v := c.intAttribute(name, standard); v != standard {
			return onnx.Unsupported("%s = %d is not supported", name, v)
		}
	}
	var parts [4][]float32 // scale, bias, mean, variance
	for i := range parts {
		parts[i] = c.finiteWeights(i+1, x.shape[1])
	}
	if c.err != nil {
		return c.err
	}
	by, plus := parts[0], parts[1]
	for i := range by {
		by[i] = float32(float64(by[i]) / math.Sqrt(float64(parts[3][i])+float64(epsilon)))
		plus[i] -= by[i] * parts[2][i]
	}
	if !finite(by) || !finite(plus) {
		return errors.New("its variance is negative or zero")
	}
	n := count(x.shape[2:])
	s := &step{in: []*value{x}, inPlace: true, affine: &affine{by, plus}, clip: &bounds{-infinity, infinity}}
	s.run = func(out []float32, in [][]float32, _ []float32) { scaleChannels(out, in[0], by, plus, n, s.clip) }
	return c.emit(s, x.shape, 0)
}

// compileLayerNorm implements LayerNormalization and RMSNormalization. Both
// normalise over an axis and all later axes. LayerNormalization gives mean 0
// and variance 1, and RMSNormalization gives mean square 1.
func compileLayerNorm(c *call) error {
	x := c.input(0)
	k := c.axisAttribute(-1, len(x.shape))
	epsilon := c.floatAttribute("epsilon", 1e-5)
	if c.err != nil {
		return c.err
	}
	delete(c.attributes, "stash_type") // a precision, but the engine always uses float32
	n := count(x.shape[k:])
	s := &step{in: []*value{x}, inPlace: true}
	for i := 1; i < 3 && c.has(i); i++ {
		v := c.input(i)
		b, err := newBroadcast(x.shape[k:], v.shape)
		if err != nil || count(b.shape) != n || len(b.shape) > len(x.shape)-k {
			return fmt.Errorf("input %d of shape %v for rows of shape %v", i, v.shape, x.shape[k:])
		}
		if count(v.shape) != n {
			v = c.view(v, view{shape: b.shape, steps: b.steps[1]})
		}
		s.in = append(s.in, v)
	}
	centred := c.node.Op == "LayerNormalization"
	s.run = func(out []float32, in [][]float32, _ []float32) {
		var scale, bias []float32
		if len(in) > 1 {
			scale = in[1]
		}
		if len(in) > 2 {
			bias = in[2]
		}
		layerNorm(out, in[0], scale, bias, n, epsilon, centred)
	}
	return c.emit(s, x.shape, 3*int64(count(x.shape)))
}

func layerNorm(out, in, scale, bias []float32, n int, epsilon float32, centred bool) {
	for at := 0; at < len(in); at += n {
		row := out[at:][:n]
		normalise(row, in[at:][:n], epsilon, centred)
		if scale != nil {
			f32.Times(row, row, scale)
		}
		if bias != nil {
			f32.Axpy(1, bias[:n], row)
		}
	}
}

func normalise(out, in []float32, epsilon float32, centred bool) {
	n := float64(len(in))
	mean := float32(0)
	if centred {
		mean = float32(f32.Sum(in) / n)
	}
	f32.Line(out, in, 1, -mean, -infinity, infinity)
	// Sum squares in pieces, because large float32 sums lose small terms.
	sum := 0.0
	for at := 0; at < len(out); at += 256 {
		piece := out[at:min(at+256, len(out))]
		sum += float64(f32.Dot(piece, piece))
	}
	by := float32(1 / math.Sqrt(sum/n+float64(epsilon)))
	f32.Line(out, out, by, 0, -infinity, infinity)
}

// compileGroupNorm implements GroupNormalization, and InstanceNormalization,
// which has one channel per group. Scale and bias have a value per channel, but
// a value per group in opsets 18 to 20.
func compileGroupNorm(c *call) error {
	x := c.input(0)
	if len(x.shape) < 3 {
		return fmt.Errorf("its input has shape %v; N×C×… is needed", x.shape)
	}
	channels := x.shape[1]
	groups := int64(channels)
	if c.node.Op == "GroupNormalization" {
		groups = c.intAttribute("num_groups", 0)
		delete(c.attributes, "stash_type")
	}
	if groups < 1 || groups > int64(channels) || channels%int(groups) != 0 {
		return fmt.Errorf("%d channels do not divide into %d groups", channels, groups)
	}
	epsilon := c.floatAttribute("epsilon", 1e-5)
	var parts [2][]float32
	for i := range parts {
		if parts[i] = c.finiteWeights(i+1, -1); c.err != nil {
			return c.err
		}
		if c.node.Op == "GroupNormalization" && c.opset < 21 && len(parts[i]) == int(groups) {
			var each []float32
			for ch := range channels {
				each = append(each, parts[i][ch/(channels/int(groups))])
			}
			parts[i] = each
		}
		if len(parts[i]) != channels {
			return fmt.Errorf("input %d has shape %v for %d channels", i+1, c.in[i+1].shape, channels)
		}
	}
	pixels := count(x.shape[2:])
	n := channels / int(groups) * pixels
	s := &step{in: []*value{x}, inPlace: true}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		for at := 0; at < len(out); at += n {
			normalise(out[at:][:n], in[0][at:][:n], epsilon, true)
		}
		scaleChannels(out, out, parts[0], parts[1], pixels, &bounds{-infinity, infinity})
	}
	return c.emit(s, x.shape, 3*int64(count(x.shape)))
}

func scaleChannels(out, in, by, plus []float32, n int, clip *bounds) {
	for at, ch := 0, 0; at < len(out); at, ch = at+n, (ch+1)%len(by) {
		f32.Line(out[at:][:n], in[at:][:n], by[ch], plus[ch], clip.lo, clip.hi)
	}
}

func compileLRN(c *call) error {
	x := c.input(0)
	of := c.factors([]string{"alpha", "beta", "bias"}, 1e-4, 0.75, 1)
	size := c.intAttribute("size", 0)
	if len(x.shape) < 3 || size < 1 || size > int64(x.shape[1])*2 {
		return fmt.Errorf("a size of %d channels does not fit a tensor of shape %v", size, x.shape)
	}
	channels, n := x.shape[1], count(x.shape[2:])
	before, after := int(size-1)/2, int(size)/2
	s := &step{in: []*value{x}, scratch: 2 * n}
	s.run = func(out []float32, in [][]float32, scratch []float32) {
		sum, square := scratch[:n], scratch[n:][:n]
		for at := 0; at < len(out); at += channels * n {
			image := in[0][at:][:channels*n]
			for ch := range channels {
				clear(sum)
				for k := max(0, ch-before); k <= min(channels-1, ch+after); k++ {
					f32.Times(square, image[k*n:][:n], image[k*n:][:n])
					f32.Axpy(1, square, sum)
				}
				f32.Line(sum, sum, of[0]/float32(size), of[2], -infinity, infinity)
				powers(sum, -of[1])
				f32.Times(out[at+ch*n:][:n], image[ch*n:][:n], sum)
			}
		}
	}
	return c.emit(s, x.shape, size*int64(count(x.shape)))
}

// powers raises each value to the power p. It has a fast path for the exponent
// −¾, the default of LRN.
func powers(x []float32, p float32) {
	for i, v := range x {
		if p == -0.75 {
			root := float32(1 / math.Sqrt(float64(v)))
			x[i] = root * float32(math.Sqrt(float64(root)))
		} else {
			x[i] = float32(math.Pow(float64(v), float64(p)))
		}
	}
}

// compileSoftmax implements Softmax and LogSoftmax. They normalise over one
// axis, or up to opset 12 over an axis and all later axes.
func compileSoftmax(c *call) error {
	x := c.input(0)
	otherwise := int64(-1)
	if c.opset < 13 {
		otherwise = 1
	}
	a := c.intAttribute("axis", otherwise)
	logarithm := c.node.Op == "LogSoftmax"
	if c.opset < 13 && a == int64(len(x.shape)) { // rows of one element
		return c.setOutput(c.softmaxOf(x, 1, logarithm))
	}
	k := c.axis(a, len(x.shape))
	if c.err != nil {
		return c.err
	}
	if c.opset < 13 || k == len(x.shape)-1 {
		return c.setOutput(c.softmaxOf(x, count(x.shape[k:]), logarithm))
	}
	perm := slices.Delete(allAxes(len(x.shape)), k, k+1)
	perm = append(perm, k)
	back := make([]int, len(perm))
	for i, k := range perm {
		back[k] = i
	}
	v := c.softmaxOf(c.transposed(x, perm), x.shape[k], logarithm)
	return c.setOutput(c.transposed(v, back))
}

func (c *call) softmaxOf(x *value, n int, logarithm bool) *value {
	s := &step{in: []*value{x}, inPlace: true, rows: count(x.shape) / n}
	row := softmax
	if logarithm {
		row = logSoftmax
	}
	s.run = func(out []float32, in [][]float32, _ []float32) {
		for at := 0; at < len(out); at += n {
			row(out[at:][:n], in[0][at:][:n])
		}
	}
	return c.step(floats, s, x.shape, 4*int64(count(x.shape)))
}

// softmax first subtracts the largest value to avoid overflow.
func softmax(out, in []float32) {
	f32.Line(out, in, 1, -f32.Largest(in), -infinity, infinity)
	f32.Exp(out, out)
	f32.Line(out, out, float32(1/f32.Sum(out)), 0, -infinity, infinity)
}

func logSoftmax(out, in []float32) {
	top, sum := slices.Max(in), 0.0
	for _, v := range in {
		sum += math.Exp(float64(v - top))
	}
	less := float32(math.Log(sum))
	for i, v := range in {
		out[i] = v - top - less
	}
}
