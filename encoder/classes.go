package encoder

import (
	"fmt"
	"slices"

	"cpar"
	"cpar/encoder/bundled"
	"cpar/encoder/known"
	"cpar/encoder/onnx"
	"cpar/internal/hint"
)

// OpenClassifier opens a classifier for the 1000 classes of ImageNet in their
// usual order. It accepts the bundled network and networks that package known
// lists. Method Embed of the result returns one value per class. Some networks
// have an additional first class, "background".
func OpenClassifier(path string, opt OpenOptions) (*Encoder, error) {
	err := withModel(path, opt, func(s *parsedModel, _ string) error {
		opt.Embedding = classOutput(s.model.Graph.Outputs)
		_, _, listed := known.ByDigest(s.digest)
		if opt.Embedding == "" || !listed && fmt.Sprintf("%x", s.digest) != bundled.Digest {
			return hint.Add(fmt.Errorf("%w: the meaning of its outputs is not known", cpar.ErrInput),
				"use the network inside cpar, a network from cpar model list, or a CLIP-like network with its text half (--text-model)")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return Open(path, opt)
}

// classOutput returns the output with a value for each class of ImageNet, or ""
// if there is none.
func classOutput(outputs []onnx.ValueInfo) string {
	for _, o := range outputs {
		if slices.Contains(o.Dims, 1000) || slices.Contains(o.Dims, 1001) {
			return o.Name
		}
	}
	return ""
}
