package encoder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpar/encoder/onnx"
)

// This file recognises outputs that hold classes. It also finds the last layer
// of a classifier, because the input of that layer is an embedding.

// classCounts are common numbers of classes: ImageNet without and with a
// background class, and two versions of ImageNet-21k.
var classCounts = []int{1000, 1001, 21841, 21843}

// areClasses reports whether an output of one vector holds logits or
// probabilities. The evidence is a common number of classes, the output's name,
// a softmax, or a last layer with a bias. The bias does not count if the length
// is a multiple of 16, because most embeddings have such a length.
func (c *chooser) areClasses(name string, size int) bool {
	lower := strings.ToLower(name)
	if slices.Contains(classCounts, size) || strings.Contains(lower, "logit") || strings.Contains(lower, "prob") || strings.Contains(lower, "softmax") {
		return true
	}
	l, err := c.lastLayer(name)
	if l.softmax {
		return true
	}
	return err == nil && l.bias && size%16 != 0
}

// A lastLayer describes the last layer with weights before an output.
type lastLayer struct {
	node    *onnx.Node
	data    string // the layer's input that depends on the image
	softmax bool   // whether a softmax lies between the layer and the output
	bias    bool
}

var layers = map[string]bool{
	"Gemm": true, "MatMul": true, "Conv": true,
	"MatMulInteger": true, "ConvInteger": true, "QLinearMatMul": true, "QLinearConv": true, "QGemm": true,
	"FusedGemm": true, "FusedMatMul": true, "FusedConv": true,
}

// afterLastLayer lists the operators that may lie between the last layer and
// the output: reshaping, a bias, scaling, and the mean over the pixels of a
// convolutional classifier.
var afterLastLayer = map[string]bool{
	"Identity": true, "Dropout": true, "Cast": true, "Flatten": true, "Reshape": true, "Squeeze": true, "Unsqueeze": true, "Transpose": true,
	"Add": true, "Sub": true, "Mul": true, "Div": true, "Relu": true, "Sigmoid": true,
	"GlobalAveragePool": true, "AveragePool": true, "ReduceMean": true,
	"QuantizeLinear": true, "DequantizeLinear": true, "QLinearAdd": true, "QLinearGlobalAveragePool": true,
}

const maxAfterLastLayer = 32 // maximum number of nodes between the last layer and the output

var errNoLayer = errors.New("no layer that makes it was found")

// lastLayer searches backwards from an output for the classifier's last layer.
// Where two branches meet, such as the two classifiers of a distilled network,
// it follows the first.
func (c *chooser) lastLayer(name string) (lastLayer, error) {
	var l lastLayer
	for range maxAfterLastLayer {
		n := c.makers[name]
		if n == nil {
			break
		}
		var ofImage []string
		for _, in := range n.In {
			if c.from[in]&fromImage != 0 {
				ofImage = append(ofImage, in)
			}
		}
		switch {
		case len(ofImage) == 0:
			return l, errNoLayer
		case layers[n.Op]:
			if n.In[0] != ofImage[0] && n.In[0] != "" {
				return l, errNoLayer // in a classifier, the weights are the right operand
			}
			if len(n.In) > 1 && slices.Contains(ofImage[1:], n.In[1]) {
				return l, errNoLayer // both operands depend on the image, as in attention
			}
			l.node, l.data = n, n.In[0]
			if q := c.makers[l.data]; q != nil && len(q.In) > 0 && (q.Op == "QuantizeLinear" || q.Op == "DynamicQuantizeLinear") {
				l.data = q.In[0]
			}
			l.bias = l.bias || n.Op == "Gemm" && len(n.In) > 2 && n.In[2] != ""
			return l, nil
		case n.Op == "Softmax" || n.Op == "LogSoftmax":
			l.softmax = true
		case n.Op == "Add" && len(ofImage) == 1:
			l.bias = true
		case !afterLastLayer[n.Op]:
			return l, errNoLayer
		}
		name = ofImage[0]
	}
	return l, errNoLayer
}

func (c *chooser) beforeClassifier(output string) (name, reason string, err error) {
	l, err := c.lastLayer(output)
	if err != nil {
		return "", "", c.advise(fmt.Errorf("its output %.80q looks like classes, but %w", output, err))
	}
	shape, err := c.shape(output)
	if err != nil {
		return "", "", err
	}
	size, _ := vector(shape)
	name = l.data
	reason = fmt.Sprintf("the input of the classifier of %d values, %s", size, l.node.Label())
	shape, err = c.shapeIfKnown(name)
	if err != nil {
		return "", "", err
	}
	// Prefer the mean of a feature map to all its flattened pixels, because the
	// mean represents content and not position.
	if size, flat := vector(shape); flat && size > maxEmbedding {
		if wide := c.beforeFlattening(name); wide != "" {
			return wide, reason + " as one row", nil
		}
	}
	return name, reason, nil
}

// flattening lists operators that change only the shape, and operators that may
// lie between them.
var flattening = map[string]bool{"Flatten": true, "Reshape": true, "Dropout": true, "Identity": true, "Relu": true, "Squeeze": true}

func (c *chooser) beforeFlattening(name string) string {
	for range maxAfterLastLayer {
		n := c.makers[name]
		if n == nil || !flattening[n.Op] || len(n.In) == 0 {
			return ""
		}
		name = n.In[0]
		if shape, err := c.shape(name); err == nil && (len(shape) == 4 || len(shape) == 3) && c.makers[name] != nil {
			return name
		}
	}
	return ""
}

// beforeTextProduct finds the first matrix product of a tensor of the image
// alone with a tensor of the texts alone. It returns the image's tensor before
// any scaling and transposition, or "" if there is no such product.
func (c *chooser) beforeTextProduct() (string, error) {
	for _, n := range c.nodes {
		if !(n.Op == "MatMul" || n.Op == "Gemm") || len(n.In) < 2 {
			continue
		}
		for i := range 2 {
			name := n.In[i]
			if c.from[name] != fromImage || c.from[n.In[1-i]] != fromOther {
				continue
			}
			for range maxAfterLastLayer {
				t := c.makers[name]
				if t == nil {
					return "", nil
				}
				at := c.scaled(t)
				if at < 0 {
					break
				}
				name = t.In[at]
			}
			shape, err := c.shapeIfKnown(name)
			if err != nil {
				return "", err
			}
			if size, flat := vector(shape); c.makers[name] != nil && (shape == nil || flat && size > 1) {
				return name, nil
			}
		}
	}
	return "", nil
}

// scaled returns the index of the input that a node merely scales, casts or
// transposes, otherwise -1.
func (c *chooser) scaled(n *onnx.Node) int {
	switch n.Op {
	case "Transpose", "Identity", "Cast":
		return 0
	case "Mul":
		for i, name := range n.In {
			if len(n.In) == 2 && c.from[name] == fromImage && c.from[n.In[1-i]] == 0 {
				return i
			}
		}
	}
	return -1
}
