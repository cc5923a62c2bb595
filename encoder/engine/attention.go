package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"cpar/encoder/onnx"
)

// compileAttention implements Attention of opset 23: softmax(q·kᵀ·scale +
// mask)·v for each head. The shape of queries q, keys k and values v is batch ×
// heads × positions × size, or batch × positions × (heads·size) with the
// numbers of heads in attributes.
func compileAttention(c *call) error {
	if len(c.node.Out) > 1 && slices.ContainsFunc(c.node.Out[1:], func(s string) bool { return s != "" }) || len(c.in) > 4 && (c.has(4) || c.has(5)) {
		return onnx.Unsupported("past keys and values are not supported")
	}
	queryHeads, keyHeads := c.intAttribute("q_num_heads", 0), c.intAttribute("kv_num_heads", 0)
	causal := c.flagAttribute("is_causal", false)
	scale := c.floatAttribute("scale", 0)
	softcap := c.floatAttribute("softcap", 0)
	c.intAttribute("qk_matmul_output_mode", 0) // affects only an output that is not supported
	delete(c.attributes, "softmax_precision")  // the engine always uses float32
	q, k, v := c.heads(c.input(0), queryHeads), c.heads(c.input(1), keyHeads), c.heads(c.input(2), keyHeads)
	if c.err != nil {
		return c.err
	}
	if k.shape[1] != v.shape[1] || k.shape[2] != v.shape[2] || q.shape[3] != k.shape[3] || q.shape[1]%k.shape[1] != 0 || q.shape[0] != k.shape[0] {
		return fmt.Errorf("tensors of shapes %v, %v and %v do not fit", q.shape, k.shape, v.shape)
	}
	if each := q.shape[1] / k.shape[1]; each > 1 { // several query heads share one key head
		k = c.repeatedHeads(k, each)
		v = c.repeatedHeads(v, each)
	}
	if scale == 0 {
		scale = float32(1 / math.Sqrt(float64(q.shape[3])))
	}
	k = c.transposed(k, []int{0, 1, 3, 2})
	q = c.binary("Mul", q, number(scale))
	scores := c.matMul(q, k)
	if softcap != 0 {
		scores = c.unary(unary{run: eachFloat32(func(v float32) float32 {
			return softcap * float32(math.Tanh(float64(v/softcap)))
		})}, scores)
	}
	if c.err != nil {
		return c.err
	}
	scores = c.softmaxOf(c.masked(scores, causal), scores.shape[3], false)
	out := c.matMul(scores, v)
	if s := out.shape; c.err == nil && len(c.in[0].shape) == 3 {
		out = c.reshaped(c.transposed(out, []int{0, 2, 1, 3}), []int{s[0], s[2], s[1] * s[3]})
	}
	return c.setOutput(out)
}

func (c *call) heads(x *value, heads int64) *value {
	switch {
	case len(x.shape) == 4:
		return x
	case len(x.shape) != 3 || heads < 1 || int64(x.shape[2])%heads != 0:
		return c.fail(fmt.Errorf("a tensor of shape %v does not divide into %d heads", x.shape, heads))
	}
	n := int(heads)
	split := c.reshaped(x, []int{x.shape[0], x.shape[1], n, x.shape[2] / n})
	return c.transposed(split, []int{0, 2, 1, 3})
}

func (c *call) repeatedHeads(x *value, each int) *value {
	s, steps := x.shape, rowMajor(x.shape)
	x = c.view(x, view{shape: []int{s[0], s[1], each, s[2], s[3]}, steps: []int{steps[0], steps[1], 0, steps[2], steps[3]}})
	return c.reshaped(x, []int{s[0], s[1] * each, s[2], s[3]})
}

func (c *call) masked(scores *value, causal bool) *value {
	shape := scores.shape
	rows, columns := shape[2], shape[3]
	less := number(-infinity)
	if causal {
		list := make([]int64, 0)
		if err := c.allocate(8 * int64(rows) * int64(columns)); err != nil {
			return c.fail(err)
		}
		for i := range rows {
			for j := range columns {
				list = append(list, int64(truth(j <= i)))
			}
		}
		scores = c.selectElements(&value{kind: bools, shape: []int{rows, columns}, ints: list}, scores, less)
	}
	if !c.has(3) {
		return scores
	}
	mask := c.in[3]
	switch mask.kind {
	case bools:
		scores = c.selectElements(mask, scores, less)
	case floats:
		scores = c.binary("Add", scores, mask)
	default:
		return c.fail(errors.New("the mask holds integers"))
	}
	if !slices.Equal(scores.shape, shape) {
		return c.fail(fmt.Errorf("a mask of shape %v does not fit scores of shape %v", mask.shape, shape))
	}
	return scores
}
