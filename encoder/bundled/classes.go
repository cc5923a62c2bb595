package bundled

import (
	"fmt"
	"math"
	"sync"

	"cpar/encoder/onnx"
)

// EncoderDigest is the encoder.Encoder.Digest of this network with its default
// preprocessing.
const EncoderDigest = "1e2ee19ba2bc26dafd545cd81590fa56a526aa5f65da3ff0f12f5ee5635d37d9"

// lastLayer is the fully connected layer from embedding to logits, one row per
// class, of which the first is "background".
type lastLayer struct {
	weights     []int8
	scale, bias []float32
}

var classifier = sync.OnceValues(func() (*lastLayer, error) {
	data, err := Model()
	if err != nil {
		return nil, err
	}
	m, err := onnx.Read(data, onnx.Limits{}.OrDefault(), nil)
	if err != nil {
		return nil, err
	}
	var l lastLayer
	for _, c := range m.Graph.Constants {
		switch c.Name {
		case "logits_w_q":
			q, err := c.Ints()
			if err != nil {
				return nil, err
			}
			l.weights = make([]int8, len(q))
			for i, v := range q {
				l.weights[i] = int8(v)
			}
		case "logits_w_s":
			l.scale, err = c.Floats()
		case "logits_b":
			l.bias, err = c.Floats()
		}
		if err != nil {
			return nil, err
		}
	}
	return &l, nil
})

// Classes returns the probabilities of ImageNet's 1,000 classes for an
// embedding, which is the input of the network's last layer. The running
// program thus needs no other output of the network.
func Classes(embedding []float32) ([]float32, error) {
	l, err := classifier()
	if err != nil {
		return nil, err
	}
	if len(embedding)*len(l.bias) != len(l.weights) {
		return nil, fmt.Errorf("classifying an embedding of %d values, want %d", len(embedding), len(l.weights)/len(l.bias))
	}
	logits, largest := make([]float64, len(l.bias)-1), math.Inf(-1)
	for class := range logits {
		row, sum := l.weights[(class+1)*len(embedding):][:len(embedding)], float32(0)
		for i, w := range row {
			sum += float32(w) * embedding[i]
		}
		logits[class] = float64(sum*l.scale[class+1] + l.bias[class+1])
		largest = max(largest, logits[class])
	}
	total := 0.0
	for class, x := range logits {
		logits[class] = math.Exp(x - largest)
		total += logits[class]
	}
	out := make([]float32, len(logits))
	for class, x := range logits {
		out[class] = float32(x / total)
	}
	return out, nil
}
