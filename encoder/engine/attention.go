package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"cpar/encoder/onnx"
)

// compileAttention implements Attention of opset 23: softmax(q·kᵀ·scale +
// mask)·v for each head. Queries, keys and values are batch × heads × positions
// × size, or batch × positions × (heads·size) with the numbers of heads as
// attributes.
func compileAttention(c *call) error {
	if len(c.node.Out) > 1 && slices.ContainsFunc(c.node.Out[1:], func(s string) bool { return s != "" }) || len(c.in) > 4 && (c.has(4) || c.has(5)) {
		return onnx.Unsupported("keys and values of the past are not supported")
	}
	var heads [2]int64 // of queries, of keys and values
	var err error
	for i, name := range []string{"q_num_heads", "kv_num_heads"} {
		if heads[i], err = c.intAttribute(name, 0); err != nil {
			return err
		}
	}
	causal, err := c.intAttribute("is_causal", 0)
	if err != nil {
		return err
	}
	scale, err := c.floatAttribute("scale", 0)
	if err != nil {
		return err
	}
	softcap, err := c.floatAttribute("softcap", 0)
	if err != nil {
		return err
	}
	if _, err := c.intAttribute("qk_matmul_output_mode", 0); err != nil { // of an omitted output
		return err
	}
	delete(c.attributes, "softmax_precision") // float32 here
	var parts [3]*value
	for i := range parts {
		x, err := c.input(i)
		if err != nil {
			return err
		}
		if parts[i], err = c.heads(x, heads[min(i, 1)]); err != nil {
			return err
		}
	}
	q, k, v := parts[0], parts[1], parts[2]
	if k.shape[1] != v.shape[1] || k.shape[2] != v.shape[2] || q.shape[3] != k.shape[3] || q.shape[1]%k.shape[1] != 0 || q.shape[0] != k.shape[0] {
		return fmt.Errorf("tensors of shapes %v, %v and %v do not fit", q.shape, k.shape, v.shape)
	}
	if each := q.shape[1] / k.shape[1]; each > 1 { // several query heads share one key head
		if k, err = c.repeatedHeads(k, each); err != nil {
			return err
		}
		if v, err = c.repeatedHeads(v, each); err != nil {
			return err
		}
	}
	if scale == 0 {
		scale = float32(1 / math.Sqrt(float64(q.shape[3])))
	}
	if k, err = c.transposed(k, []int{0, 1, 3, 2}); err != nil {
		return err
	}
	if q, err = c.binary("Mul", q, number(scale)); err != nil {
		return err
	}
	scores, err := c.matMul(q, k)
	if err != nil {
		return err
	}
	if softcap != 0 {
		if scores, err = c.unary(unary{run: eachFloat32(func(v float32) float32 {
			return softcap * float32(math.Tanh(float64(v/softcap)))
		})}, scores); err != nil {
			return err
		}
	}
	if scores, err = c.masked(scores, causal != 0); err != nil {
		return err
	}
	if scores, err = c.softmaxOf(scores, scores.shape[3], false); err != nil {
		return err
	}
	out, err := c.matMul(scores, v)
	if err == nil && len(c.in[0].shape) == 3 {
		if out, err = c.transposed(out, []int{0, 2, 1, 3}); err == nil {
			out, err = c.reshaped(out, []int{out.shape[0], out.shape[1], out.shape[2] * out.shape[3]})
		}
	}
	return c.setOutput(out, err)
}

func (c *call) heads(x *value, heads int64) (*value, error) {
	switch {
	case len(x.shape) == 4:
		return x, nil
	case len(x.shape) != 3 || heads < 1 || int64(x.shape[2])%heads != 0:
		return nil, fmt.Errorf("a tensor of shape %v and %d heads", x.shape, heads)
	}
	n := int(heads)
	x, err := c.reshaped(x, []int{x.shape[0], x.shape[1], n, x.shape[2] / n})
	if err != nil {
		return nil, err
	}
	return c.transposed(x, []int{0, 2, 1, 3})
}

func (c *call) repeatedHeads(x *value, each int) (*value, error) {
	s, steps := x.shape, rowMajor(x.shape)
	x, err := c.view(x, view{shape: []int{s[0], s[1], each, s[2], s[3]}, steps: []int{steps[0], steps[1], 0, steps[2], steps[3]}})
	if err != nil {
		return nil, err
	}
	return c.reshaped(x, []int{s[0], s[1] * each, s[2], s[3]})
}

func (c *call) masked(scores *value, causal bool) (*value, error) {
	rows, columns := scores.shape[2], scores.shape[3]
	less := number(float32(math.Inf(-1)))
	var err error
	if causal {
		list := make([]int64, 0)
		if err := c.allocate(8 * int64(rows) * int64(columns)); err != nil {
			return nil, err
		}
		for i := range rows {
			for j := range columns {
				list = append(list, int64(truth(j <= i)))
			}
		}
		if scores, err = c.selectElements(&value{kind: bools, shape: []int{rows, columns}, ints: list}, scores, less); err != nil {
			return nil, err
		}
	}
	if !c.has(3) {
		return scores, nil
	}
	mask := c.in[3]
	shape := scores.shape
	switch mask.kind {
	case bools:
		scores, err = c.selectElements(mask, scores, less)
	case floats:
		scores, err = c.binary("Add", scores, mask)
	default:
		err = errors.New("a mask of integers")
	}
	if err == nil && !slices.Equal(scores.shape, shape) {
		err = fmt.Errorf("a mask of shape %v for scores of shape %v", mask.shape, shape)
	}
	return scores, err
}
