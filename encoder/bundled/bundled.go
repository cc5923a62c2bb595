// Package bundled holds an image network that is part of the program, so that
// the program can compare photos by content without a download.
//
//	go generate ─▶ mobilenet_v2.onnx ─▶ Model ─▶ package encoder
//
// The network is MobileNetV2 1.0, trained on ImageNet by TensorFlow's authors
// and published by Google under the Apache licence 2.0 (licences/mobilenet_v2.txt).
// docs/ENCODERS.md has its model card.
package bundled

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"math"
	"sync"

	"cpar/encoder/onnx"
)

// The source network is from github.com/google-coral/test_data at commit
// 104342d2d3480b3e66203073dac24f4e2dbb4c41, converted to ONNX in float32.
//go:generate go run ./gen ../../../shared/models/mobilenet_v2_1.0_224.onnx mobilenet_v2.onnx

// Name selects this network wherever a user can name a model file.
const Name = "bundled"

// Digest is the SHA-256 of the file. It enters the encoder digest
// (encoder.Encoder.Digest), which indexes store.
const Digest = "108dd9cd2a4a2555b4bf5ad4315d5f0817091f2d8cd0b24b853c29d25597a999"

//go:embed mobilenet_v2.onnx
var file []byte

// Model returns the ONNX file, which the caller must not change. Its input is
// 1×3×224×224 float32. Its outputs are "embedding", 1×1280 values from 0 to 6,
// and "logits", 1×1001. The metadata entry "labels" lists the 1,001 class
// names, one per line.
func Model() ([]byte, error) {
	if fmt.Sprintf("%x", sha256.Sum256(file)) != Digest {
		return nil, fmt.Errorf("the network inside this program (mobilenet_v2.onnx) is damaged; install the program again")
	}
	return file, nil
}

// EncoderDigest is the encoder.Encoder.Digest with the default preprocessing.
const EncoderDigest = "1e2ee19ba2bc26dafd545cd81590fa56a526aa5f65da3ff0f12f5ee5635d37d9"

// lastLayer is the fully connected layer from "embedding" to "logits". It has a
// row of weights, a scale and a bias per class. Class 0 is "background".
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
// embedding. It applies only the network's last layer, so the program runs the
// network just once, up to the embedding.
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
