// Package bundled holds the image network that is part of the program, so that
// photos are compared by their content without a download.
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
)

// The source is the file of github.com/google-coral/test_data at commit
// 104342d2d3480b3e66203073dac24f4e2dbb4c41, written as ONNX in float32.
//go:generate go run ./gen ../../../shared/models/mobilenet_v2_1.0_224.onnx mobilenet_v2.onnx

// Name selects this network wherever a model's file can be named.
const Name = "bundled"

// Digest is the SHA-256 of the file. Indexes remember it through
// encoder.Encoder.Digest.
const Digest = "108dd9cd2a4a2555b4bf5ad4315d5f0817091f2d8cd0b24b853c29d25597a999"

//go:embed mobilenet_v2.onnx
var file []byte

// Model returns the ONNX file, which the caller must not change. Its input is
// 1×3×224×224 float32. Its outputs are embedding, 1×1280 values from 0 to 6,
// and logits, 1×1001. Metadata entry "labels" names the 1,001 classes, one per
// line.
func Model() ([]byte, error) {
	if fmt.Sprintf("%x", sha256.Sum256(file)) != Digest {
		return nil, fmt.Errorf("the network inside this program (mobilenet_v2.onnx) is damaged; install the program again")
	}
	return file, nil
}
