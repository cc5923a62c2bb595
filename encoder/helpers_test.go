package encoder

import (
	"testing"

	"cpar/encoder/prepare"
)

// loadGo loads a file in plain Go.
func loadGo(data []byte, options Options) (*Model, error) {
	e, err := LoadWith(Go, data, options)
	if err != nil {
		return nil, err
	}
	return e.(*Model), nil
}

// readOutline reads a file as for ONNX Runtime, and chooses the embedding by what the file declares.
func readOutline(data []byte, options Options) (*parsedModel, error) {
	s, err := read(data, ONNXRuntime, options, nil)
	if err != nil {
		return nil, err
	}
	s.input = s.input.sized(224, 224)
	return s, s.chooseDeclared(options, nil)
}

// ofMetadata is the preprocessing of a file's metadata.
func ofMetadata(t testing.TB, e Embedder) prepare.Preprocessing {
	t.Helper()
	height, width := e.Size()
	p, ok, err := prepare.FromMetadata(e.Metadata(), height, width)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return p
}
